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

#include <string.h>

#include "exactvq_shift.h"

/** Pairs from the start of one window to that of the next. */
#define STEP      16
#define RARE_STEP 128

/** Samples of a patch. */
#define PATCH_WIDTH  4
#define PATCH_HEIGHT 2

#define NB_CELLS (EXACTVQ_SHIFT_ROWS * EXACTVQ_SHIFT_COLUMNS)

static uint32_t sample(const uint8_t *row, uint32_t x, const exactvq_plane *plane, int depth)
{
    const uint8_t *p = row + (size_t)x * (plane->step ? plane->step : depth > 8 ? 2 : 1);
    uint16_t word;

    if (depth == 8)
        return *p;
    memcpy(&word, p, sizeof(word)); /* no alignment is promised */
    return word >> plane->shift;
}

/** Sums up a patch of luma in the middle of each cell of a grid. */
static void look(uint32_t *cells, const exactvq_frame *frame)
{
    const exactvq_format *format = &frame->format;
    const exactvq_plane *plane   = &frame->plane[0];

    for (int i = 0; i < NB_CELLS; i++) {
        int64_t row    = i / EXACTVQ_SHIFT_COLUMNS, column = i % EXACTVQ_SHIFT_COLUMNS;
        uint32_t top   = (2 * row    + 1) * format->height / (2 * EXACTVQ_SHIFT_ROWS);
        uint32_t left  = (2 * column + 1) * format->width  / (2 * EXACTVQ_SHIFT_COLUMNS);
        uint32_t total = 0;

        for (int n = 0; n < PATCH_HEIGHT * PATCH_WIDTH; n++) {
            uint32_t y = top + n / PATCH_WIDTH, x = left + n % PATCH_WIDTH;
            if (y >= format->height)
                y = format->height - 1;
            if (x >= format->width)
                x = format->width - 1;
            total += sample((const uint8_t *)plane->data + y * plane->stride, x, plane,
                            format->depth);
        }
        cells[i] = total;
    }
}

int ff_exactvq_shift_needs(const ExactVQShift *s, int64_t pair, int *main)
{
    *main = s->position == EXACTVQ_SHIFT_RADIUS;
    return pair == s->pair && !s->found && !(s->rare && s->nb_windows > 1);
}

static uint32_t difference(uint32_t a, uint32_t b)
{
    return a > b ? a - b : b - a;
}

/**
 * How main fits another reference frame than its partner, where the two differ:
 * elsewhere it would fit both alike.
 * @return whether there is enough that differs
 */
static int compare(const ExactVQShift *s, int other, int depth, uint64_t *partner_error,
                   uint64_t *other_error)
{
    const uint32_t visible  = 4 * PATCH_WIDTH * PATCH_HEIGHT << (depth - 8);
    const uint32_t *partner = s->reference[EXACTVQ_SHIFT_RADIUS];
    const uint32_t *cells   = s->reference[other];
    int nb_cells = 0;

    *partner_error = *other_error = 0;
    for (int i = 0; i < NB_CELLS; i++) {
        if (difference(partner[i], cells[i]) <= visible)
            continue;
        nb_cells++;
        *partner_error += difference(s->main[i], partner[i]);
        *other_error   += difference(s->main[i], cells[i]);
    }
    return nb_cells >= NB_CELLS / 50;
}

/** The vote of a complete window: a distance, 0 for the partner; none if !*voted. */
static int vote(const ExactVQShift *s, int depth, int *voted)
{
    uint64_t partner_error, other_error;
    double best = 1;
    int nearest = 0;

    *voted = 0;
    for (int i = 0; i < EXACTVQ_SHIFT_WINDOW; i++) {
        if (i == EXACTVQ_SHIFT_RADIUS || !compare(s, i, depth, &partner_error, &other_error))
            continue;
        *voted = 1;
        if (other_error < best * partner_error) {
            best    = (double)other_error / partner_error;
            nearest = i - EXACTVQ_SHIFT_RADIUS;
        }
    }
    if (nearest && best > 2. / 3)
        *voted = 0; /* nearer, but not by much */
    return nearest;
}

int ff_exactvq_shift_add(ExactVQShift *s, const exactvq_frame *reference,
                         const exactvq_frame *main)
{
    int64_t start = s->pair - s->position;
    int nearest, voted;

    look(s->reference[s->position], reference);
    if (s->position == EXACTVQ_SHIFT_RADIUS)
        look(s->main, main);
    s->pair++;
    if (++s->position < EXACTVQ_SHIFT_WINDOW)
        return 0;

    s->position = 0;
    s->pair     = start + (s->rare ? RARE_STEP : STEP);
    s->nb_windows++;
    nearest = vote(s, reference->format.depth, &voted);
    if (!voted)
        return 0;
    if (!nearest || nearest != s->candidate) {
        s->candidate = nearest;
        s->votes     = 0;
        s->since     = start + EXACTVQ_SHIFT_RADIUS;
    }
    if (nearest)
        s->votes++;
    else
        s->against++;
    return s->found = s->votes == 2;
}

int ff_exactvq_shift_end(ExactVQShift *s)
{
    if (s->found || s->votes != 1 || s->against)
        return 0;
    return s->found = 1;
}
