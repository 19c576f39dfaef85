#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Independent implementation of the integer VIF and integer motion of libvmaf 3.2.0.

Written from the arithmetic specification only (spec/vif-motion.md, section numbers below are its), to be compared with
the library bit for bit. Slow and plain on purpose: whole planes in 64-bit integers with every wrap written out, doubles
and floats in the written order (NumPy fuses nothing).

    vif(ref, main, depth, gain_limit=100.0, skip_scale0=False) -> {name: value}
    motion(refs, depth, **options) -> [{name: value} of each frame]

Planes are 2-D integer arrays of code values (luma). Options are the numbers after libvmaf's option parser.
"""
import math

import numpy as np

F32, F64, I64, U64 = np.float32, np.float64, np.int64, np.uint64

# ---- common (1.2) --------------------------------------------------------------------------------------------------

KERNELS = (
    (489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489),
    (1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244),
    (3571, 16004, 26386, 16004, 3571),
    (10904, 43728, 10904),
)
assert all(sum(k) == 65536 for k in KERNELS)


def mirrored(p, n):
    """Index inside 0..n-1 of a sample at p, the edge sample not repeated."""
    while not 0 <= p < n:
        p = -p if p < 0 else 2 * (n - 1) - p
    return p


def filtered(plane, kernel, axis):
    """Weighted sums along an axis (0 vertical, 1 horizontal) in the plane's 64-bit type."""
    assert plane.dtype in (I64, U64)
    n, half = plane.shape[axis], len(kernel) // 2
    total = np.zeros_like(plane)
    for t, weight in enumerate(kernel):
        index = [mirrored(i + t - half, n) for i in range(n)]
        total += np.take(plane, index, axis) * plane.dtype.type(weight)
    return total


def shifted(x, k):
    """x >> k, rounded by half of 2^k first; floor for negative numbers."""
    kind = x.dtype.type
    return (x + kind(1 << (k - 1))) >> kind(k) if k else x


def luma(plane, depth, least):
    plane = np.asarray(plane)
    if not 8 <= depth <= 16:
        raise ValueError("8 to 16 bits")
    if plane.ndim != 2 or min(plane.shape) < least:
        raise ValueError("at least %dx%d" % (least, least))
    plane = plane.astype(I64)
    if plane.min() < 0 or plane.max() >= 1 << depth:
        raise ValueError("a sample does not fit %d bits" % depth)
    return plane


# ---- vif: logarithm (1.3) ------------------------------------------------------------------------------------------

def log_table():
    """T; entries below 32768 are not used."""
    table = np.zeros(65536, I64)
    for i in range(32768, 65536):
        table[i] = math.floor(float(F32(math.log2(i))) * 2048.0 + 0.5)
    return table


TABLE = log_table()
assert TABLE.sum() == 1044032097


def log_fixed(v):
    """LOG of an array of integers 65536 <= v < 2^53."""
    assert v.dtype == I64 and (v.size == 0 or (v.min() >= 65536 and v.max() < 1 << 53))
    k = np.frexp(v.astype(F64))[1].astype(I64) - 1 - 15
    return TABLE[v >> k] + 2048 * k


# ---- vif: planes and statistics (1.4, 1.5) -------------------------------------------------------------------------

NOISE = 131072
EPS = 65536 * 1.0e-10


def next_plane(plane, scale, depth):
    """The plane of scale + 1."""
    kernel = KERNELS[scale + 1]
    v = shifted(filtered(plane, kernel, 0), depth if scale == 0 else 16)
    o = shifted(filtered(v, kernel, 1), 16)
    h, w = o.shape
    return o[:h // 2 * 2:2, :w // 2 * 2:2]


def signed32(x):
    """The low 32 bits of x read as signed."""
    return (x & U64(0xFFFFFFFF)).astype(np.uint32).view(np.int32).astype(I64)


def statistics(ref, main, scale, depth):
    """S1, S2, S12 of every pixel."""
    kernel = KERNELS[scale]
    mean_shift, square_shift = (depth, 2 * (depth - 8)) if scale == 0 else (16, 16)

    def mean(x): return filtered(shifted(filtered(x, kernel, 0), mean_shift), kernel, 1)

    def square(x): return shifted(filtered(shifted(filtered(x, kernel, 0), square_shift), kernel, 1), 16)

    u1, u2 = mean(ref), mean(main)
    s1 = signed32(square(ref * ref) - shifted(u1 * u1, 32))
    s2 = signed32(square(main * main) - shifted(u2 * u2, 32))
    s12 = signed32(square(ref * main) - shifted(u1 * u2, 32))
    return s1, np.maximum(s2, 0), s12


# ---- vif: sums and scores (1.6, 1.7, 1.8) --------------------------------------------------------------------------

def accumulators(s1, s2, s12, gain_limit):
    """NL, DL, C, NN as Python integers."""
    textured = s1 >= NOISE
    dl = int(np.sum(log_fixed(NOISE + s1[textured]) - 17 * 2048))
    nn, c = int(np.sum(s2[~textured])), int(np.sum(~textured))

    related = textured & (s12 > 0) & (s2 > 0)
    d1, d2, d12 = (x[related].astype(F64) for x in (s1, s2, s12))
    g = d12 / (d1 + EPS)
    e = g * d12
    sv = np.trunc(d2 - e)
    assert np.all(np.abs(sv) < 2.0 ** 31)
    b = np.maximum(sv.astype(I64), 0) + NOISE
    g = np.where(g < gain_limit, g, F64(gain_limit))
    z = (g * g) * d1
    nl = int(np.sum(log_fixed(np.trunc(z).astype(I64) + b) - log_fixed(b)))
    return nl, dl, c, nn


def conclude(nl, dl, c, nn):
    """num and den, float32."""
    num = F32(F64(nl) / F64(2048.0) + (F64(c) - (F64(nn) / F64(16384.0)) / F64(65025.0)))
    den = F32(F64(dl) / F64(2048.0) + F64(c))
    return num, den


def vif(ref, main, depth, gain_limit=100.0, skip_scale0=False):
    """Scores of a frame, debug names included, in the order of 1.8 (doubles as float), then "accumulators": for each
    scale a dict num_log, den_log, num_non_log, den_non_log (None for a skipped scale 0)."""
    if not 1.0 <= gain_limit <= 100.0:
        raise ValueError("vif: gain limit out of range")
    ref, main = (luma(p, depth, 16).astype(U64) for p in (ref, main))
    if ref.shape != main.shape:
        raise ValueError("vif: sizes differ")
    score, num, den, sums = [], [], [], []
    for scale in range(4):
        if scale:
            ref, main = next_plane(ref, scale - 1, depth), next_plane(main, scale - 1, depth)
        if scale == 0 and skip_scale0:
            score.append(0.0), num.append(0.0), den.append(-1.0), sums.append(None)
            continue
        nl, dl, c, nn = accumulators(*statistics(ref, main, scale, depth), gain_limit)
        n, d = conclude(nl, dl, c, nn)
        assert (n / d).dtype == F32
        score.append(float(n / d)), num.append(float(n)), den.append(float(d))
        sums.append({"num_log": nl, "den_log": dl, "num_non_log": nn, "den_non_log": c})

    first = 1 if skip_scale0 else 0
    total_num, total_den = num[first], den[first]
    for scale in range(first + 1, 4):
        total_num, total_den = total_num + num[scale], total_den + den[scale]
    out = {"vif_scale%d" % s: score[s] for s in range(4)}
    out["vif"] = 1.0 if total_den == 0 else total_num / total_den
    out["vif_num"], out["vif_den"] = total_num, total_den
    for s in range(4):
        out["vif_num_scale%d" % s], out["vif_den_scale%d" % s] = num[s], den[s]
    out["accumulators"] = sums
    return out


# ---- motion (2) ----------------------------------------------------------------------------------------------------

def energy(prev, cur, depth):
    """SAD (2.2)."""
    rows = shifted(filtered(prev - cur, KERNELS[2], 0), depth)
    return int(np.sum(np.abs(shifted(filtered(rows, KERNELS[2], 1), 16))))


def smaller(a, b):
    return a if a < b else b


def motion(refs, depth, force_zero=False, blend_factor=1.0, blend_offset=40.0, fps_weight=1.0, max_val=10000.0,
           five_frame_window=False, moving_average=False):
    """{motion_sad, motion2, motion3} of every frame; with debug, libvmaf's "motion" is motion_sad again."""
    refs = [luma(p, depth, 3) for p in refs]
    if len({p.shape for p in refs}) > 1:
        raise ValueError("motion: sizes differ")
    n, q = len(refs), 2 if five_frame_window else 1

    def blend(x): return x * blend_factor + (1.0 - blend_factor) * smaller(blend_offset, x)

    def limited(x): return smaller(x, float(max_val))

    sad = [0.0] * n                                                        # 2.3
    for i in range(q, n):
        if not force_zero:
            area = refs[i].size & 0xFFFFFFFF
            sad[i] = limited(((float(energy(refs[i - q], refs[i], depth)) / 256.0) / float(area)) * fps_weight)

    motion2 = [0.0] * n                                                    # 2.5
    for i in range(q, n):
        if i == n - 1:
            motion2[i] = sad[i]
        elif five_frame_window and i == q:
            motion2[i] = sad[i + 1]
        else:
            motion2[i] = smaller(sad[i - 1 if five_frame_window else i], sad[i + 1])

    first = limited(blend(sad[q])) if n > q else 0.0
    motion3, before = [], 0.0
    for i in range(n):
        p = first if i < q else limited(blend(motion2[i]))
        motion3.append((p + before) / 2.0 if moving_average and i >= q else p)
        before = p
    return [{"motion_sad": a, "motion2": b, "motion3": c} for a, b, c in zip(sad, motion2, motion3)]
