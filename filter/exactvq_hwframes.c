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

#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/hwcontext.h"
#include "libavutil/hwcontext_drm.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"

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

/* ---- dma-bufs ------------------------------------------------------------- */

int ff_exactvq_may_be_dmabuf(enum AVPixelFormat format)
{
    return format == AV_PIX_FMT_VAAPI || format == AV_PIX_FMT_DRM_PRIME;
}

/** Tells whether the layers, by their names in drm_fourcc.h, are known to be the
 * planes of the format, in their order. */
static int knows_layers(const AVDRMFrameDescriptor *drm, enum AVPixelFormat format,
                        const AVPixFmtDescriptor *desc)
{
    static const struct {
        enum AVPixelFormat format;
        uint32_t layer;
    } whole[] = {
        { AV_PIX_FMT_NV12,    MKTAG('N', 'V', '1', '2') },
        { AV_PIX_FMT_NV16,    MKTAG('N', 'V', '1', '6') },
        { AV_PIX_FMT_P010,    MKTAG('P', '0', '1', '0') },
        { AV_PIX_FMT_P016,    MKTAG('P', '0', '1', '6') },
        { AV_PIX_FMT_P210,    MKTAG('P', '2', '1', '0') },
        { AV_PIX_FMT_YUV420P, MKTAG('Y', 'U', '1', '2') },
        { AV_PIX_FMT_YUV422P, MKTAG('Y', 'U', '1', '6') },
        { AV_PIX_FMT_YUV444P, MKTAG('Y', 'U', '2', '4') },
    };
    int bytes     = desc->comp[0].step;
    uint32_t one  = bytes == 1 ? MKTAG('R', '8', ' ', ' ') : MKTAG('R', '1', '6', ' ');
    uint32_t two  = bytes == 1 ? MKTAG('G', 'R', '8', '8') : MKTAG('G', 'R', '3', '2');
    int nb_planes = av_pix_fmt_count_planes(format);

    if (drm->nb_layers == 1 && drm->layers[0].nb_planes == nb_planes)
        for (int i = 0; i < FF_ARRAY_ELEMS(whole); i++)
            if (whole[i].format == format && whole[i].layer == drm->layers[0].format)
                return 1;

    /* A layer a plane. In planar 4:2:0 Cb and Cr may be either way round. */
    if (drm->nb_layers != nb_planes || drm->layers[0].format != one)
        return 0;
    for (int i = 0; i < nb_planes; i++)
        if (drm->layers[i].nb_planes != 1)
            return 0;
    return nb_planes == 1 ||
           (nb_planes == 2 && drm->layers[1].format == two &&
            desc->comp[1].offset < desc->comp[2].offset) ||
           (format == AV_PIX_FMT_YUV444P && drm->layers[1].format == one &&
            drm->layers[2].format == one);
}

static int describe_dmabuf(const AVDRMFrameDescriptor *drm, enum AVPixelFormat format,
                           exactvq_frame *frame, const char **reason)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    const AVDRMPlaneDescriptor *planes[4];
    int nb_planes = 0;

    if (!knows_layers(drm, format, desc)) {
        *reason = "its DRM layers are not known to be those of its format";
        return AVERROR(ENOSYS);
    }
    for (int i = 0; i < drm->nb_layers; i++)
        for (int j = 0; j < drm->layers[i].nb_planes; j++)
            planes[nb_planes++] = &drm->layers[i].planes[j];

    frame->memory = EXACTVQ_MEMORY_DMABUF;
    for (int i = 0; i < drm->nb_objects; i++)
        frame->dmabuf[i] = (exactvq_dmabuf) {
            .fd       = drm->objects[i].fd,
            .size     = drm->objects[i].size,
            .modifier = drm->objects[i].format_modifier,
        };
    for (int i = 0; i < desc->nb_components; i++) {
        const AVDRMPlaneDescriptor *plane = planes[desc->comp[i].plane];
        frame->plane_dmabuf[i] = plane->object_index;
        frame->plane[i].data   = (const uint8_t *)(uintptr_t)plane->offset;
        frame->plane[i].stride = plane->pitch;
    }
    return 0;
}

int ff_exactvq_map_dmabuf(AVFrame **mapped, const AVFrame *source,
                          enum AVPixelFormat sw_format, exactvq_frame *frame,
                          const char **reason)
{
    int ret;

    if (!(*mapped = av_frame_alloc()))
        return AVERROR(ENOMEM);
    (*mapped)->format = AV_PIX_FMT_DRM_PRIME;
    if (source->format == AV_PIX_FMT_DRM_PRIME)
        ret = av_frame_ref(*mapped, source);
    else if ((ret = av_hwframe_map(*mapped, source, AV_HWFRAME_MAP_READ)) < 0 &&
             ret != AVERROR(ENOMEM)) {
        *reason = "it cannot be mapped to DRM PRIME";
        ret     = AVERROR(ENOSYS);
    }
    if (ret >= 0)
        ret = describe_dmabuf((const AVDRMFrameDescriptor *)(*mapped)->data[0], sw_format,
                              frame, reason);
    if (ret < 0)
        av_frame_free(mapped);
    return ret;
}
