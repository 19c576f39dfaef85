# SPDX-License-Identifier: BSD-2-Clause
"""vif, motion and vmaf through the filter: values of every frame by the independent implementations of tests/golden; models, names, refusals.

EXACTVQ_MODELS: folder with libvmaf's own models; without it the tests that need them are skipped."""

import json
import os
import re
import sys
from pathlib import Path

import numpy
import pytest

import oracle
from harness import complete, filter_lines, levels, refused, same

sys.path.append(str(Path(__file__).resolve().parent.parent / "golden" / "independent"))
import adm_oracle  # noqa: E402
import vif_oracle  # noqa: E402
import vmaf_oracle  # noqa: E402

SMALL = Path(__file__).resolve().parents[1] / "data/models"
HERE = {"EXACTVQ_MODEL_PATH": str(SMALL)}
OWN = os.environ.get("EXACTVQ_MODELS")
VIF = [f"vif_scale{s}" for s in range(4)]
VIF_DEBUG = ["vif", "vif_num", "vif_den"] + [f"vif_{part}_scale{s}" for s in range(4) for part in ("num", "den")]
MOTION = ["motion_sad", "motion2", "motion3"]
ADM = ["adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"]


class Case:
    """A clip and its reference."""

    def __init__(self, main, ref):
        self.main, self.ref = main, ref
        self.planes = [[numpy.array(f[0], dtype=numpy.int64).reshape(c.height, c.width) for f in c.frames] for c in (ref, main)]

    def files(self, rawfile, fmt):
        return rawfile(self.main, fmt), rawfile(self.ref, fmt)

    def vif(self, **options):
        return [vif_oracle.vif(r, m, self.main.depth, **options) for r, m in zip(*self.planes)]

    def motion(self, **options):
        return vif_oracle.motion(self.planes[0], self.main.depth, **options)

    def adm(self, options={}):
        return [dict((k, float(v)) for k, v in adm_oracle.frame(adm_oracle.Pair(r, m, self.main.depth), options)) for r, m in zip(*self.planes)]


def expect(result, rows, prefix=""):
    """The records have these scores, bit for bit."""
    records = result.records
    assert len(records) == len(rows), str(result)
    for n, (record, row) in enumerate(zip(records, rows)):
        for name, value in row.items():
            assert record.scores.get(prefix + name) == record.scores.get(prefix + name) and float(record.scores[prefix + name]).hex() == float(value).hex(), \
                f"frame {n}, {prefix}{name}: {record.scores[prefix + name]}, expected {value!r}\n{result}"


def only(row, names):
    return {k: row[k] for k in names}


@pytest.fixture(scope="module")
def busy():
    """61x45, 8 bits, seven frames."""
    return Case(*oracle.pictures("420", 8, 61, 45, 7, 3))


# ---- values ----

@pytest.mark.parametrize("fmt", ["gray", "nv12", "yuv420p9le", "yuv422p10le", "p010le", "yuv444p12le", "yuv444p14le", "gray16le"])
def test_formats(ff, rawfile, need_format, fmt):
    need_format(fmt)
    chroma, depth = oracle.FORMATS[fmt][:2]
    case = Case(*oracle.pictures(chroma, depth, 39, 34, 4, 5))
    result = ff.score(*case.files(rawfile, fmt), "metrics=vif+motion:options=debug=1")
    complete(result, 4, VIF + VIF_DEBUG + MOTION + ["motion"])
    expect(result, [only(row, VIF + VIF_DEBUG) for row in case.vif()])
    expect(result, [{**only(row, MOTION), "motion": row["motion_sad"]} for row in case.motion()])


@pytest.mark.parametrize("options,arguments", [
    ("vif_enhn_gain_limit=1", {"gain_limit": 1.0}), ("vif_enhn_gain_limit=1.1", {"gain_limit": 1.1}), ("vif_skip_scale0=1", {"skip_scale0": True}),
])
def test_options_of_vif(ff, rawfile, busy, options, arguments):
    result = ff.score(*busy.files(rawfile, "yuv420p"), f"metrics=vif:options=debug=1|{options}")
    expect(result, [only(row, VIF + VIF_DEBUG) for row in busy.vif(**arguments)])


@pytest.mark.parametrize("options", [
    {"five_frame_window": True}, {"moving_average": True}, {"five_frame_window": True, "moving_average": True, "max_val": 18.0}, {"fps_weight": 2.5},
    {"blend_factor": 0.5, "blend_offset": 3.0}, {"max_val": 2.5}, {"force_zero": True},
])
@pytest.mark.parametrize("frames", [1, 2, 3, 7])
def test_options_of_motion(ff, rawfile, busy, options, frames):
    text = "|".join(f"motion_{k}={int(v) if v is True else v}" for k, v in options.items())
    short = Case(*(oracle.Clip(c.chroma, c.depth, c.width, c.height, c.frames[:frames]) for c in (busy.main, busy.ref)))
    result = ff.score(*short.files(rawfile, "yuv420p"), f"metrics=motion:options={text}")
    expect(result, [only(row, MOTION) for row in short.motion(**options)])


def test_least_sizes(ff, rawfile):
    case = Case(*oracle.pictures("400", 8, 16, 17, 3, 1))
    expect(ff.score(*case.files(rawfile, "gray"), "metrics=vif"), [only(row, VIF) for row in case.vif()])
    case = Case(*oracle.pictures("400", 8, 3, 4, 3, 1))
    expect(ff.score(*case.files(rawfile, "gray"), "metrics=motion"), [only(row, MOTION) for row in case.motion()])


# ---- models ----

def small_features(case):
    """What small.json is made from."""
    motion, vif = case.motion(force_zero=True), case.vif()
    adm = case.adm({"adm_enhn_gain_limit": "1.2", "adm_csf_mode": "2"})
    return [(a["adm3"], m["motion2"], v["vif_scale1"]) for a, m, v in zip(adm, motion, vif)]


def test_model(ff, rawfile, busy):
    """By name, by file; each metric that the model needs is there, with the model's options."""
    files, model = busy.files(rawfile, "yuv420p"), vmaf_oracle.Model(SMALL / "small.json")
    rows = [{"vmaf": model.predict(f)[0], "adm3": f[0], "motion2": f[1], "vif_scale1": f[2]} for f in small_features(busy)]
    results = [ff.score(*files, f"model={name}", env=env) for name, env in (("small", HERE), (SMALL / "small.json", {}), ("small", HERE))]
    results.append(ff.score(*files, "metrics=vmaf:options=model=small", env=HERE))
    same(results)
    for result in results:
        complete(result, 7, ADM + VIF + MOTION + ["vmaf"])
        expect(result, rows)
        values = [float(r.scores["vmaf"]) for r in result.records]
        lines = [text for _, text in filter_lines(result.err) if "VMAF score" in text]
        assert lines == ["VMAF score: %f" % (sum(values) / 7)], str(result)


def test_several_models(ff, rawfile, busy):
    """Names, flags, and one computation of what models share."""
    files = busy.files(rawfile, "yuv420p")
    result = ff.score(*files, "model=small|small@raw+noclip|small_collection@many|small@mobile+phone+noclip", env=HERE)
    collection = vmaf_oracle.Model(SMALL / "small_collection.json")
    members = ["many"] + [f"many_{i:04}" for i in range(1, len(collection.singles))] + ["many_bagging", "many_stddev", "many_ci_p95_lo", "many_ci_p95_hi"]
    record = result.records[0]
    assert set(["vmaf", "raw", "mobile"] + members) <= set(record.scores), str(result)
    assert [name for name in record.scores if name.endswith("adm3")] == ["adm3"] or collection.features, str(result)
    features = small_features(busy)
    for name, flags in (("vmaf", ()), ("raw", ("disable-clip",)), ("mobile", ("disable-clip", "enable-transform"))):
        model = vmaf_oracle.Model(SMALL / "small.json", flags)
        expect(result, [{name: model.predict(f)[0]} for f in features])
    summary = [text for _, text in filter_lines(result.err) if text.startswith("vmaf ")]
    assert "many_bagging" in summary[0] and not any("many_0001" in text for text in summary), str(result)


def test_a_model_beside_metrics(ff, rawfile, busy):
    """What was asked for keeps its name and options; a model with others brings its own, under its name."""
    files = busy.files(rawfile, "yuv420p")
    result = ff.score(*files, "metrics=adm+motion+vif:model=small@hd", env=HERE)
    names = set(result.records[0].scores)
    assert names == set(ADM + MOTION + VIF + ["hd." + n for n in ADM] + ["hd." + n for n in MOTION] + ["hd"]), str(result)
    expect(result, [only(row, ADM) for row in busy.adm()])
    expect(result, [{"adm3": f[0], "motion2": f[1]} for f in small_features(busy)], "hd.")
    plain = ff.score(*files, "model=small@hd", env=HERE)
    assert [r.scores["hd"] for r in result.records] == [r.scores["hd"] for r in plain.records]


def test_log(ff, rawfile, busy, tmp_path):
    """libvmaf's names in libvmaf's order: what is known at the end of the sequence comes last, then the model."""
    log = tmp_path / "log.json"
    ff.score(*busy.files(rawfile, "yuv420p"), f"model=small:log_path={log}", env=HERE)
    frames = json.loads(log.read_text())["frames"]
    suffix = "_csf_2_egl_1.2"
    assert list(frames[1]["metrics"]) == [f"integer_{n}{suffix}" for n in ADM] + ["VMAF_integer_feature_motion_sad_score_force_0"] + \
        [f"integer_vif_scale{s}" for s in range(4)] + ["integer_motion2_force_0", "integer_motion3_force_0", "vmaf"], frames[1]


@pytest.mark.parametrize("options", ["threads=1:async_depth=1", "threads=4:async_depth=9", "async_depth=2"])
def test_repeatable(ff, rawfile, busy, options):
    files = busy.files(rawfile, "yuv420p")
    metrics = "metrics=vmaf+psnr+motion@five:options=model=small|five.motion_five_frame_window=1"
    calls = [lambda a=arguments: ff.score(*files, f"{metrics}:{options}", args=a, env=HERE) for arguments in [()] + [("-cpuflags", flags) for flags in levels()]]
    same([ff.score(*files, metrics, env=HERE)] + ff.many(calls))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_subsampling_leaves_motion_alone(ff, rawfile, busy, n):
    files = busy.files(rawfile, "yuv420p")
    options = "metrics=vmaf+motion@five:options=model=small|five.motion_five_frame_window=1|five.motion_moving_average=1"
    whole, part = ff.score(*files, options, env=HERE), ff.score(*files, f"{options}:subsample={n}", env=HERE)
    assert {r.frame: r.scores for r in part.records} == {r.frame: r.scores for r in whole.records if r.frame % n == 0}, str(part)


def test_early_end(ff, busy, rawfile):
    """-frames:v ends the run before the sequence ends: the frames that came out are those of the whole run."""
    files = busy.files(rawfile, "yuv420p")
    whole = ff.score(*files, "model=small", env=HERE)
    part = ff.score(*files, "model=small", env=HERE, tail=("-frames:v", "3", "-f", "null", "-"))
    assert [r.scores for r in part.records[:3]] == [r.scores for r in whole.records[:3]], str(part)


@pytest.mark.parametrize("options,words", [
    ("model=no_such_model", ["no_such_model", "EXACTVQ_MODEL_PATH", "fetch-models"]),
    ("model=/nonexistent/m.json", ["/nonexistent/m.json", "No such file or directory"]),
    ("model=small|small", ["'vmaf' is asked for twice", "label"]),
    ("model=small@Big", ["the label 'Big' is not valid"]),
    ("model=small@", ["the name after '@' in 'small@' is empty"]),
    ("model=+phone", ["is empty"]),
    ("model=small@adm", ["the label 'adm' is a metric's name"]),
    ("metrics=vmaf:options=vmaf.fone=1", ["fone"]),
    ("metrics=vif:options=vif_enhn_gain_limit=0.5", ["vif.vif_enhn_gain_limit cannot be '0.5': it takes 1 to 100"]),
    ("metrics=motion:options=motion_blend_factor=1.5", ["motion.motion_blend_factor cannot be '1.5': it takes 0 to 1"]),
])
def test_refused(ff, rawfile, busy, options, words):
    refused(ff.score(*busy.files(rawfile, "yuv420p"), options, check=False, env=HERE), *words)


@pytest.mark.parametrize("metrics,size,words", [
    ("metrics=vif", (40, 15), "vif needs pictures of at least 16x16 samples, these have 40x15"),
    ("metrics=motion", (2, 30), "motion needs pictures of at least 3x3 samples, these have 2x30"),
    ("model=small", (16, 40), "adm needs pictures of at least 17x17 samples, these have 16x40"),
])
def test_small_pictures_are_refused(ff, rawfile, metrics, size, words):
    case = Case(*oracle.pictures("400", 8, *size, 2, 1))
    refused(ff.score(*case.files(rawfile, "gray"), metrics, check=False, env=HERE), words)


@pytest.mark.skipif(not OWN, reason="EXACTVQ_MODELS is not set: libvmaf's models are not here")
def test_own_models(ff, rawfile, busy):
    """v0.6.1 and its neg twin, which brings adm and vif of its own; the phone model; the 4k model; the ensemble."""
    env = {"EXACTVQ_MODEL_PATH": OWN}
    result = ff.score(*busy.files(rawfile, "yuv420p"), "model=vmaf_v0.6.1|vmaf_v0.6.1neg@neg|vmaf_v0.6.1@phone+phone|vmaf_4k_v0.6.1@uhd|vmaf_b_v0.6.3@b", env=env)
    vif, motion, adm = busy.vif(), busy.motion(), busy.adm()
    neg_vif, neg_adm = busy.vif(gain_limit=1.0), busy.adm({"adm_enhn_gain_limit": "1"})
    rows = [[a["adm2"], m["motion2"]] + [v[n] for n in VIF] for a, m, v in zip(adm, motion, vif)]
    neg = [[a["adm2"], m["motion2"]] + [v[n] for n in VIF] for a, m, v in zip(neg_adm, motion, neg_vif)]
    for name, file, flags, features in (("vmaf", "vmaf_v0.6.1", (), rows), ("neg", "vmaf_v0.6.1neg", (), neg), ("phone", "vmaf_v0.6.1", ("enable-transform",), rows),
                                        ("uhd", "vmaf_4k_v0.6.1", (), rows)):
        model = vmaf_oracle.Model(f"{OWN}/{file}.json", flags)
        expect(result, [{name: model.predict(f)[0]} for f in features])
    model = vmaf_oracle.Model(f"{OWN}/vmaf_b_v0.6.3.json")
    names = ["b"] + [f"b_{i:04}" for i in range(1, 21)] + ["b_bagging", "b_stddev", "b_ci_p95_lo", "b_ci_p95_hi"]
    expect(result, [dict(zip(names, model.predict(f))) for f in rows])
    expect(result, [only(row, ADM) for row in neg_adm], "neg.")
    expect(result, [only(row, VIF) for row in neg_vif], "neg.")
    assert not any(name.startswith(("uhd.", "phone.", "b.")) for name in result.records[0].scores), str(result)
    assert len(re.findall("VMAF score: ", result.err)) == 1, str(result)
