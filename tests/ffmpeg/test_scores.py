# SPDX-License-Identifier: BSD-2-Clause
"""Scores are what the definition says, bit for bit: against values of the reference implementation and against oracle.py."""

import math
import random
import re

import pytest

import oracle
from harness import PREFIX, complete, counts, log_number, read_json, significant

ALL = "metrics=psnr+float_psnr+psnr_hvs"
PSNR = ["psnr_y", "psnr_cb", "psnr_cr"]
HVS = ["psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]

# Values of the reference implementation (libvmaf 3.2.0) for the pictures of vector(), 64x48.
VECTORS = """
yuv420p float_psnr 0x1.25a0517cb5ee5p+5 psnr_y 0x1.25a0517cb5ee5p+5 mse_y 0x1.bc88p+3 psnr_cb 0x1.258a760568036p+5 psnr_cr 0x1.258e9ec3bb94p+5 psnr_hvs_y 0x1.df5f7378ca3f5p+5 psnr_hvs_cb 0x1.be5d59e1cb3e4p+5 psnr_hvs_cr 0x1.c9709cb2ad13ap+5 psnr_hvs 0x1.d7b70e96153a7p+5
yuv420p10le float_psnr 0x1.2535afe741685p+5 psnr_y 0x1.2535afe741685p+5 mse_y 0x1.c48bp+7 psnr_cb 0x1.25125d50e36f4p+5 psnr_cr 0x1.251ea8be1badp+5 psnr_hvs_y 0x1.9abec1b5d4839p+5 psnr_hvs_cb 0x1.8fcdd3b3ccp+5 psnr_hvs_cr 0x1.8bc9990b66699p+5 psnr_hvs 0x1.97b9953ff61eap+5
yuv420p12le float_psnr 0x1.250f8bdf7713bp+5 psnr_y 0x1.250f8bdf7713bp+5 mse_y 0x1.c727855555555p+11 psnr_cb 0x1.24ef2a4baf4aep+5 psnr_cr 0x1.24f8943802076p+5 psnr_hvs_y 0x1.8ea6509d6d71ep+5 psnr_hvs_cb 0x1.833c15a5877abp+5 psnr_hvs_cr 0x1.7f4796cec2738p+5 psnr_hvs 0x1.8b82e0f196b5ap+5
yuv420p16le float_psnr 0x1.25b21bfa5b5bep+5 psnr_y 0x1.25b21bfa5b5bep+5 mse_y 0x1.bf1d9e0555555p+19 psnr_cb 0x1.25ba75b3e2721p+5 psnr_cr 0x1.25b9422f78e6p+5
yuv422p float_psnr 0x1.25a0517cb5ee5p+5 psnr_y 0x1.25a0517cb5ee5p+5 mse_y 0x1.bc88p+3 psnr_cb 0x1.259f46b96f402p+5 psnr_cr 0x1.25aff6af1e48cp+5 psnr_hvs_y 0x1.df5f7378ca3f5p+5 psnr_hvs_cb 0x1.b76484337c64p+5 psnr_hvs_cr 0x1.bf093148a5007p+5 psnr_hvs 0x1.d47176bcd1676p+5
yuv422p10le float_psnr 0x1.2535afe741685p+5 psnr_y 0x1.2535afe741685p+5 mse_y 0x1.c48bp+7 psnr_cb 0x1.252fe139636f7p+5 psnr_cr 0x1.254256971a365p+5 psnr_hvs_y 0x1.9abec1b5d4839p+5 psnr_hvs_cb 0x1.8f14df83addc2p+5 psnr_hvs_cr 0x1.8cc5ac3038cb3p+5 psnr_hvs 0x1.97c528d27c522p+5
yuv444p float_psnr 0x1.25a0517cb5ee5p+5 psnr_y 0x1.25a0517cb5ee5p+5 mse_y 0x1.bc88p+3 psnr_cb 0x1.2599716e12e3dp+5 psnr_cr 0x1.25a587c527cf5p+5 psnr_hvs_y 0x1.df5f7378ca3f5p+5 psnr_hvs_cb 0x1.ba82f609eeap+5 psnr_hvs_cr 0x1.c4ddf8c2279e6p+5 psnr_hvs 0x1.d62aeddf4a215p+5
yuv444p12le float_psnr 0x1.250f8bdf7713bp+5 psnr_y 0x1.250f8bdf7713bp+5 mse_y 0x1.c727855555555p+11 psnr_cb 0x1.250383b59d40ep+5 psnr_cr 0x1.25159c507bbacp+5 psnr_hvs_y 0x1.8ea6509d6d71ep+5 psnr_hvs_cb 0x1.83e59f6b9c416p+5 psnr_hvs_cr 0x1.7ff6195ad0fefp+5 psnr_hvs 0x1.8bb0e18c61642p+5
yuv444p16le float_psnr 0x1.25b21bfa5b5bep+5 psnr_y 0x1.25b21bfa5b5bep+5 mse_y 0x1.bf1d9e0555555p+19 psnr_cb 0x1.25ab64fd30bfp+5 psnr_cr 0x1.25b7c441f9058p+5
gray float_psnr 0x1.25a0517cb5ee5p+5 psnr_y 0x1.25a0517cb5ee5p+5 mse_y 0x1.bc88p+3
gray16le float_psnr 0x1.25b21bfa5b5bep+5 psnr_y 0x1.25b21bfa5b5bep+5 mse_y 0x1.bf1d9e0555555p+19
"""


def vector(chroma, depth, width=64, height=48):
    """(main, reference) of the published test vectors."""
    top, sh = (1 << depth) - 1, depth - 8
    main, ref = [], []
    for p, (w, h) in enumerate(oracle.plane_sizes(chroma, width, height)):
        at = [(x, y) for y in range(h) for x in range(w)]
        r = [(((3 * x * x + 5 * y * y + (p + 1) * x * y + 17 * p) % 251) << sh) + ((5 * x + 3 * y) % (1 << sh)) for x, y in at]
        d = [v + (((7 * x + 11 * y + 3 * p) % 13) - 6) * (1 << sh) + ((x + y) % (1 << sh)) for v, (x, y) in zip(r, at)]
        ref.append(r)
        main.append([min(top, max(0, v)) for v in d])
    return oracle.Clip(chroma, depth, width, height, [main]), oracle.Clip(chroma, depth, width, height, [ref])


def expected(main, ref, n, metrics=("psnr", "float_psnr", "psnr_hvs")):
    out = {}
    if "psnr" in metrics:
        out.update(oracle.psnr(main, ref, n, mse=True))
    if "float_psnr" in metrics:
        out["float_psnr"] = oracle.float_psnr(main, ref, n)
    if "psnr_hvs" in metrics:
        out.update(oracle.psnr_hvs(main, ref, n, chroma=len(main.sizes) == 3))
    return out


def compare(result, main, ref, metrics=("psnr", "float_psnr", "psnr_hvs")):
    """Every record has exactly the oracle's doubles."""
    assert len(result.records) == len(main.frames), str(result)
    for n, record in enumerate(result.records):
        want = {k: repr(v) for k, v in expected(main, ref, n, metrics).items()}
        assert {k: repr(float(v)) for k, v in record.scores.items()} == want, f"frame {n}\n{result}"


@pytest.mark.parametrize("line", VECTORS.split("\n")[1:-1], ids=lambda line: line.split()[0])
def test_reference_values(ff, rawfile, line):
    fmt, *words = line.split()
    want = {k: float.fromhex(v) for k, v in zip(words[::2], words[1::2])}
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, ref = vector(chroma, depth)
    hvs = "psnr_hvs" in want
    result = ff.score(rawfile(main, fmt), rawfile(ref, fmt), f"metrics=psnr+float_psnr{'+psnr_hvs' if hvs else ''}:options=enable_mse=true")
    got = {k: float(v) for k, v in result.records[0].scores.items()}
    assert {k: got[k].hex() for k in want} == {k: v.hex() for k, v in want.items()}, str(result)


@pytest.mark.parametrize("fmt", ["yuv420p", "yuv420p9le", "yuv422p10le", "yuv444p12le", "yuv440p", "gray", "gray10le"])
def test_oracle(ff, rawfile, fmt):
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, ref = oracle.pictures(chroma, depth, 46, 38, 3)
    compare(ff.score(rawfile(main, fmt), rawfile(ref, fmt), ALL + ":options=enable_mse=1"), main, ref)


@pytest.mark.parametrize("fmt", ["yuv420p9le", "yuv422p9le", "yuv444p9le", "gray9le", "yuv420p14le", "yuv422p14le", "yuv444p14le", "gray14le",
                                 "yuv410p", "yuv411p", "yuv440p10le", "yuv440p12le", "yuv420p16le", "gray12le"])
def test_oracle_psnr(ff, rawfile, need_format, fmt):
    need_format(fmt)
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, ref = oracle.pictures(chroma, depth, 31, 27, 2)
    compare(ff.score(rawfile(main, fmt), rawfile(ref, fmt), "metrics=psnr:options=enable_mse=1"), main, ref, ("psnr",))


def test_lavfi_sources(ff):
    """The usual generators, through the dumps of what the filter sees."""
    kinds = {
        "testsrc2": ("testsrc2=s=48x32:r=25:d=0.12,format=yuv420p", "testsrc2=s=48x32:r=25:d=0.12,avgblur=2,format=yuv420p", "420", 8),
        "mandelbrot": ("mandelbrot=s=48x32:r=25,trim=end_frame=3,format=yuv444p10le",
                       "mandelbrot=s=48x32:r=25,trim=end_frame=3,avgblur=2,format=yuv444p10le", "444", 10),
        "stripes": ("nullsrc=s=48x32:r=25:d=0.12,geq=lum='255*mod(floor((X+3*N)/(1+mod(floor(Y/40),5))),2)':cb=128:cr=128,format=yuv420p",
                    "nullsrc=s=48x32:r=25:d=0.12,geq=lum='255*mod(floor((X+3*N+lt(mod(X*7919+Y*104729+N*1299709,97),29))/(1+mod(floor(Y/40),5))),2)'"
                    ":cb=128:cr=128,format=yuv420p", "420", 8),
        "ramp": ("nullsrc=s=48x32:r=25:d=0.12,format=yuv420p10le,geq=lum='mod(X*5+Y*3+N*7,1024)':cb=512:cr=512",
                 "nullsrc=s=48x32:r=25:d=0.12,format=yuv420p10le,geq=lum='mod(X*5+Y*3+N*7+2*mod(X,2),1024)':cb=513:cr=512", "420", 10),
    }
    for name, (ref_source, main_source, chroma, depth) in kinds.items():
        a, b, result = ff.many([lambda: ff.dump(main_source), lambda: ff.dump(ref_source),
                                lambda: ff.score(main_source, ref_source, ALL + ":options=enable_mse=1")])
        compare(result, oracle.unpack(a, chroma, depth, 48, 32), oracle.unpack(b, chroma, depth, 48, 32))


def test_real_decode(ff, coded, tmp_path):
    """An encoded clip against its source: all values from the decoded samples, metadata and log agree."""
    enc, src = coded
    log = tmp_path / "log.json"
    result = ff.score(enc, src, f"{ALL}:log_path={log}")
    records = complete(result, 25, PSNR + HVS + ["float_psnr"])
    counts(result, 25)
    main, ref = (oracle.unpack(ff.dump(i), "420", 8, 150, 90) for i in (enc, src))
    assert len(main.frames) == len(ref.frames) == 25
    for n, record in enumerate(records):
        want = {**oracle.psnr(main, ref, n), "float_psnr": oracle.float_psnr(main, ref, n)}
        if n == 24:
            want.update(oracle.psnr_hvs(main, ref, n))
        for name, value in want.items():
            assert repr(record.value(name)) == repr(value), f"{name} of frame {n}"
    assert [f["frameNum"] for f in read_json(log)["frames"]] == list(range(25))
    assert_log_equals_metadata(log, records)


def assert_log_equals_metadata(log, records):
    text = log.read_text()
    for frame, record in zip(read_json(log)["frames"], records):
        assert set(frame["metrics"]) == set(record.scores)
        chunk = text.split(f'"frameNum": {frame["frameNum"]},', 1)[1].split("}", 1)[0]
        for name in record.scores:
            value = record.value(name)
            shown = re.search(rf'"{re.escape(name)}": ([^,\n]+)', chunk)[1].strip()
            assert shown == ("null" if math.isinf(value) else log_number(value)), f"{name} of frame {record.frame}"


@pytest.mark.parametrize("fmt,cap", [("yuv420p", 60), ("nv12", 60), ("gray", 60), ("yuv422p10le", 72), ("yuv444p12le", 84), ("gray12le", 84),
                                     ("yuv420p16le", 108)])
def test_a11_identical(ff, rawfile, fmt, cap):
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, _ = oracle.pictures(chroma, depth, 40, 32, 2)
    result = ff.score(rawfile(main, fmt), rawfile(main, fmt), ALL if depth <= 12 else "metrics=psnr+float_psnr")
    for record in result.records:
        for name, value in record.scores.items():
            assert value == ("inf" if "hvs" in name else str(cap)), f"{name}={value}\n{result}"
        assert ("psnr_cb" in record.scores) == (chroma != "400")
    assert "inf" in result.summary.lines[-2] or depth > 12
    assert "nan" not in result.out.decode() + "".join(result.summary.lines)


@pytest.mark.parametrize("fmt", ["gray16le", "yuv444p16le", "gray", "yuv420p", "gray10le", "yuv444p12le"])
def test_a11_extremes(ff, rawfile, fmt):
    """Nothing against everything, in both directions: no overflow."""
    chroma, depth = oracle.FORMATS[fmt][:2]
    top = (1 << depth) - 1
    zero = [[0] * (w * h) for w, h in oracle.plane_sizes(chroma, 40, 24)]
    full = [[top] * (w * h) for w, h in oracle.plane_sizes(chroma, 40, 24)]
    main = oracle.Clip(chroma, depth, 40, 24, [zero, full, zero])
    ref = oracle.Clip(chroma, depth, 40, 24, [full, zero, zero])
    metrics = ("psnr", "float_psnr") + (("psnr_hvs",) if depth <= 12 else ())
    compare(ff.score(rawfile(main, fmt), rawfile(ref, fmt), f"metrics={'+'.join(metrics)}:options=enable_mse=1"), main, ref, metrics)


def test_float_psnr_rounds_squares_at_16_bits(ff, rawfile):
    """Squares of differences above 4096 are rounded to 24 bits: there float_psnr and psnr_y part."""
    main, ref = oracle.pictures("400", 16, 64, 64, 1)
    ref.frames[0][0] = [65535 - v for v in ref.frames[0][0]]
    result = ff.score(rawfile(main, "gray16le"), rawfile(ref, "gray16le"), "metrics=psnr+float_psnr:options=enable_mse=1")
    compare(result, main, ref, ("psnr", "float_psnr"))


class TestOptions:
    @pytest.fixture(scope="class")
    def pair(self):
        return oracle.pictures("420", 8, 48, 40, 2)

    @pytest.fixture(scope="class")
    def nearly(self):
        """One sample of each plane is off by one: far above the cap."""
        main, _ = oracle.pictures("420", 8, 64, 48, 1)
        ref = oracle.Clip("420", 8, 64, 48, [[[v ^ (i == 5) for i, v in enumerate(p)] for p in main.frames[0]]])
        return main, ref

    def run(self, ff, rawfile, pair, options, fmt="yuv420p", **keywords):
        return ff.score(rawfile(pair[0], fmt), rawfile(pair[1], fmt), options, **keywords)

    def test_default_metrics(self, ff, rawfile, pair):
        complete(self.run(ff, rawfile, pair, ""), 2, PSNR + HVS)

    def test_enable_chroma_of_psnr(self, ff, rawfile, pair):
        for value in ("0", "false"):
            complete(self.run(ff, rawfile, pair, f"metrics=psnr:options=enable_chroma={value}"), 2, ["psnr_y"])

    def test_enable_chroma_of_psnr_hvs(self, ff, rawfile, pair):
        for record in complete(self.run(ff, rawfile, pair, "metrics=psnr_hvs:options=enable_chroma=0"), 2, ["psnr_hvs_y", "psnr_hvs"]):
            want = oracle.psnr_hvs(*pair, record.frame, chroma=False)
            assert {k: float(v) for k, v in record.scores.items()} == want

    def test_option_of_one_metric(self, ff, rawfile, pair):
        complete(self.run(ff, rawfile, pair, "options=psnr.enable_chroma=0"), 2, ["psnr_y"] + HVS)
        complete(self.run(ff, rawfile, pair, "options=psnr_hvs.enable_chroma=0"), 2, PSNR + ["psnr_hvs_y", "psnr_hvs"])
        complete(self.run(ff, rawfile, pair, "options=enable_chroma=0"), 2, ["psnr_y", "psnr_hvs_y", "psnr_hvs"])
        complete(self.run(ff, rawfile, pair, "options=psnr.enable_chroma=0|psnr.enable_mse=1"), 2, ["psnr_y", "mse_y"] + HVS)

    def test_capped_and_uncapped(self, ff, rawfile, nearly):
        capped = self.run(ff, rawfile, nearly, "metrics=psnr+float_psnr").records[0]
        assert set(capped.scores.values()) == {"60"}
        open_ = self.run(ff, rawfile, nearly, "metrics=psnr+float_psnr:options=uncapped=true").records[0]
        want = {**oracle.psnr(*nearly, 0, uncapped=True), "float_psnr": oracle.float_psnr(*nearly, 0, uncapped=True)}
        assert want["psnr_y"] > 80
        assert {k: repr(float(v)) for k, v in open_.scores.items()} == {k: repr(v) for k, v in want.items()}
        same = self.run(ff, rawfile, (nearly[0], nearly[0]), "metrics=psnr+float_psnr:options=uncapped=true").records[0]
        assert set(same.scores.values()) == {"60"}

    def test_min_sse(self, ff, rawfile, nearly):
        for value in (0.5, 1.0, 100.0):
            got = self.run(ff, rawfile, nearly, f"metrics=psnr:options=min_sse={value}").records[0]
            want = oracle.psnr(*nearly, 0, min_sse=value)
            assert {k: repr(float(v)) for k, v in got.scores.items()} == {k: repr(v) for k, v in want.items()}, value

    def test_reduced_hbd_peak(self, ff, rawfile):
        pair = oracle.pictures("420", 10, 32, 32, 1)
        got = self.run(ff, rawfile, pair, "metrics=psnr:options=reduced_hbd_peak=1", "yuv420p10le").records[0]
        assert {k: float(v) for k, v in got.scores.items()} == oracle.psnr(*pair, 0, reduced_hbd_peak=True)

    def test_mask_in_double(self, ff, rawfile):
        # single blocks whose samples are swapped in pairs: little of the sum hides the difference of the two rules
        rng, ref = random.Random(3), []
        for _ in range(60):
            ref.append([[128 + rng.randint(-3, 3) for _ in range(64)]])
        pair = [oracle.Clip("400", 8, 8, 8, [[[p[i ^ 1] for i in range(64)] for p in f] for f in ref]), oracle.Clip("400", 8, 8, 8, ref)]
        plain, f32, f64 = (self.run(ff, rawfile, pair, "metrics=psnr_hvs" + o, "gray")
                           for o in ("", ":options=psnr_hvs_mask=f32", ":options=psnr_hvs_mask=f64"))
        for result, mask in ((plain, "f32"), (f64, "f64")):
            want = [repr(oracle.psnr_hvs(*pair, n, chroma=False, mask=mask)["psnr_hvs"]) for n in range(60)]
            assert [repr(r.value("psnr_hvs")) for r in result.records] == want
        assert plain.out == f32.out != f64.out

    def test_labels(self, ff, rawfile, pair):
        """The same metric twice, with options of its own; the label is part of the key."""
        result = self.run(ff, rawfile, pair, "metrics=psnr+psnr_hvs+psnr_hvs@f64:options=f64.psnr_hvs_mask=f64")
        for record in complete(result, 2, PSNR + HVS + ["f64." + n for n in HVS]):
            for mask, label in (("f32", ""), ("f64", "f64.")):
                want = oracle.psnr_hvs(*pair, record.frame, mask=mask)
                assert {n: record.value(label + n) for n in HVS} == want
        assert list(result.summary.pools) == ["psnr", "psnr_hvs", "psnr_hvs@f64"]

    def test_labels_only(self, ff, rawfile, pair):
        result = self.run(ff, rawfile, pair, "metrics=psnr@a+psnr@b_2:options=a.enable_chroma=0|b_2.enable_mse=1")
        complete(result, 2, ["a.psnr_y"] + ["b_2." + n for n in PSNR + ["mse_y", "mse_cb", "mse_cr"]])

    def test_aggregate(self, ff, rawfile, pair, tmp_path):
        log = tmp_path / "log.json"
        result = self.run(ff, rawfile, pair, f"metrics=psnr:options=enable_apsnr=1:log_path={log}")
        complete(result, 2, PSNR)
        want = oracle.apsnr(*pair)
        assert result.summary.aggregates == {"psnr": {k: "%.6f" % v for k, v in want.items()}}
        assert read_json(log)["aggregate_metrics"] == {k: float("%.6f" % v) for k, v in want.items()}


def test_values_read_back_to_the_same_double(ff, coded):
    """The text is the shortest decimal that reads back: Python prints the same digits."""
    result = ff.score(*coded, ALL + ":options=enable_mse=1")
    seen = 0
    for record in result.records:
        for name, text in record.scores.items():
            value = float(text)
            assert float(text) == value and significant(text) == significant(repr(value)), f"{name}={text}"
            seen += 1
    assert seen == 25 * 11


def test_keys(ff, coded):
    """All keys have the prefix; scored frames have no mark."""
    for record in ff.score(*coded).records:
        assert all(k.startswith(PREFIX) for k in record.tags)
        assert PREFIX + "paired" not in record.tags
