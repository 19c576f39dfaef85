#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the library's VMAF predictions with vmaf_oracle.py, bit for bit, and the oracle with the specification's vectors.

usage: check_vmaf.py VMAF_PREDICT FOLDER ...

VMAF_PREDICT is the program of ../vmaf_predict.cpp; every model of v0.6 or of this project in the folders is compared on VECTORS
random feature vectors, with and without transform, and on a tenth of them with other flags. Exit status 1 if anything differs.
"""
import pathlib
import random
import subprocess
import sys

from vmaf_oracle import Model, from_bits, to_bits

VECTORS = 2000
FLAGS = {(): VECTORS, ("enable-transform",): VECTORS, ("disable-clip",): VECTORS // 10, ("disable-clip", "enable-transform"): VECTORS // 10, ("disable-transform",): VECTORS // 10}

P, Q, R = (0.95, 5, 0.6, 0.9, 0.95, 0.97), (0.7, 0.5, 0.25, 0.5, 0.625, 0.75), (1, 20, 1, 1, 1, 1)

# Section 9: model, flags, which score, of P, Q and R.
SPECIFIED = [
    ("vmaf_v0.6.1", (), 0, "0x1.606a74e6a949ep+6", "0x1.165b9467d2cbep+4", "100"),
    ("vmaf_v0.6.1", ("disable-clip",), 0, "0x1.606a74e6a949ep+6", "0x1.165b9467d2cbep+4", "0x1.e3392cda69a57p+6"),
    ("vmaf_v0.6.1", ("enable-transform",), 0, "0x1.8c426c44c825ep+6", "0x1.d9b83f0eebf29p+4", "100"),
    ("vmaf_4k_v0.6.1", (), 0, "0x1.6d6319c3b67dbp+6", "0x1.4210f92bf9a54p+5", "100"),
    ("vmaf_4k_v0.6.1", ("disable-clip",), 0, "0x1.6d6319c3b67dbp+6", "0x1.4210f92bf9a54p+5", "0x1.c700681e4444cp+6"),
    ("vmaf_b_v0.6.3", (), 0, "0x1.5c0398d60456dp+6", "0x1.1c3bc350a01cap+4", "100"),
    ("vmaf_b_v0.6.3", (), -4, "0x1.5a2d8fc11766p+6", "0x1.147c7abe6f33cp+4", "100"),
    ("vmaf_b_v0.6.3", (), -3, "0x1.e70597ee9e01bp+0", "0x1.bbf3696dc0a77p+1", "0"),
    ("vmaf_b_v0.6.3", (), -2, "0x1.4903c88735728p+6", "0x1.64bfa107ef14ep+3", "100"),
    ("vmaf_b_v0.6.3", (), -1, "0x1.65b456197fcffp+6", "0x1.72e270ee11758p+4", "100"),
]


def number(text):
    return float.fromhex(text) if text.startswith("0x") else float(text)


def random_vector(features, rand):
    """Mostly values as videos have them; others are extreme."""
    vector = []
    for name in features:
        kind = rand.random()
        usual = rand.uniform(0, 30) if "motion" in name else rand.random() ** 0.5
        vector.append(usual if kind < 0.9 else rand.choice((0.0, -0.0, 1.0, 5e-324, 1e-9, 2.0, -1.0, 100.0, 1e5, usual * 10)))
    return vector


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, folders = sys.argv[1], map(pathlib.Path, sys.argv[2:])
    paths = {path.stem: path for folder in folders for path in sorted(folder.glob("*.json")) if not path.name.startswith("vmaf_v1")}
    wrong = vectors = compared = 0
    for name, flags, score, *expected in SPECIFIED:
        if name in paths:
            values = [Model(paths[name], flags).predict(v)[score] for v in (P, Q, R)]
            vectors += 3
            if values != list(map(number, expected)):
                wrong += 1
                print(f"oracle, {name} {flags}, score {score}: {values}, not {expected}")
    for name, path in paths.items():
        for flags, count in FLAGS.items():
            model, rand = Model(path, flags), random.Random(f"{name} {flags}")
            frames = [random_vector(model.features, rand) for _ in range(count)]
            text = "".join(" ".join(map(to_bits, frame)) + "\n" for frame in frames)
            lines = subprocess.run([program, path, *("--" + flag for flag in flags)], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            assert len(lines) == len(frames)
            for frame, line in zip(frames, lines):
                expected, actual = " ".join(map(to_bits, model.predict(frame))), line
                compared += len(line.split())
                if expected != actual:
                    wrong += 1
                    if wrong < 20:
                        print(f"{name} {flags} {frame}: {list(map(from_bits, actual.split()))}, not {list(map(from_bits, expected.split()))}")
    print(f"{len(paths)} models, {vectors} of the specification's values, {compared} scores compared, {wrong} wrong")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
