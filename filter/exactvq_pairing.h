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

#ifndef AVFILTER_EXACTVQ_PAIRING_H
#define AVFILTER_EXACTVQ_PAIRING_H

#include <stdint.h>

/**
 * @file
 * The pairing rule, over time stamps alone.
 *
 * The caller holds two queues of frames, main and reference, and pushes the
 * time of each frame that it appends. ff_exactvq_pairing_step() then says what
 * to do with the heads of the queues, or what is needed to decide. Neither
 * queue ever gets longer than EXACTVQ_QUEUE_SIZE, whichever input runs ahead.
 *
 * By time: a main frame is paired with the reference frame nearest to it, if
 * that is nearer than half the distance to the nearer of the neighbouring main
 * frames. Equal times always pair. Of two reference frames at the same distance
 * the earlier one is taken. No reference frame is nearer than half the distance
 * to two main frames, so none is wanted twice.
 *
 * By index: the n-th main frame is paired with the n-th reference frame.
 */

/** A main frame and the look-ahead; the reference frames around a main frame. */
#define EXACTVQ_QUEUE_SIZE 2

/** Times are nanoseconds, at most this far from 0: differences do not overflow. */
#define EXACTVQ_TIME_MAX (INT64_C(1) << 61)

enum ExactVQStep {
    EXACTVQ_NEED_MAIN,       ///< push a main frame, or set main.eof
    EXACTVQ_NEED_REFERENCE,  ///< push a reference frame, or set reference.eof
    EXACTVQ_PAIR,            ///< take both heads: they are a pair
    EXACTVQ_MAIN_ALONE,      ///< take the head of main: it has no partner
    EXACTVQ_MAIN_AFTER_END,  ///< the same, and the reference has ended before it
    EXACTVQ_REFERENCE_UNUSED,///< drop reference frame number ExactVQPairing.unused
    EXACTVQ_ALL_PAIRED,      ///< main has ended and no frame is left
};

typedef struct ExactVQQueue {
    int64_t time[EXACTVQ_QUEUE_SIZE]; ///< of the frames that wait, oldest first
    int     nb_frames;
    int     eof;                      ///< no frame comes after these
    int64_t last;                     ///< time of the newest frame ever pushed
    int     started;                  ///< a frame was pushed: last is valid
} ExactVQQueue;

typedef struct ExactVQPairing {
    int          by_index;
    int          drain;      ///< after the end of main, read the reference to its end
    int64_t      interval;   ///< used if main has one frame only; 0 is unknown
    ExactVQQueue main, reference;
    int64_t      previous;   ///< time of the main frame that was taken before
    int          has_previous;
    int          unused;     ///< see EXACTVQ_REFERENCE_UNUSED: 0 or 1
} ExactVQPairing;

/**
 * Appends a frame. By time, times must not fall within a queue.
 * By index, time is not looked at.
 */
void ff_exactvq_pairing_push(ExactVQQueue *queue, int64_t time);

/**
 * Decides the next step. The times of the frames that the answer takes or drops
 * are removed from the queues; the caller does the same with the frames.
 */
enum ExactVQStep ff_exactvq_pairing_step(ExactVQPairing *p);

#endif /* AVFILTER_EXACTVQ_PAIRING_H */
