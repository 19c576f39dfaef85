#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares vif_oracle.py with section 5 of spec/vif-motion.md and with golden values, for equality of doubles.

usage: check_vif_oracle.py SHARED GEN vectors | CASE...

SHARED: the folder with spec/ and golden/. GEN: the built golden/gen.cpp. Clips need ffmpeg.
"""
import collections
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import vif_oracle

count, bad = collections.Counter(), []


def same(what, where, got, expected):
    """Equality in bits, -0 and 0 told apart."""
    count[what] += 1
    if got is None or float(got).hex() != float(expected).hex():
        bad.append("%s %s: %s instead of %s" % (what, where, got if got is None else float(got).hex(), float(expected).hex()))


# ---- section 5 and the table checks of 1.3 -------------------------------------------------------------------------

def picture(w, h, bits, t):
    y, x = np.mgrid[0:h, 0:w].astype(np.int64)
    ref = ((3 * x * x + 5 * y * y + 7 * x * y + 29 * t * (x + 2 * y)) >> 3) & ((1 << bits) - 1)
    right = ref[:, list(range(1, w)) + [w - 1]]
    return ref, (3 * ref + right) >> 2


def vectors(shared):
    fnv = 0xcbf29ce484222325
    for byte in vif_oracle.TABLE[32768:].astype("<u2").tobytes():
        fnv = ((fnv ^ byte) * 0x100000001b3) & (2 ** 64 - 1)
    same("table", "FNV", fnv == 0xd6509fd850265c09, True)
    for i, value in ((32768, 30720), (40000, 31309), (46341, 31744), (50000, 31969), (60000, 32507), (65535, 32768)):
        same("table", i, vif_oracle.TABLE[i], value)

    text = open(os.path.join(shared, "spec/vif-motion.md")).read().split("## 5.")[1].split("```")[1]
    unread = 0
    for line in text.strip().splitlines():
        header = re.fullmatch(r"(\d+)x(\d+), (\d+) bits", line)
        if header:
            w, h, bits = (int(v) for v in header.groups())
            refs = [picture(w, h, bits, t)[0] for t in range(5)]
            size = line
            continue
        line = line.strip()
        head, _, tail = line.partition(": ")
        if head.startswith("frame"):
            t = int(head.split()[1])
            scores = vif_oracle.vif(*picture(w, h, bits, t), bits)
            for s, a, b, c in re.findall(r"s(\d) num=(\S+) den=(\S+) score=([^\s;]+)", tail):
                for name, hexa in (("vif_num_scale", a), ("vif_den_scale", b), ("vif_scale", c)):
                    same("vector vif", (size, t, name + s), scores[name + s], float.fromhex(hexa))
            same("vector vif", (size, t, "vif"), scores["vif"], float.fromhex(tail.split("vif=")[1]))
        elif head == "egl=1.0 num":
            limited = vif_oracle.vif(*picture(w, h, bits, t), bits, 1.0)
            for s, hexa in enumerate(tail.split()):
                same("vector vif egl", (size, t, s), limited["vif_num_scale%d" % s], float.fromhex(hexa))
                same("vector vif egl den", (size, t, s), limited["vif_den_scale%d" % s], scores["vif_den_scale%d" % s])
        elif head == "accum s0":
            for name, value in re.findall(r"(\w+)=(\d+)", tail):
                same("vector accumulator", (size, t, name), scores["accumulators"][0][name], int(value))
        elif head.startswith("VMAF_integer_feature_motion") or head.startswith("integer_motion"):
            options = dict(five_frame_window=True, max_val=18.0, moving_average=True) if "mffw" in head else {}
            name = re.search(r"(motion_sad|motion2|motion3)", head).group(1)
            for i, (frame, hexa) in enumerate(zip(vif_oracle.motion(refs, bits, **options), tail.split())):
                same("vector motion", (size, head, i), frame[name], float.fromhex(hexa))
        elif line.startswith("sad(1,0)="):
            same("vector sad", size, vif_oracle.energy(refs[0], refs[1], bits), int(line.split("=")[1]))
        else:
            unread += 1
    assert not unread


# ---- golden values -------------------------------------------------------------------------------------------------

def pooled(values):
    """The pools of a sequence."""
    total, inverse = 0.0, 0.0
    for v in values:
        total, inverse = total + v, inverse + 1.0 / (v + 1.0)
    n = len(values)
    return {"min": min(values), "max": max(values), "mean": total / n, "harmonic_mean": n / inverse - 1.0}


def raw(dev, gen, name, side, source, folder):
    path = os.path.join(folder, "%s.%s.yuv" % (name, side))
    if source.startswith("file:"):
        subprocess.run(["ffmpeg", "-v", "error", "-i", os.path.join(dev, source[5:]), "-map", "0:v:0", "-fps_mode", "passthrough",
                        "-threads", "1", "-f", "rawvideo", path], check=True)
    elif not os.path.exists(path):
        subprocess.run([gen, os.path.join(dev, "cases.tsv"), name, folder], check=True, stdout=subprocess.DEVNULL)
    return path


def planes(path, md5, w, h, fmt, bits, frames):
    data = open(path, "rb").read()
    assert hashlib.md5(data).hexdigest() == md5, path
    cw, ch = {"420": ((w + 1) // 2, (h + 1) // 2), "422": ((w + 1) // 2, h), "444": (w, h), "400": (0, 0)}[fmt]
    samples = np.frombuffer(data, np.uint8 if bits == 8 else "<u2").reshape(frames, w * h + 2 * cw * ch)
    return [s[:w * h].reshape(h, w) for s in samples]


def evaluate(request, ref, dist, bits):
    """{feature without prefix and suffix: [value of each frame]}"""
    words = request.split()
    assert words[0] == "feature"
    prefix = {"vif": "vif_", "motion": "motion_"}[words[1]]
    options = {}
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key != "debug":
            key = {"vif_enhn_gain_limit": "vif_gain_limit"}.get(key, key)
            assert key.startswith(prefix)
            options[key[len(prefix):]] = True if value == "true" else float("%g" % np.float32(value))
    debug = "debug=true" in words
    out = collections.defaultdict(list)
    if words[1] == "vif":
        frames = [vif_oracle.vif(r, d, bits, **options) for r, d in zip(ref, dist)]
    else:
        frames = [dict(f, motion=f["motion_sad"]) for f in vif_oracle.motion(ref, bits, **options)]
    for f in frames:
        for name, value in f.items():
            if name != "accumulators" and (debug or re.fullmatch(r"vif_scale\d|motion_sad|motion2|motion3", name)):
                out[name].append(value)
    return out


def golden(shared, gen, name):
    dev = os.path.join(shared, "golden/dev")
    case = next(v for v in (line.rstrip("\n").split("\t") for line in open(os.path.join(dev, "cases.tsv"))) if v[0] == name)
    w, h, bits, frames = int(case[1]), int(case[2]), int(case[4]), int(case[5])
    jobs = {v[0]: v for v in (line.rstrip("\n").split("\t") for line in open(os.path.join(dev, "jobs.tsv"))) if len(v) > 2}
    jobs = {k: v[2] for k, v in jobs.items() if re.match(r"(vif|motion)(_|$)", k) and case[10] in v[1].split(",")}
    with tempfile.TemporaryDirectory() as folder:
        ref, dist = (planes(raw(dev, gen, name, side, case[6 + i], folder), case[8 + i], w, h, case[3], bits, frames)
                     for i, side in enumerate(("ref", "dist")))
    rows = collections.defaultdict(list)
    for line in gzip.open(os.path.join(dev, "golden", name + ".jsonl.gz"), "rt"):
        row = json.loads(line)
        if row["job"] in jobs:
            rows[row["job"]].append(row)
    assert set(rows) == set(jobs), (name, set(jobs) ^ set(rows))
    for job, request in jobs.items():
        seen, shortened = set(), {row.get("frames", frames) for row in rows[job]}
        assert len(shortened) == 1
        n = shortened.pop()
        got = evaluate(request, ref[:n], dist[:n], bits)
        for row in rows[job]:
            if row.get("unstable") or "error" in row or "aggregate" in row:
                count["not compared"] += 1
                continue
            feature = re.match(r"(?:VMAF_integer_feature|integer)_(vif(?:_(?:num|den))?(?:_scale\d)?|motion_sad|motion[23]?)(?=_|$)", row["feature"]).group(1)
            values = got.get(feature)
            expected = float.fromhex(row["hex"])
            if "pool" in row:
                same("golden %s pools" % job, (name, row["pool"], feature), values and pooled(values)[row["pool"]], expected)
            else:
                seen.add((feature, row["frame"]))
                same("golden " + job, (name, row["frame"], feature), values and values[row["frame"]], expected)
        missing = {(f, i) for f, v in got.items() for i in range(len(v))} - seen
        if missing:
            bad.append("%s %s: no golden value of %s" % (name, job, sorted(missing)))


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    for name in argv[2:]:
        before = sum(count.values()), len(bad)
        vectors(argv[0]) if name == "vectors" else golden(argv[0], argv[1], name)
        print("%s: %d compared, %d bad" % (name, sum(count.values()) - before[0], len(bad) - before[1]), flush=True)
    for what, n in sorted(count.items()):
        print("  %-32s %d" % (what, n))
    print("%d compared, %d bad" % (sum(count.values()), len(bad)))
    print("\n".join(bad[:40]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
