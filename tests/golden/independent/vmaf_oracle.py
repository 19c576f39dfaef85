#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Independent implementation of VMAF's prediction: model file, support vector machine, transform, clip, bootstrap.

Written from the specification only (section numbers below are its), to be compared with the library bit for bit
(check_vmaf.py). Plain Python: a float is a binary64, every operation rounds once, float() rounds decimals correctly, and
math.exp is the C library's, which the specification names. Chroma correction (4) is left out.

usage: vmaf_oracle.py MODEL.json [--disable-clip] [--enable-transform] [--disable-transform] < VECTORS

VECTORS: a line a frame, the features in the model's order, each 16 hexadecimal digits, the bits of a double. One line of
scores for each, the same way: the model's, and of a collection those of the ensemble, bagging, stddev, ci_p95_lo, ci_p95_hi.
"""
import ctypes
import json
import math
import struct
import sys

_strtof = ctypes.CDLL(None).strtof
_strtof.restype, _strtof.argtypes = ctypes.c_float, (ctypes.c_char_p, ctypes.c_void_p)

FLAGS = ("disable-clip", "enable-transform", "disable-transform")


class Number(float):
    """A number of the JSON text, which knows how it was written."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def option_text(value):
    """Section 1: the text of an option's value."""
    if value is True or value is False:
        return "true" if value else "false"
    return "%g" % _strtof(value.text.encode(), None) if isinstance(value, Number) else value


class Svm:
    """Section 2."""

    def __init__(self, text, dimensions):
        lines = iter(text.split("\n"))
        header = {}
        for line in lines:
            words = line.split()
            if words == ["SV"]:
                break
            header[words[0]] = words[1]
        assert header["svm_type"] == "nu_svr" and header["kernel_type"] == "rbf" and header["nr_class"] == "2"
        self.gamma, self.rho = float(header["gamma"]), float(header["rho"])
        self.vectors = []
        for line in lines:
            words = line.split()
            if not words:
                continue
            values = {int(i): float(v) for i, v in (word.split(":") for word in words[1:])}
            self.vectors.append((float(words[0]), [values.get(i) for i in range(1, dimensions + 1)]))
        assert len(self.vectors) == int(header["total_sv"])

    def predict(self, x):
        """Section 5."""
        total = 0.0
        for coefficient, vector in self.vectors:
            d2 = 0.0
            for xi, vi in zip(x, vector):
                d2 = d2 + (xi * xi if vi is None else (xi - vi) * (xi - vi))
            total = total + coefficient * math.exp((-self.gamma) * d2)
        return total - self.rho


class Single:
    """One model of a file."""

    def __init__(self, file, flags):
        model = file["model_dict"]
        assert model["model_type"] in ("LIBSVMNUSVR", "BOOTSTRAP_LIBSVMNUSVR", "RESIDUEBOOTSTRAP_LIBSVMNUSVR")
        self.features = model["feature_names"]
        self.options = [{k: option_text(v) for k, v in o.items()} for o in model.get("feature_opts_dicts", [{}] * len(self.features))]
        self.rescale = {"linear_rescale": True, "none": False}[model["norm_type"]]
        if self.rescale:
            self.slopes, self.intercepts = list(map(float, model["slopes"])), list(map(float, model["intercepts"]))
        self.svm = Svm(model["model"], len(self.features))
        self.clip = None if "disable-clip" in flags else model.get("score_clip")
        self.transform = model.get("score_transform")
        if self.transform and ("disable-transform" in flags or not (self.transform.get("enabled") or "enable-transform" in flags)):
            self.transform = None

    def raw(self, features):
        """Sections 3 and 5, up to denormalisation."""
        if not self.rescale:
            return self.svm.predict(features)
        x = [self.slopes[i + 1] * f + self.intercepts[i + 1] for i, f in enumerate(features)]
        return (self.svm.predict(x) - self.intercepts[0]) / self.slopes[0]

    def mapped(self, score):
        """Section 5: score_transform."""
        t = self.transform
        p0, p1, p2 = (t.get(k) for k in ("p0", "p1", "p2"))
        out = score
        if p0 is not None or p1 is not None or p2 is not None:
            out = 0.0
            if p0 is not None:
                out = out + p0
            if p1 is not None:
                out = out + p1 * score
            if p2 is not None:
                out = out + (p2 * score) * score
        knots = t.get("knots")
        if knots:
            segments = list(zip(knots, knots[1:]))
            (xa, ya), (xb, yb) = [s for i, s in enumerate(segments) if i == 0 or out >= s[0][0]][-1]
            if ya == yb:
                out = float(ya)
            elif xa == 0:
                out = ((yb - ya) / xb) * out + ya
            else:
                slope = (yb - ya) / (xb - xa)
                out = slope * out + (ya - xa * slope)
        if t.get("out_lte_in") == "true" and out > score:
            out = score
        if t.get("out_gte_in") == "true" and out < score:
            out = score
        return out

    def finish(self, score):
        if self.transform:
            score = self.mapped(score)
        if self.clip:
            low, high = self.clip
            score = low if score < low else score
            score = high if score > high else score
        return float(score)


class Model:
    """A file: one model, or a collection (8)."""

    def __init__(self, path, flags=()):
        with open(path, encoding="utf-8") as file:
            tree = json.load(file, parse_float=Number, parse_int=Number)
        self.singles = [Single(tree, flags)] if "model_dict" in tree else [Single(m, flags) for m in tree.values()]
        self.features, self.options = self.singles[0].features, self.singles[0].options

    def predict(self, features):
        scores = [self.singles[0].finish(self.singles[0].raw(features))]
        ensemble = self.singles[1:]
        if not ensemble:
            return scores
        s = [single.raw(features) for single in ensemble]
        scores += [single.finish(raw) for single, raw in zip(ensemble, s)]
        m = len(s)
        mean = 0.0
        for v in s:
            mean = mean + v
        mean = mean / m
        ssd = 0.0
        for v in s:
            ssd = ssd + (v - mean) * (v - mean)
        sd = math.sqrt(ssd / m)
        s.sort()

        def pct(p):
            t = p * (m - 1) / 100
            low, high = math.floor(t), math.ceil(t)
            return s[low] if low == high else s[low] * (high - t) + s[high] * (t - low)

        finish = ensemble[0].finish
        plus, minus = finish(mean + 0.01), finish(mean - 0.01)
        return scores + [finish(mean), sd * ((plus - minus) / (2.0 * 0.01)), finish(pct(2.5)), finish(pct(97.5))]


def from_bits(text):
    return struct.unpack(">d", bytes.fromhex(text))[0]


def to_bits(value):
    return struct.pack(">d", value).hex()


def main():
    flags = [a[2:] for a in sys.argv[1:] if a.startswith("--")]
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(paths) != 1 or not set(flags) <= set(FLAGS):
        sys.exit(__doc__)
    model = Model(paths[0], flags)
    for line in sys.stdin:
        print(" ".join(map(to_bits, model.predict([from_bits(word) for word in line.split()]))))


if __name__ == "__main__":
    main()
