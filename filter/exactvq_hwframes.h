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

#ifndef AVFILTER_EXACTVQ_HWFRAMES_H
#define AVFILTER_EXACTVQ_HWFRAMES_H

#include <exactvq/exactvq.h>

#include "libavutil/buffer.h"
#include "libavutil/frame.h"
#include "libavutil/pixfmt.h"

/** Frames that the library can read where they are. */
typedef struct ExactVQDevice {
    AVBufferRef *ref;       ///< keeps the context alive; not a new reference
    void        *context;   ///< CUcontext that the frames' addresses are valid in
    void        *stream;    ///< CUstream that writes the frames
} ExactVQDevice;

/** Returns the format of the samples, AV_PIX_FMT_NONE if it is not known. */
enum AVPixelFormat ff_exactvq_sw_format(const AVBufferRef *frames);

/** Tells whether ff_exactvq_copy_to_system() can be had. */
int ff_exactvq_can_copy_to_system(AVBufferRef *frames);

/** Makes a system frame with the samples and the color range of a hardware frame. */
int ff_exactvq_copy_to_system(AVFrame **copy, const AVFrame *frame);

/**
 * Fills in where CUDA frames are.
 * @return 0 if they are not CUDA frames, or this build knows none
 */
int ff_exactvq_cuda_device(const AVBufferRef *frames, ExactVQDevice *device);

/** Tells whether frames of this format may lie in Linux dma-bufs. */
int ff_exactvq_may_be_dmabuf(enum AVPixelFormat format);

/**
 * Describes where the samples of a frame lie in dma-bufs.
 *
 * @param mapped    a frame that keeps the buffers, to be freed by the caller
 * @param sw_format what the samples are
 * @param frame     its memory, dmabuf, plane_dmabuf and the data and stride of
 *                  the planes are filled in, by component
 * @param reason    why it cannot be done
 * @return AVERROR(ENOSYS) if the frame has to be copied
 */
int ff_exactvq_map_dmabuf(AVFrame **mapped, const AVFrame *source,
                          enum AVPixelFormat sw_format, exactvq_frame *frame,
                          const char **reason);

#endif /* AVFILTER_EXACTVQ_HWFRAMES_H */
