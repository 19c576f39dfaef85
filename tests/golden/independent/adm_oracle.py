#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Independent implementation of adm (ADM and AIM).

Written from the arithmetic specification only (section numbers below are its), to be compared with the library bit for bit.
Slow and plain on purpose: whole planes in int64 with every wrap written out. powf, pow, log10, exp and strtof are those
of the C library, called through ctypes: the specification names them, and NumPy's float32 power may differ from powf.
Where a side is 17 to 32 the rule of 4.2 holds at scale 3 too (policy M); libvmaf reads foreign memory there (11.2).

usage: adm_oracle.py REF.yuv DIST.yuv WIDTH HEIGHT FORMAT BITS [OPTIONS] [--frames=N] [--accumulators]

OPTIONS key=value|key=value (2.1 and adm_p_norm of 8.6). One JSON line a value, names as in the library's API:
    {"frame": 0, "feature": "adm2", "hex": "0x1.8p-1"}
"""
import ctypes
import ctypes.util
import json
import math
import sys

import numpy as np

from psnr_oracle import boolean, c_hex, pair_files, parse_options

F32, F64, I64, U64 = np.float32, np.float64, np.int64, np.uint64

# ---- C library -----------------------------------------------------------------------------------------------------

_libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
_libc = ctypes.CDLL(None)


def _function(library, name, result, *arguments):
    f = getattr(library, name)
    f.restype, f.argtypes = result, arguments
    return f


_powf = _function(_libm, "powf", ctypes.c_float, ctypes.c_float, ctypes.c_float)
_pow = _function(_libm, "pow", ctypes.c_double, ctypes.c_double, ctypes.c_double)
_log10 = _function(_libm, "log10", ctypes.c_double, ctypes.c_double)
_exp = _function(_libm, "exp", ctypes.c_double, ctypes.c_double)
_strtof = _function(_libc, "strtof", ctypes.c_float, ctypes.c_char_p, ctypes.c_void_p)


def powf(x, y):
    assert isinstance(x, F32) and isinstance(y, F32)
    return F32(_powf(float(x), float(y)))    # float -> c_float is exact here


def pow64(x, y):
    return F64(_pow(float(x), float(y)))


def log10(x):
    return F64(_log10(float(x)))


def exp(x):
    return F64(_exp(float(x)))


# ---- small helpers -------------------------------------------------------------------------------------------------

def clog2(n):
    """Smallest c >= 0 with 2^c >= n."""
    return (n - 1).bit_length()


def half(k):
    """The rounding constant of a shift by k."""
    return 1 << (k - 1) if k > 0 else 0


def i16(x):
    return ((x + 0x8000) & 0xFFFF) - 0x8000


def i32(x):
    return ((x + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def u32(n):
    return n & 0xFFFFFFFF


def to_f32(n):
    """A 64-bit integer to f32, rounded once: F32(n) would go through f64."""
    return np.array([n], I64).astype(F32)[0]


# ---- options (2.1, 2.3, 8.6) ---------------------------------------------------------------------------------------

# option: alias in names, type, default, least, largest, part of the name
OPTIONS = {
    "debug": ("", bool, False, None, None, False),
    "adm_csf_scale": ("scf", float, 1.0, 0, 50, True),
    "adm_csf_diag_scale": ("scfd", float, 1.0, 0, 50, True),
    "adm_dlm_weight": ("dlmw", float, 0.5, 0, 1, True),
    "adm_enhn_gain_limit": ("egl", float, 100.0, 1.0, 100.0, True),
    "adm_norm_view_dist": ("nvd", float, 3.0, 0.75, 24.0, True),
    "adm_ref_display_height": ("rdh", int, 1080, 1, 4320, True),
    "adm_csf_mode": ("csf", int, 0, 0, 3, True),
    "adm_noise_weight": ("nw", float, 0.03125, 0, 1500, True),
    "adm_skip_aim": ("", bool, False, None, None, False),
    "adm_skip_scale0": ("ssz", bool, False, None, None, True),
    "adm_min_val": ("min", float, 0.0, 0, 1, True),
    "adm_p_norm": ("apn", float, 3.0, 1, 20, True),
}


def number(text):
    """A numeric text becomes binary32 and six digits before it becomes a double."""
    return float("%g" % _strtof(text.encode(), None))


def read_options(options):
    values = {k: o[2] for k, o in OPTIONS.items()}
    for key, text in options.items():
        if key not in OPTIONS:
            raise ValueError("adm: unknown option " + key)
        _, kind, _, least, largest, _ = OPTIONS[key]
        if kind is bool:
            values[key] = boolean(text)
            continue
        values[key] = kind(number(text))
        if not least <= values[key] <= largest:
            raise ValueError("adm: %s=%s is out of range" % (key, text))
    return values


def suffix(values):
    text = ""
    for key in sorted(OPTIONS):
        alias, kind, default, _, _, named = OPTIONS[key]
        if named and values[key] != default:
            text += "_" + alias + ("" if kind is bool else "_%d" % values[key] if kind is int else "_%g" % values[key])
    return text


def libvmaf_name(feature, options):
    """The name in libvmaf's logs of a score with the given options (texts)."""
    return "integer_" + feature + suffix(read_options(options))


# ---- weights (6) ---------------------------------------------------------------------------------------------------

PI = float.fromhex("0x1.921fb54442d18p+1")
WATSON = {1: [F32(v) for v in (0.67234, 0.41317, 0.22727, 0.11792)], 2: [F32(v) for v in (0.72709, 0.49428, 0.28688, 0.15214)]}

_SIMILAR = {(1080, 3.0): 0, (2160, 1.5): 0, (1080, 5.0): 1, (2160, 3.0): 2, (2160, 5.0): 3, (720, 5.0): 4, (720, 3.0): 5, (480, 3.0): 6, (480, 5.0): 7}
_BLEND = {
    2: [(0.01183, 0.025026, 0.04295, 0.058621, 0.004302, 0.011778, 0.023918, 0.035901),
        (0.004212, 0.014809, 0.029642, 0.047464, 0.000984, 0.005852, 0.0146, 0.027574),
        (0.00226, 0.01183, 0.025026, 0.04295, 0.000479, 0.004302, 0.011778, 0.023918),
        (0.000092, 0.004212, 0.014809, 0.029642, 0.000050, 0.000984, 0.005852, 0.0146),
        (0.010144, 0.022561, 0.040309, 0.05672, 0.003463, 0.010282, 0.021839, 0.034641),
        (0.018715, 0.035637, 0.052798, 0.061509, 0.007999, 0.018396, 0.031851, 0.037718),
        (0.027961, 0.045875, 0.060275, 0.056234, 0.013572, 0.026277, 0.036959, 0.034511),
        (0.016781, 0.032822, 0.05032, 0.061594, 0.00691, 0.016545, 0.029917, 0.037777)],
    3: [(0.011249, 0.022606, 0.035930, 0.045673, 0.004097, 0.010921, 0.021430, 0.031313),
        (0.004052, 0.013939, 0.026298, 0.038833, 0.000927, 0.005544, 0.013415, 0.024515),
        (0.002166, 0.011249, 0.022606, 0.035930, 0.000447, 0.004097, 0.010921, 0.021430),
        (0.000077, 0.004052, 0.013939, 0.026298, 0.000045, 0.000927, 0.005544, 0.013415),
        (0.009689, 0.020577, 0.034162, 0.044523, 0.003302, 0.009579, 0.019661, 0.030318),
        (0.017329, 0.030870, 0.042134, 0.047410, 0.007509, 0.016707, 0.028072, 0.032722),
        (0.024969, 0.037825, 0.046676, 0.043974, 0.012511, 0.023424, 0.032139, 0.030166),
        (0.015665, 0.028766, 0.040612, 0.047483, 0.006514, 0.015107, 0.026476, 0.032776)],
}


def watson(s, which, r):
    g = F32(1.0) if which == 1 else F32(0.534)
    lt = F32(log10(((pow64(2.0, s + 1) * F64(F32(0.401))) * F64(g)) / F64(r)))
    e = (F32(0.466) * lt) * lt
    assert e.dtype == F32
    q = F32(((F64(2.0) * F64(F32(0.495))) * pow64(10.0, F64(e))) / F64(WATSON[which][s]))
    return F32(1) / q


def barten(s, r, scale):
    f = F32(F64(r) / pow64(2, s + 1))
    lp, rp, sp = F32(log10(20.0)), F32(log10(150.0)), F32(log10(100.0))

    def val(x0, x1):
        x0, x1 = F32(x0), F32(x1)
        return x0 + ((x1 - x0) / (rp - lp)) * (sp - lp)

    p0, p1, p2, p3 = val(0.334278, 0.394533), val(3.79542, 2.7755), val(1.07327, 1.16577), val(6.4635, 7.45665)
    assert [float(v).hex()[:9] for v in (p0, p1, p2, p3)] == ["0x1.8795e", "0x1.7d88f", "0x1.25ac0", "0x1.d06f5"] and p3.dtype == F32
    a = F32(F64(1.0) + pow64(F64(p0 * f), F64(p1)))
    b = F32(F64(1.0) / pow64(F64(1.0) - exp(-pow64(F64(f / F32(7.0)), 2.0)), F64(p2)))
    n = F32(F64(p3) / pow64(F64(a * b), 0.5))
    m = F32(0)
    for ma, mb in ((0.424838596301290, 0.028), (0.572435103936480, 0.37), (0.000167576239164937, 37.0), (0.00255872352306433, 360.0)):
        m = F32(F64(m) + F64(F32(ma)) * exp(F64((-F32(mb)) * f)))
    rc = F32(F64(F32(30.162)) * pow64(pow64(F64(F32(4.0627) / F32(100.0)), F64(F32(1.6596))) + F64(1.0), F64(-F32(0.2712))))
    assert float(rc).hex() == "0x1.e1f3840000000p+4"
    return F32(F64((n * m) * rc) * F64(scale))


def weights(s, mode, view_dist, height, scale=1.0, diag_scale=1.0):
    """(F1, F2) of scale s."""
    r = F32(((F64(view_dist) * F64(height)) * F64(PI)) / F64(180.0))
    if mode == 0:
        return watson(s, 1, r), watson(s, 2, r)
    if mode == 1:
        return barten(s, r, scale), barten(s, r, diag_scale)
    row = _SIMILAR.get((height, view_dist))
    if row is None:
        return F32(-22.0), F32(-22.0)
    return F32(_BLEND[mode][row][s]), F32(_BLEND[mode][row][4 + s])


def truncated(v, bits):
    """x86 conversion of a double to a signed integer: what does not fit becomes the most negative number."""
    if math.isnan(v) or not -(2 ** (bits - 1)) <= math.trunc(v) < 2 ** (bits - 1):
        return -(2 ** (bits - 1))
    return math.trunc(v)


def fixed_weights(s, mode, view_dist, height, f1, f2):
    """q of h, v and d (6.4)."""
    if s == 0:
        if mode == 0 and abs(float(view_dist) * height - 3240.0) < 1e-8:
            return [36453, 36453, 49417]
        a, b = truncated(float(f1) * 2097152.0, 32) & 0xFFFF, truncated(float(f2) * 8388608.0, 32) & 0xFFFF
    else:
        a, b = (truncated(float(f) * 4294967296.0, 64) & 0xFFFFFFFF for f in (f1, f2))
    return [a, a, b]


# ---- geometry and DWT (3, 4) ---------------------------------------------------------------------------------------

LO = (15826, 27411, 7345, -4240)
HI = (-4240, -7345, 27411, -15826)


def border(n):
    return 0 if n < 5 else (n - 5) // 10


def region(w, h):
    left, top = border(w), border(h)
    return slice(top, h - top), slice(left, w - left)


def mirrored(p, n):
    """A coordinate one or two steps outside a line of n samples (4.2, 8.2)."""
    return 1 if p == -1 else 2 * n - 1 - p if p >= n else p


def filtered(x, taps, axis):
    n = x.shape[axis]
    total = 0
    for t in range(4):
        total = total + taps[t] * np.take(x, [mirrored(2 * i - 1 + t, n) for i in range((n + 1) // 2)], axis)
    return total


def dwt0(plane, bits):
    x = plane.astype(I64)
    lo = i16((filtered(x, LO, 0) - (46342 << (bits - 1)) + (1 << (bits - 1))) >> bits)
    hi = i16((filtered(x, HI, 0) + (1 << (bits - 1))) >> bits)
    def across(v, taps):
        return i16((filtered(v, taps, 1) + 32768) >> 16)
    return across(lo, LO), [across(hi, LO), across(lo, HI), across(hi, HI)]


def dwt(a, s):
    rv, sv, rh, sh = {1: (0, 0, 16384, 15), 2: (32768, 16, 32768, 16), 3: (32768, 16, 16384, 15)}[s]
    lo, hi = (i32((filtered(a, f, 0) + rv) >> sv) for f in (LO, HI))
    def across(v, taps):
        return i32((filtered(v, taps, 1) + rh) >> sh)
    return across(lo, LO), [across(hi, LO), across(lo, HI), across(hi, HI)]


def bands(plane, bits):
    """[h, v, d] of the four scales."""
    a, b = dwt0(plane, bits)
    out = [b]
    for s in (1, 2, 3):
        a, b = dwt(a, s)
        out.append(b)
    return out


# ---- decoupling (5) ------------------------------------------------------------------------------------------------

COS2 = F64(F32(float.fromhex("0x1.ffd814p-1")))


def angle_flag(o, t):
    dp, om, tm = o[0] * t[0] + o[1] * t[1], o[0] * o[0] + o[1] * o[1], t[0] * t[0] + t[1] * t[1]
    assert dp.dtype == I64
    d, om, tm = (v.astype(F32).astype(F64) for v in (dp, om, tm))
    return (d >= 0) & (d * d >= (COS2 * om) * tm)


def bit_length(m):
    """Of positive integers below 2^52."""
    return np.frexp(m.astype(F64))[1].astype(I64)


def ratio(o, t):
    m = np.abs(o)
    e = np.where(m >= 32768, bit_length(m) - 15, 0)
    m = np.where(e > 0, (m + (I64(1) << np.maximum(e - 1, 0))) >> e, m)
    rec = (1 << 30) // np.maximum(m, 1)
    p = rec * t
    p = np.where(o < 0, -p, p)
    k = (p + (I64(1) << (14 + e))) >> (15 + e)
    return np.where(o == 0, 32768, np.clip(k, 0, 32768))


def decouple(o, t, gain, s):
    """(restored, additive), each [h, v, d]."""
    flag = angle_flag(o, t)
    store = i16 if s == 0 else i32
    restored, additive = [], []
    for x, y in zip(o, t):
        k = ratio(x, y)
        r = store((k * x + 16384) >> 15)
        g, limit = r.astype(F64) * F64(gain), y.astype(F64)
        r = np.where(flag & (k > 0) & (x > 0), np.trunc(np.minimum(g, limit)).astype(I64), r)
        r = np.where(flag & (k > 0) & (x < 0), np.trunc(np.maximum(g, limit)).astype(I64), r)
        restored.append(store(r))
        additive.append(store(y - r))
    return restored, additive


# ---- accumulators (7, 8) -------------------------------------------------------------------------------------------

def denominator(o, s):
    """A of h, v, d."""
    h, w = o[0].shape
    rows, columns = region(w, h)
    ny, nx = rows.stop - rows.start, columns.stop - columns.start
    out = []
    for c in o:
        m = np.abs(c[rows, columns]).astype(U64)
        if s == 0:
            fold = max(0, clog2(ny * nx) - 20)
            term = m * m * m
        else:
            sq, sc, fold = (31, 30, 31)[s - 1], clog2(nx), clog2(ny)
            term = (((m * m + U64(1 << sq)) >> U64(sq)) * m + U64(half(sc))) >> U64(sc)
        row = np.sum(term, axis=1, dtype=U64)
        out.append(sum(int(v) for v in (row + U64(half(fold))) >> U64(fold)) & (2 ** 64 - 1))
    return out


def masking(y, q, s, theta):
    """(neighbour, centre) values of one orientation (8.1)."""
    if s == 0:
        u = i16((i32(q * y) + 16384) >> 15) if theta < 2 else i16((i32(q * y) + 65535) >> 17)
        u = np.abs(u)
        return i16((4369 * u + 2048) >> 12), i16((8738 * u + 2048) >> 12)
    u = np.abs(i32((q * y + (1 << 27)) >> 28))
    return i32((143165577 * u - (1 << 31)) >> 32), i32((286331153 * u - (1 << 31)) >> 32)


def threshold(planes, q, s):
    """8.2, of every sample of the band."""
    total, neighbours = 0, 0
    for theta in range(3):
        nb, ce = masking(planes[theta], q[theta], s, theta)
        neighbours = neighbours + nb
        total = total + ce
    h, w = neighbours.shape
    ys = [mirrored(y, h) for y in range(-1, h + 1)]
    xs = [mirrored(x, w) for x in range(-1, w + 1)]
    wide = neighbours[np.ix_(ys, xs)]
    for dy in range(3):
        for dx in range(3):
            if (dy, dx) != (1, 1):
                total = total + wide[dy:dy + h, dx:dx + w]
    return i32(total)


def numerator(measured, thr, q, s):
    """N of h, v, d (8.3, 8.4)."""
    h, w = thr.shape
    rows, columns = region(w, h)
    thr = thr[rows, columns]
    fold = clog2(h)
    out = []
    for theta in range(3):
        x = q[theta] * measured[theta][rows, columns]
        if s == 0:
            sq, sc = (29, 29, 30)[theta], max(0, clog2(w) - (4, 4, 3)[theta])
            x = i32(np.abs(x) - (thr << (10, 10, 12)[theta]))
        else:
            sq, sc = 30, clog2(w)
            x = i32(np.abs(i32((x + (1 << 27)) >> 28)) - thr)
        x = np.maximum(x, 0)
        x2 = i32((x * x + half(sq)) >> sq)
        row = np.sum((x2 * x + half(sc)) >> sc, axis=1, dtype=I64)
        n = sum(int(v) for v in (row + half(fold)) >> fold)
        out.append(((n + 2 ** 63) & (2 ** 64 - 1)) - 2 ** 63)
    return out


class Pair:
    """Luma of a frame pair; what several option sets have in common is computed once."""

    def __init__(self, ref, dist, bits):
        if min(ref.shape) < 17:
            raise ValueError("adm: at least 17x17")
        self.ref, self.dist, self.bits, self.shape = ref, dist, bits, ref.shape
        self.known = {}

    def once(self, key, function):
        if key not in self.known:
            self.known[key] = function()
        return self.known[key]

    def forget(self):
        """Drops the planes, keeps the accumulators."""
        self.known = {k: v for k, v in self.known.items() if k[0] in ("den", "num")}

    def accumulators(self, s, gain, q, skip_aim):
        """(denominators, DLM, AIM) of scale s."""
        def both():
            return list(zip(bands(self.ref, self.bits), bands(self.dist, self.bits)))

        def band(): return self.once(("bands",), both)[s]

        def split(): return self.once(("split", s, gain), lambda: decouple(*band(), gain, s))

        def num():
            restored, additive = split()
            dlm = numerator(restored, threshold(additive, q, s), q, s)
            return dlm, [0] * 3 if skip_aim else numerator(additive, threshold(restored, q, s), q, s)

        den = self.once(("den", s), lambda: denominator(band()[0], s))
        return (den,) + self.once(("num", s, gain, tuple(q), skip_aim), num)


# ---- conclusion (7.3, 8.5, 9) --------------------------------------------------------------------------------------

THIRD = F32(1.0) / F32(3.0)
assert float(THIRD).hex() == "0x1.5555560000000p-2"


def ldexp2(e):
    """pow(2.0, f64(e)) of a u32 exponent."""
    return pow64(2.0, F64(e))


def conclude_denominator(acc, s, w, h, rf, noise):
    rows, columns = region(w, h)
    ny, nx = rows.stop - rows.start, columns.stop - columns.start
    area = ny * nx
    nz = powf(F32(F64(area) * F64(noise)), THIRD)
    d = []
    for theta in range(3):
        a = np.array([acc[theta]], U64).astype(F64)[0]
        if s == 0:
            c = (a / F64(2.0) ** (18 - max(0, clog2(area) - 20))) * pow64(F64(rf[theta]), 3.0)
        else:
            c = (a / ldexp2(u32((32, 27, 23)[s - 1] - clog2(nx) - clog2(ny)))) * pow64(F64(rf[theta]), 3.0)
        d.append(powf(F32(c), THIRD) + nz)
    den = (d[0] + d[1]) + d[2]
    assert den.dtype == F32
    return den


def conclude_numerator(acc, s, w, h, noise, p):
    rows, columns = region(w, h)
    area = (rows.stop - rows.start) * (columns.stop - columns.start)
    nz = powf(F32(F64(area) * F64(noise)), p)
    g = []
    for theta in range(3):
        if s == 0:
            e = u32((52, 52, 57)[theta] - max(0, clog2(w) - (4, 4, 3)[theta]) - clog2(h))
            f = F32(np.array([acc[theta]], I64).astype(F64)[0] / ldexp2(e))
        else:
            f = to_f32(acc[theta]) / F32(ldexp2(u32((45, 39, 36)[s - 1] - clog2(w) - clog2(h))))
        assert f.dtype == F32
        g.append(powf(f, p) + nz)
    num = (g[0] + g[1]) + g[2]
    assert num.dtype == F32
    return num


def scale_sizes(w, h):
    out = []
    for _ in range(4):
        w, h = (w + 1) // 2, (h + 1) // 2
        out.append((w, h))
    return out


def conclude(acc, w, h, o):
    """[(feature, value)]; acc: (A, DLM, AIM) of the four scales; o: values of the options."""
    noise, p = o["adm_noise_weight"], F32(F64(1.0) / F64(o["adm_p_norm"]))
    num, den, aim = [F32(0)] * 4, [F32(1e-10)] * 4, [F32(0)] * 4
    for s, (ws, hs) in enumerate(scale_sizes(w, h)):
        if s == 0 and o["adm_skip_scale0"]:
            continue
        f1, f2 = weights(s, o["adm_csf_mode"], o["adm_norm_view_dist"], o["adm_ref_display_height"], o["adm_csf_scale"], o["adm_csf_diag_scale"])
        den[s] = conclude_denominator(acc[s][0], s, ws, hs, (f1, f1, f2), noise)
        num[s] = conclude_numerator(acc[s][1], s, ws, hs, noise, p)
        if not o["adm_skip_aim"]:
            aim[s] = conclude_numerator(acc[s][2], s, ws, hs, 0.0, p)
    total_num, total_den, total_aim = F64(0), F64(0), F64(0)
    for s in range(4):
        total_num, total_den, total_aim = total_num + F64(num[s]), total_den + F64(den[s]), total_aim + F64(aim[s])
    limit = (F64(1e-10) * F64(w * h)) / F64(1920.0 * 1080.0)
    total_num = F64(0) if total_num < limit else total_num
    total_den = F64(0) if total_den < limit else total_den
    if total_den == 0:
        score, aim_score = F64(1), F64(0)
    else:
        score, aim_score = total_num / total_den, total_aim / total_den
    weight = F64(o["adm_dlm_weight"])
    z = score * weight + (F64(1) - aim_score) * (F64(1) - weight)
    out = [("adm2", score), ("aim", aim_score), ("adm3", z if z > o["adm_min_val"] else F64(o["adm_min_val"]))]
    out += [("adm_scale%d" % s, F64(num[s]) / F64(den[s])) for s in range(4)]
    if o["debug"]:
        out += [("adm", score), ("adm_num", total_num), ("adm_den", total_den)]
        for s in range(4):
            out += [("adm_num_scale%d" % s, F64(num[s])), ("adm_den_scale%d" % s, F64(den[s]))]
    return out


def fixed(s, o):
    args = (s, o["adm_csf_mode"], o["adm_norm_view_dist"], o["adm_ref_display_height"])
    return fixed_weights(*args, *weights(*args, o["adm_csf_scale"], o["adm_csf_diag_scale"]))


def accumulators(pair, o):
    """(A, DLM, AIM) of the four scales; zeros where the options leave out."""
    zero = [0] * 3
    return [(zero, zero, zero) if s == 0 and o["adm_skip_scale0"] else
            pair.accumulators(s, o["adm_enhn_gain_limit"], fixed(s, o), o["adm_skip_aim"]) for s in range(4)]


def frame(pair, options):
    """[(feature, value)] of one frame; options: texts."""
    o = read_options(options)
    if F64(o["adm_norm_view_dist"]) * o["adm_ref_display_height"] < 3240.0:
        raise ValueError("adm: adm_norm_view_dist * adm_ref_display_height is below 3240")
    with np.errstate(all="ignore"):
        h, w = pair.shape
        return conclude(accumulators(pair, o), w, h, o)


def evaluate(metric, options, frames, bits):
    """frames: iterable of (reference planes, distorted planes) or of Pair. Yields (frame number, feature, value)."""
    if metric != "adm":
        raise ValueError("unknown metric " + metric)
    for n, f in enumerate(frames):
        pair = f if isinstance(f, Pair) else Pair(f[0][0], f[1][0], bits)
        for feature, value in frame(pair, options):
            yield n, feature, float(value)


def main(argv):
    flags = dict(a[2:].partition("=")[::2] for a in argv if a.startswith("--"))
    args = [a for a in argv if not a.startswith("--")]
    if len(args) not in (6, 7) or set(flags) - {"frames", "accumulators"}:
        sys.exit(__doc__)
    w, h, fmt, bits = (int(v) for v in args[2:6])
    options = parse_options(args[6] if len(args) == 7 else "")
    limit = int(flags["frames"]) if "frames" in flags else None
    for n, (r, d) in enumerate(pair_files(args[0], args[1], w, h, fmt, bits, "floor", limit)):
        pair = Pair(r[0], d[0], bits)
        for feature, value in frame(pair, options):
            print(json.dumps({"frame": n, "feature": feature, "hex": c_hex(value)}))
        if "accumulators" in flags:
            print(json.dumps({"frame": n, "accumulators": accumulators(pair, read_options(options))}))


if __name__ == "__main__":
    main(sys.argv[1:])
