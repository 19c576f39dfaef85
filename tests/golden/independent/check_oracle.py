#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks psnr_oracle.py and adm_oracle.py, so that the values they make can be trusted.

usage: check_oracle.py [--gen=PATH] [--ffmpeg=PATH] [--max-pixels=N] [--metrics=adm,psnr,...] [GOLDEN_FOLDER ...]

1. exact:   the floating-point steps and the decoupling of adm against integer, rational and 60-digit decimal arithmetic;
2. vectors: ../vectors.txt;
3. golden:  every generated case of the given folders (default: ..) of at most N luma samples (default 1000000), with --ffmpeg
            the clips too. A folder holds cases.tsv, jobs.tsv and golden/NAME.jsonl or golden/NAME.jsonl.gz.
Exit status 1 if anything differs.
"""
import decimal
import gzip
import json
import math
import os
import random
import re
import sys
from fractions import Fraction

import numpy as np

import adm_oracle as adm
import psnr_oracle as oracle
from inputs import GOLDEN, Inputs, read_cases

F32, F64 = np.float32, np.float64
JOBS = ("float_psnr", "psnr", "psnr_hvs", "psnr_luma", "psnr_redpeak", "psnr_minsse")


class Tally:
    def __init__(self):
        self.compared, self.wrong = {}, 0

    def check(self, group, ok, text):
        self.compared[group] = self.compared.get(group, 0) + 1
        if not ok:
            self.wrong += 1
            if self.wrong <= 50:
                print("DIFFERENT %s: %s" % (group, text))


# ---- exact arithmetic ----------------------------------------------------------------------------------------------

def exponent(v):
    """floor(log2(v)) of a positive Fraction."""
    e = v.numerator.bit_length() - v.denominator.bit_length()
    return e if v >= Fraction(2) ** e else e - 1


def rounded(v, bits):
    """v (Fraction) to `bits` significant bits, nearest, ties to even; no limits of the exponent."""
    if v == 0:
        return v
    unit = Fraction(2) ** (exponent(abs(v)) - bits + 1)
    return round(v / unit) * unit            # Python rounds a Fraction half to even


def root(v, bits):
    """The square root of v rounded to `bits` bits: sticky bit from the integer root's remainder."""
    if v == 0:
        return v
    shift = 2 * (bits + 4) + v.denominator.bit_length() + v.numerator.bit_length()
    shift += shift & 1
    scaled = v * Fraction(2) ** shift
    n = scaled.numerator // scaled.denominator
    r = math.isqrt(n)
    exact = r * r == n and scaled.denominator == 1
    return rounded((Fraction(r) if exact else Fraction(2 * r + 1, 2)) / Fraction(2) ** (shift // 2), bits)


def fr(v):
    return Fraction(float(v))


def exact_terms(x, z, W, K, mask):
    """4.4 to 4.7 for one block, in rationals with explicit roundings; Python integers for the transform."""
    def f32(v):
        return rounded(v, 24)

    thr, coefficients = [], []
    for v in (x, z):
        y = oracle.dct8x8([int(s) for s in v])
        coefficients.append(y)
        G, V = Fraction(0), [Fraction(0)] * 4
        mean = Fraction(sum(v), 64)
        means = [Fraction(sum(v[i] for i in range(64) if oracle.quadrant(i) == k), 16) for k in range(4)]
        for i, s in enumerate(v):
            G = f32(G + f32((s - mean) ** 2))
            k = oracle.quadrant(i)
            V[k] = f32(V[k] + f32((s - means[k]) ** 2))
        c63, c15 = f32(f32(Fraction(1, 63)) * 64), f32(f32(Fraction(1, 15)) * 16)
        G, V = f32(G * c63), [f32(q * c15) for q in V]
        ratio = f32(f32(f32(f32(V[0] + V[1]) + V[2]) + V[3]) / G) if G > 0 else G
        E = Fraction(0)
        for i in range(1, 64):
            E = f32(E + f32(f32(Fraction(y[i] * y[i])) * fr(K[i])))
        if mask == "f32":
            thr.append(root(f32(E * ratio), 24) / 32)        # a root to 53 and then 24 bits equals one to 24 bits
        else:
            thr.append(f32(rounded(root(rounded(E * ratio, 53), 53) / 32, 53)))
    T, terms = max(thr), []
    for i in range(64):
        err = Fraction(abs(coefficients[0][i] - coefficients[1][i]))
        if i:
            lim = f32(T / fr(K[i]))
            err = Fraction(0) if err < lim else f32(err - lim)
        g = f32(err * fr(W[i]))
        terms.append(f32(g * g))
    return terms


def check_exact(t):
    rnd = random.Random(2)

    def value():
        return F32(math.ldexp(rnd.randrange(1 << 23, 1 << 24), rnd.randrange(-40, 10)))

    for _ in range(4000):                    # one operation, one rounding
        a, b = value(), value()
        for name, got, want in (("add", a + b, fr(a) + fr(b)), ("sub", a - b, fr(a) - fr(b)), ("mul", a * b, fr(a) * fr(b)), ("div", a / b, fr(a) / fr(b))):
            t.check("f32 " + name, fr(got) == rounded(want, 24), (a, b))
        i = rnd.randrange(1 << 31)
        t.check("s32 to f32", fr(np.array([i], np.int32).astype(F32)[0]) == rounded(Fraction(i), 24), i)
    arrays = [np.array([value() for _ in range(1037)], F32) for _ in range(3)]
    fused = arrays[0] * arrays[1] + arrays[2]  # NumPy must not fuse across ufuncs
    for a, b, c, got in zip(*arrays, fused):
        t.check("f32 mul, add in arrays", fr(got) == rounded(rounded(fr(a) * fr(b), 24) + fr(c), 24), (a, b, c))

    for kind, bits in ((F32, 24), (F64, 53)):  # np.add.accumulate is sequential and rounds each step
        for stream in range(12):
            terms = np.array([0 if rnd.random() < 0.3 else math.ldexp(rnd.randrange(1 << 24), rnd.randrange(-30, -10)) for _ in range(600)], kind)
            if stream % 3 == 0:
                terms = np.sort(terms)[::-1].copy()     # large first: pairwise summation would give another value
            if stream % 3 == 1:
                terms[1:] = math.ldexp(1, 0 if kind is F32 else 1)
                terms[0] = math.ldexp(1, 24 if kind is F32 else 53)     # ties
            s = Fraction(0)
            for v in terms:
                s = rounded(s + fr(v), bits)
            cut = rnd.randrange(600)
            got = oracle.sequential_sum(oracle.sequential_sum(kind(0), terms[:cut]), terms[cut:])
            t.check("sequential sum " + kind.__name__, fr(got) == s, stream)

    differ = 0                               # thresholds: double rounding is the question here
    for n in range(12000):
        E, ratio = value(), value()
        if n % 4 == 0:                       # roots next to the middle of two f32
            m = Fraction(2 * rnd.randrange(1 << 23, 1 << 24) + 1) ** 2 / (1 << 26)
            ratio = F32(float(m / fr(E)))
        for mask in ("f32", "f64"):
            got = fr(oracle.threshold(np.array([E]), np.array([ratio]), mask)[0])
            if mask == "f32":
                single = root(rounded(fr(E) * fr(ratio), 24), 24) / 32
                t.check("f32 threshold, rounded once", got == single, (E, ratio))
            else:                            # 24 x 24 bits: the f64 product is exact, so the result is the exact root rounded once
                t.check("f64 threshold, rounded once", got == root(fr(E) * fr(ratio), 24) / 32, (E, ratio))
                differ += got != single
    t.check("f32 and f64 thresholds differ somewhere", differ > 100, differ)

    for table in ("Y", "Cb", "Cr"):          # the vectorised block code against exact scalar code
        for n, bits in enumerate((8, 8, 8, 10, 12, 11)):
            top = (1 << bits) - 1
            base, swing = rnd.randrange(top), (3, top // 8, top, top, top, top // 3)[n]
            blocks = []
            for _ in range(2):
                blocks.append([min(top, max(0, base + rnd.randint(-swing, swing))) for _ in range(64)])
            if n == 1:
                blocks[1] = [min(top, v + (i % 3)) for i, v in enumerate(blocks[0])]
            x, z = [[np.array([7, s, 0], np.int32) for s in b] for b in blocks]     # two other blocks beside it
            for mask in ("f32", "f64"):
                got = oracle.block_terms(x, z, oracle.WEIGHT[table], oracle.MASK[table], mask)[1]
                want = exact_terms(*blocks, oracle.WEIGHT[table], oracle.MASK[table], mask)
                for i in range(64):
                    t.check("block terms", fr(got[i]) == want[i], (table, n, mask, i))

    decimal.getcontext().prec = 60
    ten = decimal.Decimal(10)

    def db(v):
        """10 log10 of a Fraction to 60 digits."""
        return ten * (decimal.Decimal(v.numerator) / decimal.Decimal(v.denominator)).log10()

    def close(got, want, ulps):
        return abs(decimal.Decimal(got) - want) <= decimal.Decimal(ulps * math.ulp(got))

    for bits in (8, 9, 10, 12, 14, 16):      # whole formulas; the logarithm's own error included
        top = (1 << bits) - 1
        q = 1 << (bits - 8)
        for n in range(6):
            w, h = (37, 11) if n < 5 else (640, 480)
            ref = np.array([[rnd.randrange(top + 1) for _ in range(w)] for _ in range(h)], np.uint16)
            swing = (1, 4, top // 16, top // 2, top, 0)[n]
            noise = np.array([[rnd.randint(-swing, swing) for _ in range(w)] for _ in range(h)])
            dist = np.clip(ref.astype(int) + noise, 0, top).astype(np.uint16)
            if n == 5:
                dist[3, 5] ^= 1              # one sample, one step: at 16 bits this is below the floor of 1e-10
            D = [abs(int(a) - int(b)) for a, b in zip(ref.flat, dist.flat)]
            units = sum(int(rounded(Fraction(d * d), 24)) for d in D)
            exact = sum(d * d for d in D)
            if exact == 0:
                continue
            m = Fraction(units, q * q * w * h)
            t.check("exact SSE", oracle.sse(ref, dist, bits) == exact, (bits, n))
            want = db(Fraction(top, q) ** 2 / max(m, Fraction(1e-10)))
            got = oracle.float_psnr(ref, dist, bits, True)
            t.check("float_psnr, 60 digits", close(got, want, 3), (bits, n, got, want))
            t.check("float_psnr cap", oracle.float_psnr(ref, dist, bits) == min(got, 6 * bits + 12), (bits, n))
            if n == 5 and bits == 16:
                t.check("float_psnr floor", m < Fraction(1e-10), m)
            want = db(Fraction(top * top * w * h, exact))
            got = dict(oracle.Psnr(bits, uncapped=True).frame([ref], [dist]))["psnr_y"]
            t.check("psnr, 60 digits", close(got, want, 3), (bits, n, got, want))
            one = oracle.Psnr(bits, enable_apsnr=True)
            t.check("psnr cap", dict(one.frame([ref], [dist]))["psnr_y"] == min(got, 6 * bits + 12), (bits, n))


def check_exact_adm(t):
    rnd = random.Random(3)
    for n in range(4000):                    # 64-bit integers to f32 and f64 are rounded once, ties to even
        i = rnd.randrange(1 << rnd.randrange(1, 63))
        if n % 2:                            # next to the middle of two f32
            i = ((2 * rnd.randrange(1 << 23, 1 << 24) + 1) << 37) + rnd.randint(-1, 1)
        t.check("s64 to f32", fr(adm.to_f32(i)) == rounded(Fraction(i), 24), i)
        u = i if n % 3 else i + (1 << 63)
        t.check("u64 to f64", fr(np.array([u], np.uint64).astype(F64)[0]) == rounded(Fraction(u), 53), u)
        t.check("bit length", int(adm.bit_length(np.array([i % (1 << 31) + 1]))[0]) == (i % (1 << 31) + 1).bit_length(), i)
    for n in range(1000):                    # planes of decouple() against the formulas of section 5 in Python integers
        limit = (200, 23000, 2 ** 31 - 1, 70000)[n % 4]
        s, gain = (0 if limit < 32768 else 1), (100.0, 1.0, 1.2, 3.7)[n % 5 % 4]
        o, d = ([rnd.randint(-limit, limit) for _ in range(3)] for _ in range(2))
        if n % 3:
            d = [max(-limit, min(limit, v * rnd.randint(90, 130) // 100 + rnd.randint(-3, 3))) for v in o]
        got = adm.decouple([np.array([v], np.int64) for v in o], [np.array([v], np.int64) for v in d], gain, s)
        D, O, T = (rounded(Fraction(v), 24) for v in (o[0] * d[0] + o[1] * d[1], o[0] ** 2 + o[1] ** 2, d[0] ** 2 + d[1] ** 2))
        flag = D >= 0 and rounded(D * D, 53) >= rounded(rounded(fr(adm.COS2) * O, 53) * T, 53)
        for theta in range(3):
            a, b = o[theta], d[theta]
            k = 32768
            if a:
                m, e = abs(a), max(0, abs(a).bit_length() - 15)
                m = (m + (1 << (e - 1))) >> e if e else m
                k = max(0, min(32768, ((1 << 30) // m * b * (1 if a > 0 else -1) + (1 << (14 + e))) >> (15 + e)))
            r = (k * a + 16384) >> 15
            if flag and k > 0 and a > 0:
                r = math.trunc(min(rounded(r * Fraction(gain), 53), b))
            if flag and k > 0 and a < 0:
                r = math.trunc(max(rounded(r * Fraction(gain), 53), b))
            t.check("decoupling", (int(got[0][theta][0]), int(got[1][theta][0])) == (r, b - r), (o, d, gain, theta))

    decimal.getcontext().prec = 60
    for n in range(3000):                    # powf against 60 digits; the exponents of adm_p_norm
        x = F32(math.ldexp(rnd.randrange(1 << 23, 1 << 24), rnd.randrange(-60, 10)))
        p = F32(F64(1) / F64((3, 1, 1.5, 2, 20, 2.71828)[n % 6]))
        exact = decimal.Decimal(float(x)) ** decimal.Decimal(float(p))
        got = adm.powf(x, p)
        t.check("powf, 60 digits", abs(decimal.Decimal(float(got)) - exact) <= decimal.Decimal(float(np.spacing(got))), (x, p))


# ---- vectors.txt ---------------------------------------------------------------------------------------------------

def bits32(v):
    return "%08x" % int(np.array([v], F32).view(np.uint32)[0])


def vector_planes(w, h, fmt, bits):
    """The frame pair of the specification's section 8; chroma rounded down."""
    planes = []
    for p, (pw, ph) in enumerate(oracle.plane_sizes(w, h, fmt, "floor")):
        y, x = np.mgrid[0:ph, 0:pw].astype(np.int64)
        scale = 1 << (bits - 8)
        ref = ((3 * x * x + 5 * y * y + (p + 1) * x * y + 17 * p) % 251) * scale + (5 * x + 3 * y) % scale
        dist = np.clip(ref + ((7 * x + 11 * y + 3 * p) % 13 - 6) * scale + (x + y) % scale, 0, (1 << bits) - 1)
        planes.append((ref.astype(np.uint16), dist.astype(np.uint16)))
    return [p[0] for p in planes], [p[1] for p in planes]


def adm_vector_pair(name, w, h, bits):
    """Frame pair T1, T2 or T3 of the specification's section 15."""
    y, x = np.mgrid[0:h, 0:w].astype(np.int64)
    z = (374761393 * x + 668265263 * y) & 0xFFFFFFFF
    z = ((z ^ (z >> 13)) * 1274126177) & 0xFFFFFFFF
    z = z ^ (z >> 16)
    if name == "T1":
        ref = (5 * x + 3 * y + ((x * y) >> 3) + 37 * (((x >> 2) ^ (y >> 2)) & 1)) & 255
        dist = np.clip(ref + 6 * ((7 * x + 13 * y) % 11 - 5) + np.where(((x >> 3) ^ (y >> 3)) & 1, 25, -25), 0, 255)
    elif name == "T2":
        ref = z & 1023
        dist = (3 * ref + ((z >> 10) & 1023)) >> 2
    else:
        ramp = 20000 + 150 * x - 90 * y
        ref, dist = ramp + (z & 4095), ramp + ((z & 4095) >> 1) + ((z >> 12) & 511)
    return adm.Pair(ref.astype(np.uint16), dist.astype(np.uint16), bits)


def check_vectors(t, path):
    frames, pairs, scores = {}, {}, {}
    ref = [100 + 2 * (i % 8) + i // 8 for i in range(64)]
    dist = [v + (i % 8) * (i // 8) // 4 + (9 if i % 8 > 4 else 0) - (11 if i // 8 < 2 else 0) for i, v in enumerate(ref)]
    x, z = [[np.array([v], np.int32) for v in b] for b in (ref, dist)]
    details = {}
    terms = oracle.block_terms(x, z, oracle.WEIGHT["Y"], oracle.MASK["Y"], "f32", details)[0]
    samples = {"ref": ref, "dist": dist}
    S = oracle.sequential_sum(F32(0), terms)
    score = float(F32(F32(S / F32(64)) / F32(65025)))
    with open(path) as f:
        lines = [l.split() for l in f if l.strip() and not l.startswith("#")]
    for l in lines:
        kind, rest = l[0], l[1:]
        if kind == "table":
            table = (oracle.WEIGHT if rest[0][0] == "W" else oracle.MASK)[rest[0][2:]]
            t.check("tables", [bits32(v) for v in table] == rest[1:], rest[0])
        elif kind == "constant":
            t.check("constants", bits32({"c63": oracle.C63, "c15": oracle.C15}[rest[0]]) == rest[1], rest)
        elif kind == "dct8":
            v = [int(a) for a in rest]
            t.check("dct8", oracle.dct8(v[:8]) == v[8:], rest)
        elif kind == "dct8x8_constant":
            t.check("dct8x8", oracle.dct8x8([int(rest[0])] * 64) == [int(rest[1])] + [0] * 63, rest)
        elif kind == "dct8x8_row":
            a, b, m, u = (int(v) for v in rest[:4])
            got = oracle.dct8x8([(a * i + b) % m for i in range(64)])[8 * u:8 * u + 8]
            t.check("dct8x8", got == [int(v) for v in rest[4:]], rest)
        elif kind == "block" and rest[0] in samples:
            which, key, want = rest[0], rest[1], rest[2:]
            d = details[which]
            if key == "row0":
                ok = samples[which][:8] == [int(v) for v in want]
            elif key == "coefficients":
                ok = [int(c[0]) for c in d["coef"]] == [int(v) for v in want]
            else:
                name = {"quadrant_means": "means", "scaled_G": "G"}.get(key, key)
                got = d[name] if isinstance(d[name], list) else [d[name]]
                ok = [float(g[0]) for g in got] == [float.fromhex(v) for v in want]
            t.check("block", ok, rest)
        elif kind == "block" and rest[0] == "terms":
            t.check("block", [bits32(v) for v in terms] == rest[1:], "terms")
        elif kind == "block":
            got = {"sum": float(S), "score": score, "decibel": oracle.decibel(score)}[rest[0]]
            t.check("block", got == float.fromhex(rest[1]), rest)
        elif kind == "frame":
            key = tuple(int(v) for v in rest[:4])
            if key not in frames:
                r, d = vector_planes(*key)
                got = frames[key] = {}
                for metric, options in (("float_psnr", ""), ("psnr", "enable_mse=1|enable_apsnr=1"), ("psnr_hvs", "")):
                    if metric != "psnr_hvs" or (key[3] <= 12 and key[2] != 400):
                        for _, feature, v in oracle.evaluate(metric, oracle.parse_options(options), [(r, d)], key[3]):
                            got[feature] = oracle.c_hex(v)
            t.check("frame vectors", frames[key].get(rest[4]) == rest[5], rest)
        elif kind == "adm_weight":
            mode, view_dist, height, scale, diag, s = int(rest[0]), float(rest[1]), int(rest[2]), float(rest[3]), float(rest[4]), int(rest[5])
            f = adm.weights(s, mode, view_dist, height, scale, diag)
            q = adm.fixed_weights(s, mode, view_dist, height, *f)
            t.check("adm weights", [oracle.c_hex(v) for v in f] + [str(q[0]), str(q[2])] == rest[6:] and q[0] == q[1], rest)
        elif kind == "adm_frame":
            pairs[rest[0]] = p = adm_vector_pair(rest[0], *(int(v) for v in rest[1:4]))
            t.check("adm frames", [str(int(np.sum(v, dtype=np.int64))) for v in (p.ref, p.dist)] == rest[4:], rest)
        elif kind in ("adm_words", "adm_score"):
            options = dict(oracle.parse_options("" if rest[1] == "-" else rest[1]), debug="1")
            if kind == "adm_words":
                words = adm.accumulators(pairs[rest[0]], adm.read_options(options))[int(rest[2])]
                t.check("adm accumulators", [str(v) for part in words for v in part] == rest[3:], rest)
            else:
                if (rest[0], rest[1]) not in scores:
                    scores[rest[0], rest[1]] = {adm.libvmaf_name(f, options): oracle.c_hex(v) for f, v in adm.frame(pairs[rest[0]], options)}
                t.check("adm scores", scores[rest[0], rest[1]].get(rest[2]) == rest[3], rest)
        else:
            t.check("vectors.txt", kind.startswith(("vif_", "motion_")), "unknown line: " + " ".join(l))


# ---- golden folders ------------------------------------------------------------------------------------------------

def read_jobs(path):
    jobs = []
    with open(path) as f:
        for line in f:
            if not line.startswith("#"):
                job, sets, request = line.rstrip("\n").split("\t")
                words = request.split()
                if job in JOBS or words[:2] == ["feature", "adm"]:
                    assert words[0] == "feature"
                    jobs.append((job, sets.split(","), words[1], "|".join(words[2:])))
    return jobs


def pools(values):
    low = high = values[0]
    total = inverse = 0.0
    for v in values:
        low, high = (v if v < low else low), (v if v > high else high)
        total += v
        inverse += oracle.divide(1.0, v + 1.0)
    return {"min": low, "max": high, "mean": total / len(values), "harmonic_mean": oracle.divide(float(len(values)), inverse) - 1.0}


def rename(metric, options):
    """From the library's names to those in the golden rows."""
    if metric != "adm":
        return lambda feature: feature
    end = adm.suffix(adm.read_options(options))
    return lambda feature: "integer_" + feature + end


def adm_excluded(c, options, feature, row):
    """Why a value of adm is not compared; None: it is. `feature`: name in the library."""
    if row.get("unstable"):
        return "unstable"
    if min(c["width"], c["height"]) <= 32 and (feature in ("adm2", "aim", "adm3", "adm", "adm_num", "adm_den") or feature.endswith("scale3")):
        return "a side of 17 to 32 (11.2)"
    if c["name"] == "flat_576x324" and options.get("adm_noise_weight") == "0" and feature == "aim":
        return "aim of a total of 0 (9.3)"
    return None


def check_golden(t, folder, inputs, max_pixels, metrics):
    jobs, count, left_out = read_jobs(os.path.join(folder, "jobs.tsv")), 0, {}
    table = os.path.join(folder, "cases.tsv")
    for c in read_cases(table):
        if c["width"] * c["height"] > max_pixels or (c["ref"].startswith("file:") and not inputs.ffmpeg):
            continue
        path = os.path.join(folder, "golden", c["name"] + ".jsonl")
        with (open(path) if os.path.exists(path) else gzip.open(path + ".gz", "rt")) as f:
            rows = [json.loads(l) for l in f]
        files = inputs.make(table, c)
        count += 1

        def frames(limit):
            return oracle.pair_files(files[0], files[1], c["width"], c["height"], c["format"], c["bits"], "floor", limit)

        pairs = []
        if min(c["width"], c["height"]) >= 17 and "adm" in metrics:
            pairs = [adm.Pair(r[0], d[0], c["bits"]) for r, d in frames(None)]
        results = {}
        for pair in pairs:                   # frame by frame, so that the planes of one frame are held at a time
            for job, sets, metric, options in jobs:
                if metric == "adm" and c["jobset"] in sets:
                    results.setdefault(job, []).append(adm.frame(pair, oracle.parse_options(options)))
            pair.forget()
        for job, sets, metric, options in jobs:
            if c["jobset"] not in sets or metric not in metrics:
                continue
            group = "golden " + job
            options = oracle.parse_options(options)
            mine = [r for r in rows if r["job"] == job]
            if len(mine) == 1 and "error" in mine[0]:
                refused = metric == "psnr_hvs" and (c["bits"] > 12 or c["format"] == 400) or metric == "adm" and not pairs
                t.check(group + " (error)", refused, c["name"])
                continue
            name = rename(metric, options)
            if metric == "adm":
                limit = mine[0].get("frames")
                values = [(n, f, float(v)) for n, of_frame in enumerate(results[job][:limit]) for f, v in of_frame]
            else:
                values = oracle.evaluate(metric, options, frames(mine[0].get("frames")), c["bits"])
            want = {(r.get("frame"), r.get("pool"), r["feature"]): re.sub("^-nan$", "nan", r["hex"]) for r in mine}
            got, series, excluded = {}, {}, {}
            for n, feature, v in values:
                got[n, None, name(feature)] = oracle.c_hex(v)
                if n is not None:
                    series.setdefault(name(feature), []).append(v)
                for r in mine if metric == "adm" else ():
                    if r["feature"] == name(feature):
                        reason = adm_excluded(c, options, feature, r)
                        if reason:
                            excluded[r.get("frame"), r.get("pool"), r["feature"]] = reason
            if any(k[1] for k in want):      # pools were recorded for the core jobs only
                for feature, values in series.items():
                    for pool, v in pools(values).items():
                        got[None, pool, feature] = oracle.c_hex(v)
            t.check(group + " (set of values)", got.keys() == want.keys(), (c["name"], got.keys() ^ want.keys()))
            for k in want:
                if k in excluded:
                    left_out[excluded[k]] = left_out.get(excluded[k], 0) + 1
                    continue
                t.check(group, got.get(k) == want[k], (c["name"],) + k + (want[k], got.get(k)))
        inputs.remove(files)
    print("%s: %d cases" % (folder, count))
    for reason, n in left_out.items():
        print("%8d  adm, not compared: %s" % (n, reason))


def main(argv):
    flags = dict(a[2:].partition("=")[::2] for a in argv if a.startswith("--"))
    if set(flags) - {"gen", "max-pixels", "metrics", "ffmpeg"}:
        sys.exit(__doc__)
    metrics = flags.get("metrics", "float_psnr,psnr,psnr_hvs,adm").split(",")
    t = Tally()
    check_exact(t)
    check_exact_adm(t)
    check_vectors(t, os.path.join(GOLDEN, "vectors.txt"))
    inputs = Inputs(flags.get("gen"), flags.get("ffmpeg"))
    for folder in [a for a in argv if not a.startswith("--")] or [GOLDEN]:
        check_golden(t, folder, inputs, int(flags.get("max-pixels", 1000000)), metrics)
    for group, n in t.compared.items():
        print("%8d  %s" % (n, group))
    print("%d comparisons, %d different" % (sum(t.compared.values()), t.wrong))
    return 1 if t.wrong or not t.compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
