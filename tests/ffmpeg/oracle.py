# SPDX-License-Identifier: BSD-2-Clause
"""psnr, float_psnr and psnr_hvs once more, written only from the definition of the scores: plain Python over lists of samples, with
single precision by rounding after every operation. Slow and independent of libexactvq; small pictures only.
"""

import math
import random
import struct
from dataclasses import dataclass

# ---- pictures ----

CHROMA = {"400": None, "410": (2, 2), "411": (2, 0), "420": (1, 1), "422": (1, 0), "440": (0, 1), "444": (0, 0)}


def plane_sizes(chroma, width, height):
    """(width, height) of each plane; chroma rounded up, as FFmpeg has it."""
    if CHROMA[chroma] is None:
        return [(width, height)]
    sx, sy = CHROMA[chroma]
    return [(width, height)] + 2 * [(-(-width >> sx), -(-height >> sy))]


@dataclass
class Clip:
    """Frames as lists of planes, planes as flat lists of samples."""

    chroma: str
    depth: int
    width: int
    height: int
    frames: list

    @property
    def sizes(self):
        return plane_sizes(self.chroma, self.width, self.height)

    def pack(self, order="planar", shift=0):
        """Bytes of all frames as rawvideo has them. order: planar, uv or vu (semi-planar); shift: unused low bits of a word."""
        out = bytearray()
        for frame in self.frames:
            planes = frame
            if order != "planar":
                first, second = (frame[1], frame[2]) if order == "uv" else (frame[2], frame[1])
                planes = [frame[0], [v for pair in zip(first, second) for v in pair]]
            for plane in planes:
                if self.depth == 8:
                    out += bytes(plane)
                else:
                    out += struct.pack(f"<{len(plane)}H", *((v << shift) for v in plane))
        return bytes(out)


def unpack(data, chroma, depth, width, height):
    """A clip from planar bytes."""
    frames, offset = [], 0
    sizes = plane_sizes(chroma, width, height)
    while offset < len(data):
        planes = []
        for w, h in sizes:
            n = w * h
            if depth == 8:
                planes.append(list(data[offset:offset + n]))
                offset += n
            else:
                planes.append(list(struct.unpack_from(f"<{n}H", data, offset)))
                offset += 2 * n
        frames.append(planes)
    return Clip(chroma, depth, width, height, frames)


def pictures(chroma, depth, width, height, frames, seed=1):
    """(main, reference): waves, edges and noise over the whole range, and the same distorted."""
    rng = random.Random(f"{chroma} {depth} {width} {height} {seed}")
    top = (1 << depth) - 1
    main, ref = [], []
    for n in range(frames):
        a, b = [], []
        for p, (w, h) in enumerate(plane_sizes(chroma, width, height)):
            r = []
            for y in range(h):
                for x in range(w):
                    wave = 0.5 + 0.3 * math.sin((x * (3 + p) + n) / 7.0) + 0.2 * math.cos((y * 2 - n) / 5.0)
                    if (x // 11 + y // 9 + n) % 5 == 0:
                        wave = 1.0 - wave
                    r.append(min(top, max(0, int(wave * top) + rng.randint(-top // 60, top // 60))))
            step = 1 << max(0, depth - 5)
            d = [min(top, max(0, v - v % step + step // 2 + rng.randint(-top // 200, top // 200))) for v in r]
            a.append(d)
            b.append(r)
        main.append(a)
        ref.append(b)
    return Clip(chroma, depth, width, height, main), Clip(chroma, depth, width, height, ref)


# ---- psnr and float_psnr ----

NAMES = ("y", "cb", "cr")


def f32(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def sse(a, b):
    return sum((x - y) * (x - y) for x, y in zip(a, b))


def psnr(main, ref, n, *, chroma=True, mse=False, uncapped=False, reduced_hbd_peak=False, min_sse=0.0):
    """The scores of frame n by name."""
    out = {}
    peak = 255 << (main.depth - 8) if reduced_hbd_peak else (1 << main.depth) - 1
    peak_squared = 65025 if main.depth == 8 else peak * peak
    for p, (w, h) in enumerate(main.sizes if chroma else main.sizes[:1]):
        error = float(sse(main.frames[n][p], ref.frames[n][p])) / float(w * h)
        cap = float(6 * main.depth + 12)
        if min_sse:
            cap = math.ceil(10.0 * math.log10(float(peak * peak) / (min_sse / float(w * h))))
        db = 10.0 * math.log10(float(peak_squared) / (error if error > 1e-16 else 1e-16))
        if uncapped:
            out["psnr_" + NAMES[p]] = float(cap) if error <= 0 else db
        else:
            out["psnr_" + NAMES[p]] = float(db if db < cap else cap)
        if mse:
            out["mse_" + NAMES[p]] = error
    return out


def apsnr(main, ref):
    """The aggregates of the whole clip by name (only planes that exist)."""
    out = {}
    peak = (1 << main.depth) - 1
    pp = peak * peak
    for p, (w, h) in enumerate(main.sizes):
        total = sum(sse(m[p], r[p]) for m, r in zip(main.frames, ref.frames))
        samples = w * h * len(main.frames)
        value = math.inf if total == 0 else 10.0 * ((math.log10(float(pp)) + math.log10(float(samples))) - math.log10(float(total)))
        cap = math.ceil(10.0 * math.log10(float((pp * samples * 2) % (1 << 64))))
        out["apsnr_" + NAMES[p]] = float(value if value < cap else cap)
    return out


def float_psnr(main, ref, n, uncapped=False):
    q = float(1 << (main.depth - 8))
    peak = ((1 << main.depth) - 1) / q
    total = 0.0
    for x, y in zip(main.frames[n][0], ref.frames[n][0]):
        e = (y - x) / q
        total += f32(e * e)
    m = total / float(main.width * main.height)
    db = 10.0 * math.log10((peak * peak) / (m if m > 1e-10 else 1e-10))
    cap = float(6 * main.depth + 12)
    if uncapped:
        return cap if m <= 0 else db
    return db if db < cap else cap


# ---- psnr_hvs ----

_W = ("""
3fcf4815 401291f9 4005723d 3fbde89a 3f804a8d 3f2da4df 3eeeb508 3ea72c35
401291f9 3ff8bb5f 4003114c 3fd7f9cf 3f9d8336 3f5e7190 3f1ce11c 3edf7095
4005723d 4003114c 3fabf0ef 3f8bc881 3f603113 3f2bbefc 3f007181 3ebeb8e1
3fbde89a 3fd7f9cf 3f8bc881 3f45d785 3f1b0afc 3ef7581b 3ec2c7a6 3e976fb2
3f804a8d 3f9d8336 3f603113 3f1b0afc 3ee5e2d6 3eb4ade7 3e90e64b 3e6865ef
3f2da4df 3f5e7190 3f2bbefc 3ef7581b 3eb4ade7 3e8a677b 3e5c2d9c 3e324234
3eeeb508 3f1ce11c 3f007181 3ec2c7a6 3e90e64b 3e5c2d9c 3e2cec23 3e0b6bf0
3ea72c35 3edf7095 3ebeb8e1 3e976fb2 3e6865ef 3e324234 3e0b6bf0 3ddf675a
""", """
3ff49ff1 401d7ccc 3f97675d 3f932d7d 3f866bff 3f65e490 3f3f4c08 3f1d778f
401d7ccc 3fcaeae2 3f9b584f 3fb0e21c 3faa5e45 3f964efd 3f7f145b 3f54b53c
3f97675d 3f9b584f 3f7a8ce6 3f835c00 3f84069a 3f75c684 3f598e07 3f3b3151
3f932d7d 3fb0e21c 3f835c00 3f5c7f4e 3f4d4426 3f405e37 3f2f7647 3f1bd36b
3f866bff 3faa5e45 3f84069a 3f4d4426 3f2d32bd 3f1b0242 3f0cce1f 3efdda18
3f65e490 3f964efd 3f75c684 3f405e37 3f1b0242 3f03c1b4 3ee8a105 3ed068e6
3f3f4c08 3f7f145b 3f598e07 3f2f7647 3f0cce1f 3ee8a105 3ec749cc 3eaf4906
3f1d778f 3f54b53c 3f3b3151 3f1bd36b 3efdda18 3ed068e6 3eaf4906 3e974fca
""", """
40027a63 40280062 3fa182f9 3f8e1af7 3f81ca04 3f5df842 3f38b441 3f180a42
40280062 3fd876e7 3f95fdbb 3faac980 3fa47f24 3f9120d7 3f7649d6 3f4d608d
3fa182f9 3f95fdbb 3f71ea56 3f7daa13 3f7ef386 3f6d4e16 3f520e95 3f34bdbf
3f8e1af7 3faac980 3f7daa13 3f54e5e5 3f463120 3f39bcfc 3f296a35 3f167499
3f81ca04 3fa47f24 3f7ef386 3f463120 3f273aa4 3f15aaa4 3f07f3d2 3ef51a67
3f5df842 3f9120d7 3f6d4e16 3f39bcfc 3f15aaa4 3efe6e7b 3ee09c93 3ec93a23
3f38b441 3f7649d6 3f520e95 3f296a35 3f07f3d2 3ee09c93 3ec06b83 3ea93e83
3f180a42 3f4d608d 3f34bdbf 3f167499 3ef51a67 3ec93a23 3ea93e83 3e9218cb
""")
WEIGHT = [[struct.unpack(">f", bytes.fromhex(word))[0] for word in table.split()] for table in _W]
# the masking table follows from the weights: square of 0.3885... times the weight, in double, rounded once
MASK = [[f32((w * 0.3885746225901003) * (w * 0.3885746225901003)) for w in table] for table in WEIGHT]


def _half(v):
    return int(v / 2)  # toward zero; exact for these magnitudes


def _mul(v, c, s):
    return (v * c + (1 << (s - 1))) >> s


def dct8(x):
    x0, x1, x2, x3, x4, x5, x6, x7 = x
    a = x0 - x7
    g = _half(a)
    A = x0 - g
    B = x1 + x6
    k = _half(B)
    b = x6 - k
    c = x2 - x5
    C = x2 - _half(c)
    D = x3 + x4
    m = _half(D)
    d = m - x4
    p = A + m
    q = p - D
    r = k - C
    s = r - B
    p = p - _mul(s, 13573, 15)
    s = s + _mul(p, 11585, 14)
    p = p - _mul(s, 13573, 15)
    q = q - _mul(r, 21895, 15)
    r = r + _mul(q, 15137, 14)
    q = q - _mul(r, 21895, 15)
    c = c + _mul(b, 19195, 15)
    b = b + _mul(c, 11585, 14)
    c = c - _mul(b, 7489, 13)
    d = _half(b) - d
    b = b - d
    c = g - c
    a = a - c
    d = d + _mul(a, 3227, 15)
    a = a - _mul(d, 6393, 15)
    d = d + _mul(a, 3227, 15)
    b = b + _mul(c, 2485, 13)
    c = c - _mul(b, 18205, 15)
    b = b + _mul(c, 2485, 13)
    return [p, a, r, c, s, b, q, d]


def dct8x8(block):
    columns = [dct8(block[j::8]) for j in range(8)]
    return [v for u in range(8) for v in dct8([columns[j][u] for j in range(8)])]


_C63 = f32(f32(1 / 63) * 64)
_C15 = f32(f32(1 / 15) * 16)


def _threshold(samples, coefficients, mask, double):
    mean = sum(samples) / 64
    quadrant = [(i // 32) + 2 * ((i % 8) // 4) for i in range(64)]
    means = [sum(s for s, k in zip(samples, quadrant) if k == j) / 16 for j in range(4)]
    g, v = 0.0, [0.0] * 4
    for s, k in zip(samples, quadrant):
        e = s - mean
        g = f32(g + f32(e * e))
        f = s - means[k]
        v[k] = f32(v[k] + f32(f * f))
    g = f32(g * _C63)
    v = [f32(t * _C15) for t in v]
    ratio = f32(f32(f32(f32(v[0] + v[1]) + v[2]) + v[3]) / g) if g > 0 else g
    energy = 0.0
    for i in range(1, 64):
        energy = f32(energy + f32(f32(float(coefficients[i] * coefficients[i])) * mask[i]))
    product = energy * ratio
    if not double:
        product = f32(product)
    return f32(math.sqrt(product) / 32)


def _plane_hvs(a, b, width, height, plane, depth, double):
    weight, mask = WEIGHT[plane], MASK[plane]
    total, blocks = 0.0, 0
    for y in range(0, height - 7, 7):
        for x in range(0, width - 7, 7):
            blocks += 1
            one = [b[(y + i) * width + x + j] for i in range(8) for j in range(8)]
            two = [a[(y + i) * width + x + j] for i in range(8) for j in range(8)]
            c1, c2 = dct8x8(one), dct8x8(two)
            t1, t2 = _threshold(one, c1, mask, double), _threshold(two, c2, mask, double)
            t = t2 if t2 > t1 else t1
            for i in range(64):
                err = f32(float(abs(c1[i] - c2[i])))
                if i:
                    limit = f32(t / mask[i])
                    err = 0.0 if err < limit else f32(err - limit)
                w = f32(err * weight[i])
                total = f32(total + f32(w * w))
    top = (1 << depth) - 1
    return f32(f32(total / float(64 * blocks)) / float(top * top))


def _db(s):
    return math.inf if s == 0 else 10.0 * (-1.0 * math.log10(s))


def psnr_hvs(main, ref, n, *, chroma=True, mask="f32"):
    planes = main.sizes if chroma else main.sizes[:1]
    s = [_plane_hvs(main.frames[n][p], ref.frames[n][p], w, h, p, main.depth, mask == "f64") for p, (w, h) in enumerate(planes)]
    out = {"psnr_hvs_" + NAMES[p]: _db(v) for p, v in enumerate(s)}
    out["psnr_hvs"] = _db(s[0] * 0.8 + 0.1 * (s[1] + s[2])) if len(s) == 3 else out["psnr_hvs_y"]
    return out


# ---- FFmpeg's pixel formats: how a clip lies in memory ----

# name: (chroma, depth, order of the chroma samples, unused low bits of a word)
FORMATS = {
    "gray": ("400", 8, "planar", 0), "yuv410p": ("410", 8, "planar", 0), "yuv411p": ("411", 8, "planar", 0),
    "yuv420p": ("420", 8, "planar", 0), "nv12": ("420", 8, "uv", 0), "nv21": ("420", 8, "vu", 0),
    "yuv422p": ("422", 8, "planar", 0), "nv16": ("422", 8, "uv", 0),
    "yuv440p": ("440", 8, "planar", 0),
    "yuv444p": ("444", 8, "planar", 0), "nv24": ("444", 8, "uv", 0), "nv42": ("444", 8, "vu", 0),
    "nv20le": ("422", 10, "uv", 0),
    "yuv440p10le": ("440", 10, "planar", 0), "yuv440p12le": ("440", 12, "planar", 0),
    "yuv444p10msble": ("444", 10, "planar", 6), "yuv444p12msble": ("444", 12, "planar", 4),
}
for _d in (9, 10, 12, 14, 16):
    FORMATS[f"gray{_d}le"] = ("400", _d, "planar", 0)
    for _c in ("420", "422", "444"):
        FORMATS[f"yuv{_c}p{_d}le"] = (_c, _d, "planar", 0)
for _d in (10, 12, 16):
    for _n, _c in (("0", "420"), ("2", "422"), ("4", "444")):
        FORMATS[f"p{_n}{_d}le"] = (_c, _d, "uv", 16 - _d)


def pack(clip, pix_fmt):
    chroma, depth, order, shift = FORMATS[pix_fmt]
    assert (clip.chroma, clip.depth) == (chroma, depth)
    return clip.pack(order, shift)
