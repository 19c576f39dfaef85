#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Independent implementation of float_psnr, psnr and psnr_hvs.

Written from the arithmetic specification only (section numbers below are its), to be compared with the library bit
for bit. Slow and plain on purpose: NumPy vectorises over the 8x8 blocks of a plane, never over a sum whose order
matters. Every NumPy operation here rounds once in the type of its operands (multiply and add are separate ufuncs,
nothing is fused), and np.add.accumulate is sequential; `check_oracle.py` verifies both assumptions with exact
arithmetic.

usage: psnr_oracle.py REF.yuv DIST.yuv WIDTH HEIGHT FORMAT BITS METRIC [OPTIONS] [--chroma=ceil|floor] [--frames=N]

FORMAT 400, 420, 422, 444. METRIC float_psnr, psnr, psnr_hvs. OPTIONS key=value|key=value. The raw files always hold
ceil-sized chroma planes, as FFmpeg writes them; --chroma says which part is measured (floor: without the last column
or row of an odd size, as libvmaf does). One JSON line a value:
    {"frame": 0, "feature": "psnr_y", "hex": "0x1.8p+5"}        "aggregate": true in place of "frame" for apsnr_*
"""
import json
import math
import sys

import numpy as np

F32 = np.float32
F64 = np.float64

# ---- tables (appendix A), row = vertical frequency -----------------------------------------------------------------

TABLE_TEXT = {
    "Y": """
1.6193873005    2.2901594831    2.08509755623   1.48366094411   1.00227514334   0.678296995242  0.466224900598  0.3265091542
2.2901594831    1.94321815382   2.04793073064   1.68731108984   1.2305666963    0.868920337363  0.61280991668   0.436405793551
2.08509755623   2.04793073064   1.34329019223   1.09205635862   0.875748795257  0.670882927016  0.501731932449  0.372504254596
1.48366094411   1.68731108984   1.09205635862   0.772819797575  0.605636379554  0.48309405692   0.380429446972  0.295774038565
1.00227514334   1.2305666963    0.875748795257  0.605636379554  0.448996256676  0.352889268808  0.283006984131  0.226951348204
0.678296995242  0.868920337363  0.670882927016  0.48309405692   0.352889268808  0.27032073436   0.215017739696  0.17408067321
0.466224900598  0.61280991668   0.501731932449  0.380429446972  0.283006984131  0.215017739696  0.168869545842  0.136153931001
0.3265091542    0.436405793551  0.372504254596  0.295774038565  0.226951348204  0.17408067321   0.136153931001  0.109083846276""",
    "Cb": """
1.91113096927   2.46074210438   1.18284184739   1.14982565193   1.05017074788   0.898018824055  0.74725392039   0.615105596242
2.46074210438   1.58529308355   1.21363250036   1.38190029285   1.33100189972   1.17428548929   0.996404342439  0.830890433625
1.18284184739   1.21363250036   0.978712413627  1.02624506078   1.03145147362   0.960060382087  0.849823426169  0.731221236837
1.14982565193   1.38190029285   1.02624506078   0.861317501629  0.801821139099  0.751437590932  0.685398513368  0.608694761374
1.05017074788   1.33100189972   1.03145147362   0.801821139099  0.676555426187  0.605503172737  0.55002013668   0.495804539034
0.898018824055  1.17428548929   0.960060382087  0.751437590932  0.605503172737  0.514674450957  0.454353482512  0.407050308965
0.74725392039   0.996404342439  0.849823426169  0.685398513368  0.55002013668   0.454353482512  0.389234902883  0.342353999733
0.615105596242  0.830890433625  0.731221236837  0.608694761374  0.495804539034  0.407050308965  0.342353999733  0.295530605237""",
    "Cr": """
2.03871978502   2.62502345193   1.26180942886   1.11019789803   1.01397751469   0.867069376285  0.721500455585  0.593906509971
2.62502345193   1.69112867013   1.17180569821   1.3342742857    1.28513006198   1.13381474809   0.962064122248  0.802254508198
1.26180942886   1.17180569821   0.944981930573  0.990876405848  0.995903384143  0.926972725286  0.820534991409  0.706020324706
1.11019789803   1.3342742857    0.990876405848  0.831632933426  0.77418706195   0.725539939514  0.661776842059  0.587716619023
1.01397751469   1.28513006198   0.995903384143  0.77418706195   0.653238524286  0.584635025748  0.531064164893  0.478717061273
0.867069376285  1.13381474809   0.926972725286  0.725539939514  0.584635025748  0.496936637883  0.438694579826  0.393021669543
0.721500455585  0.962064122248  0.820534991409  0.661776842059  0.531064164893  0.438694579826  0.375820256136  0.330555063063
0.593906509971  0.802254508198  0.706020324706  0.587716619023  0.478717061273  0.393021669543  0.330555063063  0.285345396658""",
}


def _tables():
    weight, mask = {}, {}
    for name, text in TABLE_TEXT.items():
        # float64 -> float32 in two roundings: decimal -> f64 (float()), f64 -> f32
        w = [F32(F64(float(t))) for t in text.split()]
        assert len(w) == 64
        k = []
        for v in w:
            a = F64(v) * F64(0.3885746225901003)
            k.append(F32(a * a))
        weight[name], mask[name] = w, k
    return weight, mask


WEIGHT, MASK = _tables()
C63 = F32(F32(F64(1) / F64(63)) * F32(64))
C15 = F32(F32(F64(1) / F64(15)) * F32(16))


# ---- small helpers -------------------------------------------------------------------------------------------------

def c_hex(v):
    """The text C's %a gives: float.hex() without the mantissa's trailing zeros."""
    v = float(v)
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    mantissa, exponent = v.hex().split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return mantissa + "p" + exponent


def log10(v):
    """C's log10 (math.log10 calls the C library's for every positive finite value)."""
    v = float(v)
    if math.isnan(v) or v < 0:
        return math.nan
    if v == 0:
        return -math.inf
    return math.log10(v) if not math.isinf(v) else v


def divide(a, b):
    """IEEE f64 division, with 0/0 and x/0."""
    with np.errstate(all="ignore"):
        return float(F64(a) / F64(b))


def max_g(x, y):
    return x if x > y else y


def min_l(x, y):
    return x if x < y else y


def sequential_sum(start, terms):
    """start + terms[0] + terms[1] + ..., each addition rounded in the type of `terms`."""
    if terms.size == 0:
        return start
    buffer = np.empty(terms.size + 1, dtype=terms.dtype)
    buffer[0] = start
    buffer[1:] = terms
    return np.add.accumulate(buffer)[-1]


# ---- float_psnr (section 2) ----------------------------------------------------------------------------------------

def float_psnr(ref, dist, bits, uncapped=False):
    """The formulas of 2.1 hold for 8, 10, 12 and 16 bits; the other depths (8..16) are their continuation."""
    h, w = ref.shape
    q = 1 << (bits - 8)
    peak = F64((1 << bits) - 1) / F64(q)
    cap = float(6 * bits + 12)
    s = F64(0)
    for y in range(h):
        e = ref[y].astype(F32) / F32(q) - dist[y].astype(F32) / F32(q)
        t = e * e
        assert t.dtype == F32
        s = sequential_sum(s, t.astype(F64))
    m = float(s / F64(w * h))
    if uncapped and m <= 0:
        return cap
    y = 10.0 * log10(float(peak * peak) / max_g(m, 1e-10))
    return y if uncapped else min_l(y, cap)


# ---- psnr (section 3) ----------------------------------------------------------------------------------------------

def sse(ref, dist, bits):
    d = ref.astype(np.int64) - dist.astype(np.int64)
    rows = [int(v) for v in np.sum(d * d, axis=1)]
    if bits == 8:
        rows = [v & 0xFFFFFFFF for v in rows]
    return sum(rows) & 0xFFFFFFFFFFFFFFFF


class Psnr:
    def __init__(self, bits, enable_chroma=True, enable_mse=False, enable_apsnr=False, reduced_hbd_peak=False,
                 min_sse=0.0, uncapped=False):
        self.bits, self.chroma, self.mse, self.apsnr = bits, enable_chroma, enable_mse, enable_apsnr
        self.min_sse, self.uncapped = min_sse, uncapped
        self.peak = 255 << (bits - 8) if reduced_hbd_peak else (1 << bits) - 1
        self.pp = (self.peak * self.peak) & 0xFFFFFFFF
        self.total_sse, self.total_n = [0, 0, 0], [0, 0, 0]

    def cap(self, n):
        if self.min_sse == 0:
            return float(6 * self.bits + 12)
        return float(math.ceil(10.0 * log10(divide(float(self.pp), self.min_sse / float(n)))))

    def frame(self, ref, dist):
        """[(feature, value)] of one frame; ref and dist: lists of the planes to be measured."""
        out = []
        count = 3 if self.chroma and len(ref) == 3 else 1
        for i in range(count):
            h, w = ref[i].shape
            n = (w * h) & 0xFFFFFFFF
            total = sse(ref[i], dist[i], self.bits)
            self.total_sse[i] = (self.total_sse[i] + total) & 0xFFFFFFFFFFFFFFFF
            self.total_n[i] += n
            mse = divide(float(total), float(n))
            pk = 65025.0 if self.bits == 8 else float(self.pp)
            cap = self.cap(n)
            value = 10.0 * log10(pk / max_g(mse, 1e-16))
            if not self.uncapped:
                value = min_l(value, cap)
            elif mse <= 0:
                value = cap
            name = ("y", "cb", "cr")[i]
            out.append(("psnr_" + name, value))
            if self.mse:
                out.append(("mse_" + name, mse))
        return out

    def aggregates(self):
        out = []
        if not self.apsnr:
            return out
        for i in range(3):
            a = 10.0 * ((log10(float(self.pp)) + log10(float(self.total_n[i]))) - log10(float(self.total_sse[i])))
            z = (self.pp * self.total_n[i] * 2) & 0xFFFFFFFFFFFFFFFF
            lz = 10.0 * log10(float(z))
            cap = float(math.ceil(lz)) if math.isfinite(lz) else lz
            out.append(("apsnr_" + ("y", "cb", "cr")[i], min_l(a, cap)))
        return out


# ---- psnr_hvs (section 4) ------------------------------------------------------------------------------------------

def halve(v):
    """v / 2 rounded toward zero."""
    return (v + (v < 0)) >> 1


def lift(v, c, s):
    return (v * c + (1 << (s - 1))) >> s


def dct8(x):
    """4.3, one dimension: eight integers (or integer arrays) to eight."""
    x0, x1, x2, x3, x4, x5, x6, x7 = x
    a = x0 - x7
    g = halve(a)
    A = x0 - g
    B = x1 + x6
    k = halve(B)
    b = x6 - k
    c = x2 - x5
    C = x2 - halve(c)
    D = x3 + x4
    m = halve(D)
    d = m - x4
    p = A + m
    q = p - D
    r = k - C
    s = r - B
    p = p - lift(s, 13573, 15)
    s = s + lift(p, 11585, 14)
    p = p - lift(s, 13573, 15)
    q = q - lift(r, 21895, 15)
    r = r + lift(q, 15137, 14)
    q = q - lift(r, 21895, 15)
    c = c + lift(b, 19195, 15)
    b = b + lift(c, 11585, 14)
    c = c - lift(b, 7489, 13)
    d = halve(b) - d
    b = b - d
    c = g - c
    a = a - c
    d = d + lift(a, 3227, 15)
    a = a - lift(d, 6393, 15)
    d = d + lift(a, 3227, 15)
    b = b + lift(c, 2485, 13)
    c = c - lift(b, 18205, 15)
    b = b + lift(c, 2485, 13)
    return [p, a, r, c, s, b, q, d]


def dct8x8(x):
    """x[64] (raster order, integers or integer arrays) -> 64 coefficients: columns first, then rows."""
    t = [None] * 64
    for j in range(8):
        for u, v in enumerate(dct8([x[8 * i + j] for i in range(8)])):
            t[8 * u + j] = v
    y = [None] * 64
    for u in range(8):
        y[8 * u:8 * u + 8] = dct8(t[8 * u:8 * u + 8])
    return y


def quadrant(i):
    return (1 if i // 8 >= 4 else 0) + (2 if i % 8 >= 4 else 0)


def variance_ratio(x, details=None):
    """4.5. x[64]: int32 arrays, one entry a block."""
    total = sum(x)
    quad = [sum(x[i] for i in range(64) if quadrant(i) == k) for k in range(4)]
    mean = total.astype(F32) / F32(64)
    means = [v.astype(F32) / F32(16) for v in quad]
    G = np.zeros_like(mean)
    V = [np.zeros_like(mean) for _ in range(4)]
    for i in range(64):
        v = x[i].astype(F32)
        e = v - mean
        G = G + (e * e)
        k = quadrant(i)
        f = v - means[k]
        V[k] = V[k] + (f * f)
    raw = (G, list(V))
    G = G * C63
    V = [v * C15 for v in V]
    s = ((V[0] + V[1]) + V[2]) + V[3]
    with np.errstate(all="ignore"):
        ratio = np.where(G > 0, s / G, G)
    assert ratio.dtype == F32
    if details is not None:
        details.update(mean=mean, means=means, raw_G=raw[0], raw_V=raw[1], G=G, ratio=ratio)
    return ratio


def masking_energy(y, K):
    E = np.zeros(y[0].shape, dtype=F32)
    for i in range(1, 64):
        f = (y[i] * y[i]).astype(F32)
        E = E + (f * K[i])
    assert E.dtype == F32
    return E


def threshold(E, ratio, mask):
    if mask == "f32":                        # 4.6: the product rounded to f32
        p = E * ratio
        assert p.dtype == F32
        return (np.sqrt(p.astype(F64)) / F64(32)).astype(F32)
    assert mask == "f64"                     # product, root and division in f64, rounded once at the end
    p = E.astype(F64) * ratio.astype(F64)
    return (np.sqrt(p) / F64(32)).astype(F32)


def block_terms(x, z, W, K, mask="f32", details=None):
    """4.4 to 4.7: the 64 terms of every block, shape (blocks, 64)."""
    yx, yz = dct8x8(x), dct8x8(z)
    thr = []
    for name, v, y in (("ref", x, yx), ("dist", z, yz)):
        d = {} if details is not None else None
        ratio = variance_ratio(v, d)
        E = masking_energy(y, K)
        thr.append(threshold(E, ratio, mask))
        if details is not None:
            d.update(coef=y, energy=E, threshold=thr[-1])
            details[name] = d
    T = np.where(thr[1] > thr[0], thr[1], thr[0])
    terms = np.empty((x[0].size, 64), dtype=F32)
    for i in range(64):
        err = np.abs(yx[i] - yz[i]).astype(F32)
        if i > 0:
            lim = T / K[i]
            assert lim.dtype == F32
            err = np.where(err < lim, F32(0), err - lim)
        g = err * W[i]
        terms[:, i] = g * g
        assert g.dtype == F32
    return terms


def plane_sum(ref, dist, table, mask="f32"):
    """(S, N) of one plane: 4.2 and 4.8 step 1."""
    h, w = ref.shape
    W, K = WEIGHT[table], MASK[table]
    if w < 8 or h < 8:
        return F32(0), 0
    xs = np.arange(0, w - 7, 7)
    S, blocks = F32(0), 0
    for y0 in range(0, h - 7, 7):
        x = [ref[y0 + i // 8, xs + i % 8].astype(np.int32) for i in range(64)]
        z = [dist[y0 + i // 8, xs + i % 8].astype(np.int32) for i in range(64)]
        terms = block_terms(x, z, W, K, mask)
        S = sequential_sum(S, terms.reshape(-1))
        blocks += xs.size
    return S, 64 * blocks


def plane_score(ref, dist, table, bits, mask="f32"):
    S, N = plane_sum(ref, dist, table, mask)
    mx = (1 << bits) - 1
    with np.errstate(all="ignore"):
        S1 = F32(S) / F32(N)
        S2 = S1 / F32(mx * mx)
    assert S2.dtype == F32
    return float(S2)


def decibel(s):
    return 10.0 * (-1.0 * log10(s))


def psnr_hvs(ref, dist, bits, enable_chroma=True, mask="f32"):
    if bits > 12:
        raise ValueError("psnr_hvs: at most 12 bits")
    sy = plane_score(ref[0], dist[0], "Y", bits, mask)
    if not enable_chroma or len(ref) == 1:
        return [("psnr_hvs_y", decibel(sy)), ("psnr_hvs", decibel(sy))]
    scb = plane_score(ref[1], dist[1], "Cb", bits, mask)
    scr = plane_score(ref[2], dist[2], "Cr", bits, mask)
    u = sy * 0.8
    v = scb + scr
    t = 0.1 * v
    return [("psnr_hvs_y", decibel(sy)), ("psnr_hvs_cb", decibel(scb)), ("psnr_hvs_cr", decibel(scr)),
            ("psnr_hvs", decibel(u + t))]


# ---- raw video -----------------------------------------------------------------------------------------------------

def plane_sizes(w, h, fmt, rounding):
    """[(width, height)] of the planes; rounding of halves "ceil" (FFmpeg) or "floor" (libvmaf)."""
    if fmt == 400:
        return [(w, h)]
    half = (lambda v: (v + 1) // 2) if rounding == "ceil" else (lambda v: v // 2)
    cw = half(w) if fmt in (420, 422) else w
    ch = half(h) if fmt == 420 else h
    return [(w, h), (cw, ch), (cw, ch)]


def read_frames(path, w, h, fmt, bits, chroma="ceil"):
    """Yields the frames of a raw file as lists of 2-D uint16 arrays, chroma cropped to `chroma` rounding."""
    stored, wanted = plane_sizes(w, h, fmt, "ceil"), plane_sizes(w, h, fmt, chroma)
    kind = np.dtype("u1") if bits == 8 else np.dtype("<u2")
    size = sum(a * b for a, b in stored) * kind.itemsize
    with open(path, "rb") as f:
        while True:
            data = f.read(size)
            if not data:
                return
            if len(data) != size:
                raise ValueError("%s: incomplete frame" % path)
            samples, at, planes = np.frombuffer(data, dtype=kind), 0, []
            for (sw, sh), (pw, ph) in zip(stored, wanted):
                p = samples[at:at + sw * sh].reshape(sh, sw)[:ph, :pw]
                planes.append(p.astype(np.uint16))
                at += sw * sh
            yield planes


def boolean(text):
    if text in ("1", "true"):
        return True
    if text in ("0", "false"):
        return False
    raise ValueError("not a boolean: " + text)


def parse_options(text):
    return dict(p.split("=", 1) for p in text.split("|")) if text else {}


def evaluate(metric, options, frames, bits):
    """frames: iterable of (reference planes, distorted planes). Yields (frame number or None for aggregates, feature, value)."""
    o = dict(options)

    def take(key, default, convert=boolean):
        return convert(o.pop(key)) if key in o else default

    if metric == "float_psnr":
        uncapped = take("uncapped", False)
        one = lambda r, d: [("float_psnr", float_psnr(r[0], d[0], bits, uncapped))]
    elif metric == "psnr":
        state = Psnr(bits, take("enable_chroma", True), take("enable_mse", False), take("enable_apsnr", False),
                     take("reduced_hbd_peak", False), take("min_sse", 0.0, float), take("uncapped", False))
        one = state.frame
    elif metric == "psnr_hvs":
        chroma, mask = take("enable_chroma", True), take("psnr_hvs_mask", "f32", str)
        one = lambda r, d: psnr_hvs(r, d, bits, chroma, mask)
    else:
        raise ValueError("unknown metric " + metric)
    if o:
        raise ValueError("%s: unknown option %s" % (metric, ", ".join(o)))
    for n, (r, d) in enumerate(frames):
        for feature, value in one(r, d):
            yield n, feature, value
    if metric == "psnr":
        for feature, value in state.aggregates():
            yield None, feature, value


def pair_files(ref, dist, w, h, fmt, bits, chroma="ceil", limit=None):
    a, b = read_frames(ref, w, h, fmt, bits, chroma), read_frames(dist, w, h, fmt, bits, chroma)
    n = 0
    while limit is None or n < limit:
        r, d = next(a, None), next(b, None)
        if (r is None) != (d is None):
            raise ValueError("the files differ in length")
        if r is None:
            return
        yield r, d
        n += 1


def main(argv):
    flags = dict(a[2:].split("=", 1) for a in argv if a.startswith("--"))
    args = [a for a in argv if not a.startswith("--")]
    if len(args) not in (7, 8) or set(flags) - {"chroma", "frames"} or flags.get("chroma", "ceil") not in ("ceil", "floor"):
        sys.exit(__doc__)
    ref, dist, w, h, fmt, bits, metric = args[:2] + [int(v) for v in args[2:6]] + args[6:7]
    limit = int(flags["frames"]) if "frames" in flags else None
    frames = pair_files(ref, dist, w, h, fmt, bits, flags.get("chroma", "ceil"), limit)
    for n, feature, value in evaluate(metric, parse_options(args[7] if len(args) == 8 else ""), frames, bits):
        where = {"aggregate": True} if n is None else {"frame": n}
        print(json.dumps(dict(where, feature=feature, hex=c_hex(value))))


if __name__ == "__main__":
    main(sys.argv[1:])
