#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes ../oracle.jsonl from ../oracle_cases.tsv: values of psnr_oracle.py and adm_oracle.py for options and depths without golden values.

usage: make_oracle.py [--check] [--gen=PATH] [--update-md5]

--check       compares with the committed file instead of writing it; exit status 1 if they differ
--gen         the built generator; without it ../gen.cpp is compiled with $CXX or c++
--update-md5  fills the md5 columns of oracle_cases.tsv (after adding a case)

It also asserts that the cases test what they are there for (an option that changes nothing would test nothing).
"""
import json
import math
import os
import sys

import numpy as np

import adm_oracle as adm
import psnr_oracle as oracle
from inputs import COLUMNS, GOLDEN, Inputs, md5, read_cases

TABLE = os.path.join(GOLDEN, "oracle_cases.tsv")
FILE = os.path.join(GOLDEN, "oracle.jsonl")

PSNR = [("float_psnr", ""), ("float_psnr", "uncapped=1"),
        ("psnr", "enable_mse=1|enable_apsnr=1"), ("psnr", "uncapped=1"), ("psnr", "enable_chroma=0|uncapped=1"),
        ("psnr", "reduced_hbd_peak=1"), ("psnr", "min_sse=0.5"), ("psnr", "min_sse=0.5|uncapped=1")]
HVS = [("psnr_hvs", ""), ("psnr_hvs", "enable_chroma=0"), ("psnr_hvs", "psnr_hvs_mask=f64"),
       ("psnr_hvs", "psnr_hvs_mask=f64|enable_chroma=0")]

ADM_V1 = "debug=1|adm_dlm_weight=0.7|adm_enhn_gain_limit=1|adm_noise_weight=0.02|adm_min_val=0.5|adm_csf_mode=2"
ADM = [("adm", o) for o in ("debug=1", ADM_V1, "adm_enhn_gain_limit=2.5|adm_skip_scale0=1")]
ADM_SMALL = [("adm", o) for o in ("debug=1", ADM_V1, "debug=1|adm_skip_aim=1|adm_enhn_gain_limit=1.2", "debug=1|adm_skip_scale0=1|adm_p_norm=2")]
ADM_EXTREME = [("adm", o) for o in ("debug=1", "debug=1|adm_enhn_gain_limit=1", "debug=1|adm_csf_mode=1",
                                    "debug=1|adm_csf_mode=1|adm_csf_scale=0.0257|adm_csf_diag_scale=0.0064")]  # nearly the largest weights
ADM_ZERO = [("adm", o) for o in ("debug=1", "debug=1|adm_noise_weight=0", "debug=1|adm_noise_weight=0|adm_dlm_weight=0.3",
                                 "adm_noise_weight=0|adm_skip_aim=1", "debug=1|adm_noise_weight=0|adm_skip_scale0=1|adm_p_norm=20")]
# libvmaf has no adm_p_norm; the other sets are those that its golden values leave out.
ADM_OPTIONS = [("adm", o) for o in (
    "", "debug=1",
    "debug=1|adm_p_norm=1", "debug=1|adm_p_norm=1.5", "debug=1|adm_p_norm=2", "debug=1|adm_p_norm=20", "adm_p_norm=3", "adm_p_norm=2.7182818",
    ADM_V1 + "|adm_p_norm=1.5|adm_skip_scale0=1",
    "debug=1|adm_csf_mode=3|adm_norm_view_dist=5|adm_ref_display_height=720", "debug=1|adm_csf_mode=3|adm_norm_view_dist=3|adm_ref_display_height=2160",
    "debug=1|adm_csf_mode=2|adm_norm_view_dist=5|adm_ref_display_height=720", "adm_csf_mode=2|adm_norm_view_dist=5|adm_ref_display_height=2160",
    "adm_csf_mode=3|adm_norm_view_dist=5|adm_ref_display_height=2160", "adm_csf_mode=3|adm_norm_view_dist=1.5|adm_ref_display_height=2160",
    "debug=1|adm_norm_view_dist=24|adm_ref_display_height=4320", "adm_norm_view_dist=0.75|adm_ref_display_height=4320",
    "debug=1|adm_norm_view_dist=1|adm_ref_display_height=4320",
    "debug=1|adm_enhn_gain_limit=1.2", "debug=1|adm_enhn_gain_limit=2.5", "debug=1|adm_enhn_gain_limit=3.7", "adm_enhn_gain_limit=2",
    "debug=1|adm_csf_mode=1|adm_csf_scale=0.0005|adm_csf_diag_scale=0.001", "adm_csf_mode=1|adm_csf_scale=0.001|adm_csf_diag_scale=0.0005|adm_norm_view_dist=5",
    "debug=1|adm_csf_mode=1|adm_csf_scale=0|adm_csf_diag_scale=0.001",
    "debug=1|adm_skip_aim=1|adm_dlm_weight=0.3", "debug=1|adm_skip_aim=1|adm_skip_scale0=1",
    "adm_dlm_weight=0", "adm_dlm_weight=0.123456789", "adm_min_val=0.97",
    "debug=1|adm_noise_weight=0", "debug=1|adm_noise_weight=1500", "adm_noise_weight=.01234567")]

# jobset -> what is computed. "mask": f32 and f64 masking thresholds must give different scores in the case. "uncapped",
# "floor": frames equal, above the cap, below the floor of 1e-10. "combined": the order of the operations that join the
# three planes must show in the result. "adm_options": every set of options must change a score in one of the cases. "adm_zero": the
# denominator is 0 without noise. "adm_extreme": the centre value of a mask at scale 0 wraps. "adm_small": a side below 33.
JOBSETS = {"psnr": PSNR, "floor": PSNR, "uncapped": PSNR, "mask": HVS, "combined": HVS, "all": PSNR + HVS,
           "adm": ADM, "adm_small": ADM_SMALL, "adm_extreme": ADM_EXTREME, "adm_zero": ADM_ZERO, "adm_options": ADM_OPTIONS}


def require(condition, case, what):
    if not condition:
        sys.exit("%s: %s" % (case["name"], what))


def check_purpose(case, values, scores):
    """values: {(metric, options, frame, feature): value}; scores: the plane scores of frame 0 for "combined"."""
    def by(metric, options, feature):
        return [v for (m, o, n, f), v in sorted(values.items(), key=lambda i: (i[0][2] is None, i[0][2] or 0))
                if (m, o, f) == (metric, options, feature) and n is not None]

    features = [f for f in ("psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs") if by("psnr_hvs", "", f)]
    small = {}
    for f, (w, h) in zip(("psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr"), oracle.plane_sizes(case["width"], case["height"], case["format"], "ceil")):
        small[f] = w < 8 or h < 8
    for f in features:                       # NaN where, and only where, a measured plane holds no block
        expected = small[f] if f in small else any(small.values())
        require(all(math.isnan(v) == expected for v in by("psnr_hvs", "", f)), case, "%s: NaN expected: %s" % (f, expected))
    if case["jobset"] == "mask":
        differ = [f for f in features[:-1] if by("psnr_hvs", "", f) != by("psnr_hvs", "psnr_hvs_mask=f64", f)]
        require(differ, case, "the masking option changes nothing")
    if case["jobset"] == "combined":
        y, cb, cr = scores
        right = by("psnr_hvs", "", "psnr_hvs")[0]
        require(right == oracle.decibel(y * 0.8 + 0.1 * (cb + cr)), case, "combined score")
        require(right != oracle.decibel(y * 0.8 + (0.1 * cb + 0.1 * cr)), case, "the order of operations does not show")
        require(right != oracle.decibel((y * 0.8 + 0.1 * cb) + 0.1 * cr), case, "the order of operations does not show")
    if case["jobset"] in ("uncapped", "floor"):
        cap = float(6 * case["bits"] + 12)
        for capped, free in (((("float_psnr", ""), ("float_psnr", "uncapped=1"))),
                             (("psnr", "enable_mse=1|enable_apsnr=1"), ("psnr", "uncapped=1"))):
            feature = "float_psnr" if capped[0] == "float_psnr" else "psnr_y"
            a, b = by(*capped, feature), by(*free, feature)
            require(any(v == cap for v in b), case, "no frame without a difference: uncapped must keep the cap there")
            require(any(v > cap and w == cap for v, w in zip(b, a)), case, "no frame above the cap")
    if case["jobset"] == "floor":
        f = by("float_psnr", "uncapped=1", "float_psnr")
        floor = 10.0 * oracle.log10(float(oracle.F64(65535 / 256) * oracle.F64(65535 / 256)) / 1e-10)
        require(floor in f, case, "no frame at the floor of 1e-10")
        require(any(6 * 16 + 12 < v < floor for v in f), case, "no frame between cap and floor")
        require(max(by("psnr", "uncapped=1", "psnr_y")) > floor, case, "psnr's own floor must not act here")


def check_adm_purpose(case, pairs, values):
    base = [v for (_, o, _, f), v in values.items() if o == "debug=1"]
    require(all(math.isfinite(v) for v in base), case, "no value with the default options")
    without_noise = [v for (_, o, _, f), v in values.items() if o == "debug=1|adm_noise_weight=0" and f == "adm_den"]
    require((case["jobset"] == "adm_zero") == (0 in without_noise), case, "denominator")
    require((case["jobset"] == "adm_small") == (min(case["width"], case["height"]) < 33), case, "size")
    if case["jobset"] == "adm_extreme":      # |u| of 8.1 from 15360 on
        largest = 0
        for pair in pairs:
            o, t = adm.bands(pair.ref, pair.bits)[0], adm.bands(pair.dist, pair.bits)[0]
            for part in adm.decouple(o, t, 100.0, 0):
                largest = max([largest] + [int(np.max(np.abs((36453 * y + 16384) >> 15))) for y in part[:2]])
        require(largest >= 15360, case, "the largest |u| is %d: no centre value wraps" % largest)


def main(argv):
    flags = dict(a[2:].partition("=")[::2] for a in argv if a.startswith("--"))
    if set(flags) - {"check", "gen", "update-md5"} or any(not a.startswith("--") for a in argv):
        sys.exit(__doc__)
    cases, inputs, lines, mask_rows, effects = read_cases(TABLE), Inputs(flags.get("gen")), [], [0, 0], {}
    for c in cases:
        paths = inputs.make(TABLE, c, "update-md5" not in flags)
        if "update-md5" in flags:
            c["md5_ref"], c["md5_dist"] = md5(paths[0]), md5(paths[1])
        frames = list(oracle.pair_files(paths[0], paths[1], c["width"], c["height"], c["format"], c["bits"], "ceil"))
        require(len(frames) == c["frames"], c, "number of frames")
        inputs.remove(paths)
        values, is_adm = {}, c["jobset"].startswith("adm")
        if is_adm:
            frames = [adm.Pair(r[0], d[0], c["bits"]) for r, d in frames]
        for metric, options in JOBSETS[c["jobset"]]:
            for n, feature, value in (adm if is_adm else oracle).evaluate(metric, oracle.parse_options(options), frames, c["bits"]):
                values[metric, options, n, feature] = value
                where = {"aggregate": True} if n is None else {"frame": n}
                row = {"case": c["name"], "metric": metric, "options": options}
                lines.append(json.dumps(dict(row, **where, feature=feature, hex=oracle.c_hex(value)), separators=(",", ":")))
        scores = None
        if c["jobset"] == "combined":
            (r, d), tables = frames[0], ("Y", "Cb", "Cr")
            scores = [oracle.plane_score(r[i], d[i], tables[i], c["bits"]) for i in range(3)]
        (check_adm_purpose(c, frames, values) if is_adm else check_purpose(c, values, scores))
        if c["jobset"] == "adm_options":
            for _, o in ADM_OPTIONS:
                effects.setdefault(o, []).extend(oracle.c_hex(values["adm", o, n, f]) for n in range(c["frames"]) for f in ("adm2", "aim", "adm3"))
        for (m, o, n, f), v in values.items():
            if o == "psnr_hvs_mask=f64":
                mask_rows[0] += 1
                mask_rows[1] += oracle.c_hex(v) != oracle.c_hex(values[m, "", n, f])
    for o in effects:                        # all but the defaults, written differently, differ from each other
        same = [p for p in effects if p != o and effects[p] == effects[o]]
        if same and o not in ("", "debug=1", "adm_p_norm=3", "adm_norm_view_dist=0.75|adm_ref_display_height=4320"):
            sys.exit("%s has the scores of %s" % (o, same))
    text = "\n".join(lines) + "\n"
    if "update-md5" in flags:
        with open(TABLE) as f:
            head = [l for l in f if l.startswith("#")]
        with open(TABLE, "w") as f:
            f.writelines(head)
            for c in cases:
                f.write("\t".join(str(c[k]) for k in COLUMNS) + "\n")
    print("%d cases, %d values; f64 mask: %d values, %d of them differ from f32" % (len(cases), len(lines), *mask_rows))
    if "check" in flags:
        with open(FILE) as f:
            committed = f.read()
        if committed != text:
            a, b = committed.splitlines(), text.splitlines()
            print("oracle.jsonl is not what this script makes: %d lines, %d made" % (len(a), len(b)))
            for x, y in [p for p in zip(a, b) if p[0] != p[1]][:10]:
                print("- %s\n+ %s" % (x, y))
            return 1
        print("oracle.jsonl is reproducible")
        return 0
    with open(FILE, "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
