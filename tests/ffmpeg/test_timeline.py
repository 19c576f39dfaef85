# SPDX-License-Identifier: BSD-2-Clause
"""enable= and subsample: which frames are scored at all."""

import pytest

from harness import PREFIX, counts, pooled, read_json

MAIN, REF = "testsrc2=s=48x32:r=25:d=1,avgblur=2,format=yuv420p", "testsrc2=s=48x32:r=25:d=1,format=yuv420p"
NAMES = {"psnr_y", "psnr_cb", "psnr_cr"}


@pytest.fixture(scope="module")
def whole(ff):
    return {r.frame: r.tags for r in ff.score(MAIN, REF, "metrics=psnr").records}


@pytest.mark.parametrize("enable,scored", [
    ("between(n,2,5)", range(2, 6)), ("gte(n,20)", range(20, 25)), ("lt(n,3)", range(3)), ("between(t,0.2,0.36)", range(5, 10)), ("mod(n,2)", range(1, 25, 2)),
    ("eq(n,24)", [24]), ("1", range(25)),
])
def test_enable(ff, whole, enable, scored):
    result = ff.score(MAIN, REF, f"metrics=psnr:enable='{enable}'")
    assert {r.frame: r.tags for r in result.records} == {n: whole[n] for n in scored}
    s = result.summary.counts
    assert (s["paired"], s["unpaired"], s["disabled"]) == (len(scored), 0, 25 - len(scored)), str(result)
    values = [float(whole[n][PREFIX + "psnr_y"]) for n in scored]
    assert result.summary.pools["psnr"]["mean"]["psnr_y"] == "%.6f" % pooled(values)["mean"]


def test_enable_passes_every_frame(ff, tmp_path):
    out = tmp_path / "out.md5"
    ff.score(MAIN, REF, "metrics=psnr:enable='between(n,2,5)'", tail=["-f", "framemd5", str(out)])
    assert out.read_bytes() == ff.run("-f", "lavfi", "-i", MAIN, "-f", "framemd5", "-").out


def test_never_enabled(ff):
    """Nothing was asked for: no error, no score."""
    result = ff.score(MAIN, REF, "metrics=psnr:enable=0")
    assert not result.records
    assert not any(result.summary.pools.values()) if result.has_summary else True


def test_enable_by_index(ff, whole):
    result = ff.score(MAIN, REF, "metrics=psnr:pairing=index:enable='between(n,2,5)'")
    assert {r.frame: r.tags for r in result.records} == {n: whole[n] for n in range(2, 6)}


def test_enable_with_a_short_reference(ff):
    """Frames without a partner are told apart from disabled ones."""
    result = ff.score(MAIN, REF, "metrics=psnr:enable='gte(n,5)'", before_ref="trim=end_frame=10")
    records = {r.frame: r for r in result.records}
    assert sorted(records) == list(range(5, 25))
    assert all((PREFIX + "paired" in records[n].tags) == (n >= 10) for n in records)
    s = result.summary.counts
    assert (s["paired"], s["unpaired"], s["disabled"]) == (5, 15, 5)


@pytest.mark.parametrize("option", ["subsample", "n_subsample"])
@pytest.mark.parametrize("step", [1, 2, 3, 7, 25, 1000])
def test_subsample(ff, whole, tmp_path, option, step):
    log = tmp_path / "log.json"
    result = ff.score(MAIN, REF, f"metrics=psnr+float_psnr+psnr_hvs:{option}={step}:log_path={log}")
    scored = list(range(0, 25, step))
    assert [r.frame for r in result.records if r.scores] == scored
    for r in result.records:
        if r.scores:
            assert len(r.scores) == 8
            assert {k: r.tags[k] for k in whole[r.frame]} == whole[r.frame]
        assert PREFIX + "paired" not in r.tags
    counts(result, 25)
    frames = read_json(log)["frames"]
    assert [f["frameNum"] for f in frames] == scored and all(len(f["metrics"]) == 8 for f in frames)
    for name in NAMES:
        values = [float(whole[n][PREFIX + name]) for n in scored]
        assert {pool: v[name] for pool, v in result.summary.pools["psnr"].items()} == {pool: "%.6f" % v for pool, v in pooled(values).items()}
