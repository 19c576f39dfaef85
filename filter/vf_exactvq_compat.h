/*
 * Differences between FFmpeg 5.1, 7.1, 8.1 and 9.0 that vf_exactvq.c meets
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

#ifndef AVFILTER_VF_EXACTVQ_COMPAT_H
#define AVFILTER_VF_EXACTVQ_COMPAT_H

#include "libavutil/frame.h"
#include "libavutil/version.h"

#include "version.h"

/* Before 7.1 links are in one structure, and part of it is shown on request. */
#if LIBAVFILTER_VERSION_INT < AV_VERSION_INT(10, 4, 100)        /* < 7.1 */
#define FF_INTERNAL_FIELDS 1
#include "framequeue.h"
#include "avfilter.h"
#include "filters.h"
#include "internal.h"
#define FilterLink AVFilterLink
#define ff_filter_link(link) (link)
/* Filters without activate, such as trim, set status_out only. */
#define outlink_status(link)                                                   \
    ((link)->status_out ? (link)->status_out : ff_outlink_get_status(link))
#else
#include "avfilter.h"
#include "filters.h"
#define outlink_status(link) ff_outlink_get_status(link)
#endif

#include "formats.h"

#if LIBAVFILTER_VERSION_MAJOR < 11                              /* < 8.0 */
#define FFFilter AVFilter
#define PUBLIC(field) .field
#else
#define PUBLIC(field) .p.field
#endif

/* Links have the colour range, and colour properties are negotiated. Before,
 * the range is known from the frames only. */
#if LIBAVFILTER_VERSION_MAJOR >= 10                             /* >= 7.0 */
#define LINKS_HAVE_COLOR_RANGE 1
#define LINK_COLOR_RANGE(link) ((link)->color_range)
#define FOR_EACH_COLOR_PROPERTY_BEFORE_8(X)                                    \
    X(color_spaces, ff_all_color_spaces())                                     \
    X(color_ranges, ff_all_color_ranges())
#else
#define LINKS_HAVE_COLOR_RANGE 0
#define LINK_COLOR_RANGE(link) AVCOL_RANGE_UNSPECIFIED
#define FOR_EACH_COLOR_PROPERTY_BEFORE_8(X)
#endif

#if LIBAVFILTER_VERSION_INT >= AV_VERSION_INT(11, 6, 100)       /* >= 8.1 */
#define FOR_EACH_COLOR_PROPERTY(X)                                             \
    FOR_EACH_COLOR_PROPERTY_BEFORE_8(X)                                        \
    X(alpha_modes, ff_all_alpha_modes())
#else
#define FOR_EACH_COLOR_PROPERTY(X) FOR_EACH_COLOR_PROPERTY_BEFORE_8(X)
#endif

static inline int64_t frame_duration(const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_MAJOR >= 58                               /* >= 6.0 */
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}

#endif /* AVFILTER_VF_EXACTVQ_COMPAT_H */
