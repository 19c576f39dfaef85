/*
 * Which main frame of the exactvq filter is scored against which reference frame
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

#include "exactvq_pairing.h"

void ff_exactvq_pairing_push(ExactVQQueue *queue, int64_t time)
{
    queue->time[queue->nb_frames++] = time;
    queue->last    = time;
    queue->started = 1;
}

static void remove_frame(ExactVQQueue *queue, int index)
{
    queue->nb_frames--;
    for (int i = index; i < queue->nb_frames; i++)
        queue->time[i] = queue->time[i + 1];
}

static void take_main(ExactVQPairing *p)
{
    p->previous     = p->main.time[0];
    p->has_previous = 1;
    remove_frame(&p->main, 0);
}

static enum ExactVQStep pair(ExactVQPairing *p)
{
    take_main(p);
    remove_frame(&p->reference, 0);
    return EXACTVQ_PAIR;
}

static enum ExactVQStep main_alone(ExactVQPairing *p)
{
    const ExactVQQueue *ref = &p->reference;
    int after_end = ref->eof && !ref->nb_frames;

    if (ref->eof && ref->nb_frames)
        after_end = !p->by_index && p->main.time[0] > ref->last;
    take_main(p);
    return after_end ? EXACTVQ_MAIN_AFTER_END : EXACTVQ_MAIN_ALONE;
}

static enum ExactVQStep reference_unused(ExactVQPairing *p, int index)
{
    p->unused = index;
    remove_frame(&p->reference, index);
    return EXACTVQ_REFERENCE_UNUSED;
}

static enum ExactVQStep step_after_main(ExactVQPairing *p)
{
    if (p->reference.nb_frames)
        return reference_unused(p, 0);
    if (p->drain && !p->reference.eof)
        return EXACTVQ_NEED_REFERENCE;
    return EXACTVQ_ALL_PAIRED;
}

/** The distance of the head of main to the nearer of its neighbours. */
static int64_t main_interval(const ExactVQPairing *p)
{
    const int64_t *time = p->main.time;
    const int has_next  = p->main.nb_frames > 1;
    int64_t before = p->has_previous ? time[0] - p->previous : INT64_MAX;
    int64_t after  = has_next        ? time[1] - time[0]     : INT64_MAX;

    if (!p->has_previous && !has_next)
        return p->interval;
    return before < after ? before : after;
}

static enum ExactVQStep step_by_time(ExactVQPairing *p)
{
    const int64_t time = p->main.time[0];
    const int64_t *ref = p->reference.time;
    const int nb_ref   = p->reference.nb_frames;
    int64_t distance;
    int nearest = 0;

    /* Of two reference frames that are not later than this main frame, only
     * the nearer one can be wanted, by this or by a later main frame. */
    if (nb_ref == 2 && ref[0] < time && ref[1] <= time)
        return reference_unused(p, ref[0] == ref[1]);
    if (nb_ref && ref[0] == time)
        return pair(p);
    if (!p->reference.eof && (!nb_ref || (nb_ref == 1 && ref[0] < time)))
        return EXACTVQ_NEED_REFERENCE;
    if (!nb_ref)
        return main_alone(p);

    if (p->main.nb_frames == 1 && !p->main.eof)
        return EXACTVQ_NEED_MAIN;
    distance = ref[0] < time ? time - ref[0] : ref[0] - time;
    if (nb_ref == 2 && ref[0] < time && ref[1] - time < distance) {
        distance = ref[1] - time;
        nearest  = 1;
    }
    if (distance >= main_interval(p) - distance)
        return main_alone(p);
    return nearest ? reference_unused(p, 0) : pair(p);
}

static enum ExactVQStep step_by_index(ExactVQPairing *p)
{
    if (p->reference.nb_frames)
        return pair(p);
    return p->reference.eof ? main_alone(p) : EXACTVQ_NEED_REFERENCE;
}

enum ExactVQStep ff_exactvq_pairing_step(ExactVQPairing *p)
{
    if (!p->main.nb_frames)
        return p->main.eof ? step_after_main(p) : EXACTVQ_NEED_MAIN;
    return p->by_index ? step_by_index(p) : step_by_time(p);
}
