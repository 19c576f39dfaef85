# SPDX-License-Identifier: BSD-2-Clause
"""adm: every score, for all options, depths and sizes, is the double that the independent implementation of tests/golden gives."""

import math
import random
import re
import sys
from pathlib import Path

import numpy
import pytest

import oracle
from harness import PREFIX, complete, counts, levels, pooled, raw, refused, same, significant

sys.path.append(str(Path(__file__).resolve().parent.parent / "golden" / "independent"))
import adm_oracle  # noqa: E402

ADM = ["adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"]
DEBUG = ["adm", "adm_num", "adm_den"] + [f"adm_{part}_scale{s}" for s in range(4) for part in ("num", "den")]
# option sets that together reach every branch of the computation
OPTIONS = [
    {}, {"debug": "1"}, {"debug": "true", "adm_skip_aim": "1", "adm_skip_scale0": "1"},
    {"adm_enhn_gain_limit": "1"}, {"adm_enhn_gain_limit": "1.2"}, {"adm_enhn_gain_limit": "3.7"}, {"adm_enhn_gain_limit": "99.99"},
    {"adm_csf_mode": "1"}, {"adm_csf_mode": "1", "adm_csf_scale": "0.0005", "adm_csf_diag_scale": "0.001"},
    {"adm_csf_mode": "1", "adm_csf_scale": "50", "adm_csf_diag_scale": "0"},
    {"adm_csf_mode": "2"}, {"adm_csf_mode": "3"}, {"adm_csf_mode": "0", "adm_csf_scale": "0.5"},
    {"adm_csf_mode": "2", "adm_norm_view_dist": "1.5", "adm_ref_display_height": "2160"}, {"adm_csf_mode": "3", "adm_norm_view_dist": "5"},
    {"adm_csf_mode": "2", "adm_norm_view_dist": "5", "adm_ref_display_height": "2160"},
    {"adm_csf_mode": "3", "adm_norm_view_dist": "5", "adm_ref_display_height": "720"},
    {"adm_norm_view_dist": "3.1"}, {"adm_norm_view_dist": "24", "adm_ref_display_height": "4320"},
    {"adm_norm_view_dist": "0.75", "adm_ref_display_height": "4320"},
    {"adm_norm_view_dist": "1.5", "adm_ref_display_height": "2160"}, {"adm_ref_display_height": "1081"},
    {"adm_noise_weight": "0"}, {"adm_noise_weight": "0.02"}, {"adm_noise_weight": "1500"}, {"adm_noise_weight": "1e-30"},
    {"adm_dlm_weight": "0"}, {"adm_dlm_weight": "1"}, {"adm_dlm_weight": "0.7", "adm_min_val": "0.5"}, {"adm_min_val": "1"}, {"adm_min_val": "0.25"},
    {"adm_skip_aim": "1"}, {"adm_skip_aim": "yes", "adm_dlm_weight": "0.3"}, {"adm_skip_scale0": "on"},
    {"adm_skip_scale0": "1", "debug": "1", "adm_noise_weight": "0"},
    {"adm_p_norm": "1"}, {"adm_p_norm": "2"}, {"adm_p_norm": "3.5", "debug": "1"}, {"adm_p_norm": "20"},
    # numbers pass through binary32 and six digits
    {"adm_dlm_weight": "0.123456789"}, {"adm_norm_view_dist": "2.9999999"}, {"adm_norm_view_dist": "24.00001"},
    {"adm_dlm_weight": ".5"}, {"adm_min_val": "5e-1"}, {"adm_noise_weight": "0.0312500001"}, {"adm_noise_weight": "1e-46"}, {"adm_p_norm": "3."},
    {"adm_dlm_weight": "0.7", "adm_enhn_gain_limit": "1.0", "adm_noise_weight": "0.02", "adm_norm_view_dist": "3.0",
     "adm_ref_display_height": "1080", "adm_min_val": "0.5", "adm_csf_mode": "2"},
]


def texts(options):
    return "|".join(f"{k}={v}" for k, v in options.items())


def metric(options, metrics="adm"):
    return f"metrics={metrics}" + (f":options={texts(options)}" if options else "")


class Case:
    """A clip and its reference, and what the independent implementation makes of them."""

    def __init__(self, main, ref):
        self.main, self.ref = main, ref
        self.pairs = [adm_oracle.Pair(*(numpy.array(f[0]).reshape(main.height, main.width) for f in (r, m)), main.depth)
                      for m, r in zip(main.frames, ref.frames)]

    def scores(self, n, options):
        """{name: value} in their order, without those that are not numbers."""
        values = adm_oracle.frame(self.pairs[n], {k: {"yes": "1", "on": "1"}.get(v, v) for k, v in options.items()})
        return {name: float(v) for name, v in values if not math.isnan(v)}

    def files(self, rawfile, fmt, ref_fmt=None):
        return rawfile(self.main, fmt), rawfile(self.ref, ref_fmt or fmt)


def check(result, case, options={}, label="", others=()):
    """Every record has exactly the scores of the case, in order, as shortest decimals."""
    records = result.records
    assert [r.frame for r in records] == list(range(len(case.pairs))), str(result)
    for n, record in enumerate(records):
        want = {label + k: v for k, v in case.scores(n, options).items()}
        got = {k: v for k, v in record.scores.items() if k.removeprefix(label) in ADM + DEBUG and k.startswith(label)}
        assert list(got) == list(want), f"frame {n}\n{result}"
        assert {k: repr(float(v)) for k, v in got.items()} == {k: repr(v) for k, v in want.items()}, f"frame {n}\n{result}"
        assert all(significant(v) == significant(repr(want[k])) for k, v in got.items()), f"frame {n}\n{result}"
        assert others is None or set(record.scores) - set(got) == set(others), f"frame {n}\n{result}"


def pictures(chroma, depth, width, height, seed=1):
    """Six frame pairs: texture, the same with more contrast, full-range noise, black and white, a flat one against another, a thing that vanishes."""
    rng = random.Random(f"{chroma} {depth} {width} {height} {seed}")
    main, ref = oracle.pictures(chroma, depth, width, height, 6, seed)
    top, size = (1 << depth) - 1, width * height

    def clip(v):
        return min(top, max(0, int(v)))

    def put(n, m, r):
        main.frames[n][0], ref.frames[n][0] = m, r

    put(1, [clip((v - top / 2) * 1.35 + top / 2) for v in ref.frames[1][0]], ref.frames[1][0])
    noise = [rng.randint(0, top) for _ in range(size)]
    put(2, [clip(v + rng.randint(-top // 9, top // 9)) for v in noise], noise)
    put(3, *([rng.choice((0, top)) for _ in range(size)] for _ in range(2)))
    put(4, [top // 3] * size, [top // 2] * size)
    put(5, [top // 2] * size, [top // 2 + (top // 4 if 5 < i % width < 12 and i // width > 7 else 0) for i in range(size)])
    return main, ref


@pytest.fixture(scope="module")
def busy():
    """52x44, 8 bits."""
    return Case(*pictures("420", 8, 52, 44))


# ---- values ----

def test_options(ff, rawfile, busy):
    files = busy.files(rawfile, "yuv420p")
    for options, result in zip(OPTIONS, ff.many([lambda o=o: ff.score(*files, metric(o)) for o in OPTIONS])):
        check(result, busy, options)
        assert "nan" not in result.out.decode() and not re.search(r"\bnan\b", " ".join(result.summary.lines)), str(result)


@pytest.mark.parametrize("fmt", ["yuv420p", "nv12", "yuv422p", "yuv444p", "yuv411p", "gray", "yuv420p9le", "gray10le", "yuv420p10le", "p010le",
                                 "yuv422p10le", "p210le", "gray12le", "yuv420p12le", "p012le", "gray14le", "yuv444p14le", "gray16le",
                                 "yuv420p16le", "p016le"])
def test_formats(ff, rawfile, need_format, fmt):
    need_format(fmt)
    chroma, depth = oracle.FORMATS[fmt][:2]
    case = Case(*pictures(chroma, depth, 47, 39))
    sets = [{}, {"adm_enhn_gain_limit": "1.2", "debug": "1"}, {"adm_csf_mode": "2", "adm_noise_weight": "0.02"}]
    for options, result in zip(sets, ff.many([lambda o=o: ff.score(*case.files(rawfile, fmt), metric(o)) for o in sets])):
        check(result, case, options)


@pytest.mark.parametrize("fmt", ["gray", "yuv420p10le"])
@pytest.mark.parametrize("height", [17, 18, 20, 21, 32, 33, 40])
def test_sizes(ff, rawfile, fmt, height):
    """Odd sizes, and those whose coarsest scale has a side of two samples."""
    chroma, depth = oracle.FORMATS[fmt][:2]
    cases = [Case(*pictures(chroma, depth, width, height)) for width in (17, 18, 19, 24, 31, 32, 33)]
    options = {"debug": "1", "adm_enhn_gain_limit": "1.5"}
    for case, result in zip(cases, ff.many([lambda c=c: ff.score(*c.files(rawfile, fmt), metric(options)) for c in cases])):
        check(result, case, options)


@pytest.mark.parametrize("width,height", [(17, 517), (517, 17), (301, 66), (66, 301), (1027, 19), (8191, 17), (17, 8191)])
def test_long_sides(ff, rawfile, width, height):
    """Borders are left out, rows are folded by more bits, strips have several rows."""
    rng = numpy.random.default_rng(width)
    ref = rng.integers(0, 1024, width * height)
    main = numpy.clip(ref + rng.integers(-60, 61, width * height), 0, 1023)
    case = Case(*(oracle.Clip("400", 10, width, height, [[p.tolist()]]) for p in (main, ref)))
    check(ff.score(*case.files(rawfile, "gray10le"), metric({"debug": "1"})), case, {"debug": "1"})


def test_real_decode(ff, coded):
    """An encode with B-frames against its source, from the decoded samples."""
    enc, src = coded
    case = Case(*(oracle.unpack(ff.dump(i), "420", 8, 150, 90) for i in (enc, src)))
    result = ff.score(enc, src, "metrics=adm")
    complete(result, 25, ADM)
    counts(result, 25)
    check(result, case)


def test_only_luma_counts(ff, rawfile, busy):
    """Other chroma, or none."""
    gray = Case(*(oracle.Clip("400", 8, 52, 44, [f[:1] for f in c.frames]) for c in (busy.main, busy.ref)))
    noise = [oracle.Clip("420", 8, 52, 44, [[f[0], [(7 * i) % 256 for i in range(26 * 22)], [(k * i) % 256 for i in range(26 * 22)]] for f in c.frames])
             for k, c in ((5, busy.main), (11, busy.ref))]
    same([ff.score(*busy.files(rawfile, "yuv420p"), "metrics=adm"), ff.score(*gray.files(rawfile, "gray"), "metrics=adm"),
          ff.score(rawfile(noise[0], "nv12"), rawfile(noise[1], "yuv420p"), "metrics=adm")])


def test_direction(ff, rawfile, busy):
    """Main is the distorted one: with the inputs changed, the scores are others."""
    swapped = Case(busy.ref, busy.main)
    result = ff.score(*swapped.files(rawfile, "yuv420p"), "metrics=adm")
    check(result, swapped)
    assert [r.scores for r in result.records[:4]] != [r.scores for r in ff.score(*busy.files(rawfile, "yuv420p"), "metrics=adm").records[:4]]


def test_identical(ff, rawfile, busy):
    """Nothing is added: aim is exactly 0. adm2 is 1 but for the rounding of the two sums."""
    case = Case(busy.ref, busy.ref)
    result = ff.score(*case.files(rawfile, "yuv420p"), metric({"debug": "1"}))
    check(result, case, {"debug": "1"})
    for record in result.records:
        assert record.scores["aim"] == "0" and abs(record.value("adm2") - 1) < 1e-3 and abs(record.value("adm3") - 1) < 1e-3, str(result)


@pytest.mark.parametrize("fmt", ["gray", "gray10le", "gray16le"])
def test_no_detail(ff, rawfile, fmt, tmp_path):
    """Flat pictures: noise stands for the detail. Without it nothing is lost or added, and the scales have no value."""
    depth = oracle.FORMATS[fmt][1]
    top, size = (1 << depth) - 1, 33 * 31
    values = [(0, 0), (top, top), (top, 0), (0, top), (top // 2, top // 3)]
    case = Case(*(oracle.Clip("400", depth, 33, 31, [[[v[i]] * size] for v in values]) for i in range(2)))
    for options in ({}, {"debug": "1"}, {"adm_noise_weight": "0"}, {"adm_noise_weight": "0", "debug": "1"}, {"adm_noise_weight": "0", "adm_skip_scale0": "1"},
                    {"adm_noise_weight": "0", "adm_dlm_weight": "0.3", "adm_min_val": "0.7"}):
        # the reference gives the scale that is left out a denominator of 1e-10, which counts in pictures of up to 1920x1080
        want = ["0", "0", "0.5"] if "adm_skip_scale0" in options else ["1", "0", "1"]
        log = tmp_path / "log.json"
        result = ff.score(*case.files(rawfile, fmt), metric(options) + f":log_path={log}")
        check(result, case, options)
        for record in result.records:
            assert [record.scores[n] for n in ("adm2", "aim", "adm3")] == want, str(result)
        assert not re.search(r"\bnan\b", (result.out.decode() + " ".join(result.summary.lines) + log.read_text()).lower())


def test_scores_that_are_no_numbers(ff, rawfile, busy):
    """Weights beyond their format: what is NaN is left out of frames, pools and summary, adm3 is the least value."""
    options = {"adm_csf_mode": "1", "adm_min_val": "0.125"}
    result = ff.score(*busy.files(rawfile, "yuv420p"), metric(options))
    check(result, busy, options)
    without = [r for r in result.records if "adm2" not in r.scores]
    assert without and all(r.scores["adm3"] == "0.125" for r in without), str(result)
    pools = result.summary.pools["adm"]
    for name in pools["mean"]:
        want = pooled([r.value(name) for r in result.records if name in r.scores])
        assert {p: pools[p][name] for p in want} == {p: "%.6f" % v for p, v in want.items()}, name


# ---- the same bytes ----

@pytest.mark.parametrize("fmt,width,height", [("yuv420p", 322, 179), ("yuv420p10le", 133, 75), ("gray16le", 97, 65), ("nv12", 50, 17)])
def test_instruction_sets_threads_and_queues(ff, rawfile, fmt, width, height):
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, ref = pictures(chroma, depth, width, height)
    files = rawfile(main, fmt), rawfile(ref, fmt)
    labels = "metrics=adm+adm@odd+adm@wrap:options=adm.debug=1|odd.adm_enhn_gain_limit=1.2|odd.adm_skip_scale0=1|wrap.adm_csf_mode=1|wrap.adm_skip_aim=1"
    runs = [(f, 2, 4) for f in (None, *levels())] + [(None, t, d) for t in (1, 2, 5) for d in (1, 8)] + [("0", 5, 8)]
    same(ff.many([lambda f=f, t=t, d=d: ff.score(*files, f"{labels}:threads={t}:async_depth={d}", args=["-cpuflags", f] if f is not None else [])
                  for f, t, d in runs]))


@pytest.mark.parametrize("family", [["yuv420p", "nv12", "nv21"], ["yuv420p10le", "p010le"], ["yuv420p16le", "p016le"]], ids=lambda f: f[-1])
def test_layouts(ff, rawfile, family):
    chroma, depth = oracle.FORMATS[family[0]][:2]
    case = Case(*pictures(chroma, depth, 61, 37))
    results = ff.many([lambda a=a, b=b: ff.score(*case.files(rawfile, a, b), metric({"debug": "1"})) for a in family for b in family])
    check(results[0], case, {"debug": "1"})
    same(results)


def test_bits_of_a_16_bit_container(ff, rawfile, need_format):
    """bits=12 of 16-bit words is 12-bit video, whatever is below."""
    for planar, container in (("yuv420p12le", "p016le"), ("gray12le", "gray16le"), ("yuv420p12le", "yuv420p16le")):
        chroma = oracle.FORMATS[planar][0]
        case = Case(*pictures(chroma, 12, 45, 33))
        wide = [oracle.Clip(chroma, 16, 45, 33, [[[(v << 4) + (i * 7 + k) % 16 for i, v in enumerate(p)] for p in f] for f in c.frames])
                for k, c in enumerate((case.main, case.ref))]
        plain = ff.score(*case.files(rawfile, planar), "metrics=adm")
        check(plain, case)
        same([plain] + ff.many([
            lambda: ff.score(rawfile(wide[0], container), rawfile(wide[1], container), "metrics=adm:bits=12"),
            lambda: ff.score(rawfile(case.main, planar), rawfile(wide[1], container), "metrics=adm:bits=12"),
            lambda: ff.score(rawfile(wide[0], container), rawfile(case.ref, planar), "metrics=adm:bits=12")]))


# ---- labels, scopes, company ----

def test_neg(ff, rawfile, busy):
    """With and without credit for enhancement in one run; labelled ones take labelled options only."""
    result = ff.score(*busy.files(rawfile, "yuv420p"), "metrics=adm+adm@neg:options=neg.adm_enhn_gain_limit=1")
    complete(result, 6, ADM + ["neg." + n for n in ADM])
    check(result, busy, others=["neg." + n for n in ADM])
    check(result, busy, {"adm_enhn_gain_limit": "1"}, "neg.", others=ADM)
    enhanced = result.records[1]
    assert enhanced.value("adm2") > 1.05 and enhanced.value("neg.adm2") < 1.01
    assert list(result.summary.pools) == ["adm", "adm@neg"]


def test_scopes(ff, rawfile, busy):
    files, two = busy.files(rawfile, "yuv420p"), {"adm_csf_mode": "2"}
    for options, plain, labelled in (("adm.adm_csf_mode=2", two, {}), ("adm_csf_mode=2", two, {}), ("l.adm_csf_mode=2", {}, two),
                                     ("adm_csf_mode=2|l.adm_csf_mode=2", two, two),
                                     ("adm_csf_mode=3|adm_csf_mode=2", two, {}), ("adm.adm_csf_mode=1|adm_csf_mode=2", two, {})):
        result = ff.score(*files, f"metrics=adm+adm@l:options={options}")
        check(result, busy, plain, others=None)
        check(result, busy, labelled, "l.", others=None)


def test_with_other_metrics(ff, rawfile, busy):
    """All metrics at once have the scores that each has alone."""
    files = busy.files(rawfile, "yuv420p")
    for order in ("adm+psnr+psnr_hvs+float_psnr", "psnr+psnr_hvs+float_psnr+adm"):
        result = ff.score(*files, f"metrics={order}:options=adm.debug=1|enable_mse=1")
        check(result, busy, {"debug": "1"}, others=None)
        rest = ff.score(*files, "metrics=psnr+psnr_hvs+float_psnr:options=enable_mse=1")
        for record, other in zip(result.records, rest.records):
            assert {k: v for k, v in record.scores.items() if k not in ADM + DEBUG} == other.scores
        assert list(result.summary.pools) == order.split("+")


def test_lines_are_short(ff, coded):
    """metadata=print of older releases cuts lines above 127 bytes."""
    label = "a123456789_123456789_123456789_z"
    result = ff.score(*coded, f"metrics=adm@{label}:options={label}.debug=1")
    complete(result, 25, [f"{label}.{n}" for n in ADM + DEBUG])
    assert max(len(line.encode()) for line in result.out.decode().splitlines()) < 127
    plain = ff.score(*coded, metric({"debug": "1"}))
    assert plain.out.replace(PREFIX.encode(), f"{PREFIX}{label}.".encode()) == result.out


def test_subsample(ff, coded):
    whole = ff.score(*coded, "metrics=adm").records
    some = ff.score(*coded, "metrics=adm:subsample=4").records
    assert [r.frame for r in some if r.scores] == list(range(0, 25, 4))
    assert all(r.scores == whole[r.frame].scores for r in some if r.scores)


# ---- what is refused ----

SMALL = "adm", "17x17"


def zeros(pix_fmt, width, height):
    return raw("/dev/zero", pix_fmt, width, height)


def attempt(ff, options, pix_fmt="yuv420p", width=64, height=48, check=False):
    source, three = zeros(pix_fmt, width, height), "trim=end_frame=3"
    return ff.score(source, source, options, before_main=three, before_ref=three, check=check)


@pytest.mark.parametrize("width,height", [(16, 64), (64, 16), (16, 16), (1, 1), (17, 16), (16, 17), (2, 4096)])
@pytest.mark.parametrize("metrics", ["adm", "psnr+adm@small"])
def test_too_small(ff, tmp_path, width, height, metrics):
    log = tmp_path / "log.json"
    for fmt in ("yuv420p", "gray16le"):
        refused(attempt(ff, f"metrics={metrics}:log_path={log}", fmt, width, height), *SMALL, f"{width}x{height}", outputs=[log])
    assert attempt(ff, "metrics=psnr", "gray", width, height, check=True).records


def test_just_large_enough(ff):
    for fmt, width, height in (("yuv420p", 17, 17), ("gray", 17, 4096), ("gray16le", 4096, 17), ("nv12", 18, 17)):
        complete(attempt(ff, "metrics=adm", fmt, width, height, check=True), 3, ADM)


RANGES = {"adm_csf_scale": ("0", "50"), "adm_csf_diag_scale": ("0", "50"), "adm_dlm_weight": ("0", "1"), "adm_enhn_gain_limit": ("1", "100"),
          "adm_norm_view_dist": ("0.75", "24"), "adm_ref_display_height": ("1", "4320"), "adm_csf_mode": ("0", "3"), "adm_noise_weight": ("0", "1500"),
          "adm_min_val": ("0", "1"), "adm_p_norm": ("1", "20")}
INTEGERS = "adm_ref_display_height", "adm_csf_mode"


@pytest.mark.parametrize("option", RANGES)
def test_out_of_range(ff, tmp_path, option):
    """Just outside, and what is no number; the option, the value and the range are named."""
    low, high = RANGES[option]
    step = 1 if option in INTEGERS else 1e-3 * max(1, float(high))
    wrong = ["%g" % (float(low) - step), "%g" % (float(high) + step), "nan", "inf", "-inf", "1e999", "0x1", "1,0", "1;", "", "much", "--1", "1e", "1 2"]
    wrong += ["2.7", "1e0", "99999999999999999999"] if option in INTEGERS else []
    log = tmp_path / "log.csv"
    # quoted, so that every byte reaches the metric
    for value, result in zip(wrong, ff.many([lambda v=v: attempt(ff, f"metrics=psnr+adm:log_path={log}:options='{option}={v}'") for v in wrong])):
        refused(result, option, f"'{value}'", low, high, outputs=[log])


@pytest.mark.parametrize("option", RANGES)
def test_limits_are_accepted(ff, option):
    display = {"adm_norm_view_dist": "|adm_ref_display_height=4320", "adm_ref_display_height": "|adm_norm_view_dist=24"}.get(option, "")
    for value in RANGES[option]:
        if (option, value) == ("adm_ref_display_height", "1"):
            continue  # no distance is large enough for it
        result = attempt(ff, f"metrics=adm:options={option}={value}{display}", check=True)
        assert len(result.records) == 3 and "adm3" in result.records[0].scores


@pytest.mark.parametrize("option", ["debug", "adm_skip_aim", "adm_skip_scale0"])
def test_flags(ff, option):
    for value in ("2", "-1", "", "perhaps", "TRUE", "1.0", "nan"):
        refused(attempt(ff, f"metrics=adm:options='{option}={value}'"), option, f"'{value}'")


@pytest.mark.parametrize("options,words", [
    ("metrics=adm:options=adm_norm_view_dist=2", ["adm", "adm_norm_view_dist", "2", "adm_ref_display_height", "1080", "3240"]),
    ("metrics=adm:options=adm_norm_view_dist=2.99999", ["adm_norm_view_dist", "2.99999", "1080", "3240"]),
    ("metrics=adm:options=adm_ref_display_height=1079", ["adm_norm_view_dist", "3", "adm_ref_display_height", "1079", "3240"]),
    ("metrics=adm:options=adm_norm_view_dist=0.75", ["adm_norm_view_dist", "0.75", "3240"]),
    ("metrics=psnr+adm+adm@low:options=low.adm_norm_view_dist=2", ["adm_norm_view_dist", "2", "3240"]),
    ("metrics=adm:options=adm_csf_mode=2|adm_norm_view_dist=4", ["adm_csf_mode", "2", "adm_norm_view_dist", "4", "adm_ref_display_height", "1080"]),
    ("metrics=adm:options=adm_csf_mode=3|adm_norm_view_dist=3.00001", ["adm_csf_mode", "3", "adm_norm_view_dist", "3.00001"]),
    ("metrics=adm:options=adm_csf_mode=3|adm_ref_display_height=1200", ["adm_csf_mode", "3", "adm_ref_display_height", "1200"]),
    ("metrics=adm:options=adm_csf_mode=2|adm_ref_display_height=720", ["720", "3240"]),
    ("metrics=adm:options=adm_csf=2", ["adm_csf", "adm_csf_mode"]),
    ("metrics=adm:options=csf_mode=2", ["csf_mode"]),
    ("metrics=adm:options=enable_mse=1", ["enable_mse"]),
    ("metrics=adm:options=psnr.enable_mse=1", ["psnr"]),
    ("metrics=psnr:options=adm_csf_mode=1", ["adm_csf_mode"]),
    ("metrics=psnr:options=adm.adm_csf_mode=1", ["adm"]),
    ("metrics=adm@neg:options=adm_csf_mode=1", ["adm_csf_mode"]),
    ("metrics=adm@neg:options=adm.adm_csf_mode=1", ["adm"]),
    ("metrics=adm+adm@neg:options=pos.adm_csf_mode=1", ["pos"]),
    ("metrics=adm+adm", ["adm2", "twice"]), ("metrics=adm@a+adm@a", ["a.adm2", "twice"]),
    ("metrics=adm+psnr@adm", ["adm"]), ("metrics=ADM", ["ADM"]), ("metrics=adm2", ["adm2"]), ("metrics=integer_adm", ["integer_adm"]),
    ("metrics=adm:options=adm_csf_mode", ["adm_csf_mode"]),
    ("metrics=adm:options=adm_csf_mode=7|adm_csf_mode=1", ["adm_csf_mode", "7"]),
])
def test_refused(ff, tmp_path, options, words):
    log = tmp_path / "log.json"
    refused(attempt(ff, f"{options}:log_path={log}"), *words, outputs=[log])


def test_long_texts(ff):
    """Options and labels without end are refused in a sentence that can be read."""
    for options in ("adm_csf_mode=" + "9" * 20000, "adm_noise_weight=0." + "0" * 20000 + "x", "a" * 20000 + "=1",
                    "|".join(["adm_csf_mode=1"] * 2000 + ["adm_csf_mode=4"])):
        result = attempt(ff, f"metrics=adm:options={options}")
        refused(result)
        assert max(len(t) for t in re.findall(r"exactvq.*? @ [^\]]*\] (.*)", result.err) if "with args" not in t) < 1000
    complete(attempt(ff, "metrics=adm:options=" + "|".join(["adm_csf_mode=1"] * 2000 + ["adm_csf_mode=2"]), check=True), 3, ADM)
