/*
 * Whether main of the exactvq filter fits another reference frame than its partner
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

#ifndef AVFILTER_EXACTVQ_SHIFT_H
#define AVFILTER_EXACTVQ_SHIFT_H

#include <exactvq/exactvq.h>
#include <stdint.h>

/**
 * @file
 * A cheap check for videos that are some frames apart.
 *
 * Now and then a window of a few pairs in a row is looked at: a grid of small
 * patches of luma of the main frame in its middle is compared with the same of
 * all reference frames of the window, where these differ from the partner. One
 * that is far nearer than the partner is a vote for its distance; two windows in
 * a row with the same vote are a shift. Pictures that do not move have no vote.
 */

/** Frames to either side of the partner. */
#define EXACTVQ_SHIFT_RADIUS 2
#define EXACTVQ_SHIFT_WINDOW (2 * EXACTVQ_SHIFT_RADIUS + 1)
#define EXACTVQ_SHIFT_COLUMNS 32
#define EXACTVQ_SHIFT_ROWS    18

typedef struct ExactVQShift {
    int64_t  pair;       ///< number of the next one to look at
    int      position;   ///< in the window
    int      nb_windows; ///< that are complete
    int      rare;       ///< frames are expensive to get: two windows at most
    int      candidate;  ///< what the newest windows voted for, in reference frames; 0 is none
    int      votes;
    int      against;    ///< windows that voted for the partner
    int64_t  since;      ///< pair of the first of these votes
    int      found;      ///< candidate is a shift
    uint32_t reference[EXACTVQ_SHIFT_WINDOW][EXACTVQ_SHIFT_ROWS * EXACTVQ_SHIFT_COLUMNS];
    uint32_t main[EXACTVQ_SHIFT_ROWS * EXACTVQ_SHIFT_COLUMNS];
} ExactVQShift;

/** Tells whether this pair's reference is needed, and main too. */
int ff_exactvq_shift_needs(const ExactVQShift *s, int64_t pair, int *main);

/**
 * Looks at the pair that was needed. Frames are in host memory; main is read
 * only if it is needed.
 * @return 1 if this has made a shift known
 */
int ff_exactvq_shift_add(ExactVQShift *s, const exactvq_frame *reference,
                         const exactvq_frame *main);

/** No more pairs will come. @return 1 if the only window that voted, voted for a shift */
int ff_exactvq_shift_end(ExactVQShift *s);

#endif /* AVFILTER_EXACTVQ_SHIFT_H */
