/*
 * Hardware frames: where their samples are, and copies in system memory
 *
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include "config.h"

#include "libavutil/error.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mem.h"

#if CONFIG_CUDA
#include "libavutil/hwcontext_cuda_internal.h"
#endif

#include "exactvq_hwframes.h"

static const AVHWFramesContext *frames_context(const AVBufferRef *frames)
{
    return (const AVHWFramesContext *)frames->data;
}

enum AVPixelFormat ff_exactvq_sw_format(const AVBufferRef *frames)
{
    return frames ? frames_context(frames)->sw_format : AV_PIX_FMT_NONE;
}

int ff_exactvq_can_copy_to_system(AVBufferRef *frames)
{
    enum AVPixelFormat wanted = ff_exactvq_sw_format(frames);
    enum AVPixelFormat *formats;
    int found = 0;

    if (wanted == AV_PIX_FMT_NONE ||
        av_hwframe_transfer_get_formats(frames, AV_HWFRAME_TRANSFER_DIRECTION_FROM,
                                        &formats, 0) < 0)
        return 0;
    for (int i = 0; formats[i] != AV_PIX_FMT_NONE; i++)
        found |= formats[i] == wanted;
    av_freep(&formats);
    return found;
}

int ff_exactvq_copy_to_system(AVFrame **copy, const AVFrame *frame)
{
    int ret;

    if (!(*copy = av_frame_alloc()))
        return AVERROR(ENOMEM);
    (*copy)->format = ff_exactvq_sw_format(frame->hw_frames_ctx);
    if ((ret = av_hwframe_transfer_data(*copy, frame, 0)) < 0)
        av_frame_free(copy);
    else
        (*copy)->color_range = frame->color_range;
    return ret;
}

int ff_exactvq_cuda_device(const AVBufferRef *frames, ExactVQDevice *device)
{
#if CONFIG_CUDA
    const AVHWFramesContext *ctx = frames ? frames_context(frames) : NULL;

    if (ctx && ctx->format == AV_PIX_FMT_CUDA) {
        const AVCUDADeviceContext *cuda = ctx->device_ctx->hwctx;
        *device = (ExactVQDevice) { ctx->device_ref, cuda->cuda_ctx, cuda->stream };
        return 1;
    }
#endif
    return 0;
}
