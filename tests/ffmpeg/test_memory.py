# SPDX-License-Identifier: BSD-2-Clause
"""Memory is flat, bounded when one input runs ahead, and may run out without a crash or a false score."""

import os

import pytest

import oracle
from harness import complete, counts, parse_records, read_json, refused

ALL = "metrics=psnr+float_psnr+psnr_hvs+adm"
NAMES = ["psnr_y", "psnr_cb", "psnr_cr", "float_psnr", "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs",
         "adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"]
MIB = 1 << 20


@pytest.fixture
def measurable(ff):
    if ff.asan:
        pytest.skip("the size of a process under ASan says nothing")


def moving(size, frames, rate=25):
    return f"testsrc2=s={size}:r={rate},trim=end_frame={frames},format=yuv420p"


def flat(ff, frames, bound, options=""):
    short, long_ = (ff.score(moving("64x64", n), moving("64x64", n), ALL + options, peak=True, timeout=900, tail=("-f", "null", "-")) for n in (300, frames))
    counts(long_, frames)
    assert long_.peak - short.peak < bound, (short.peak, long_.peak)


def test_flat(ff, measurable):
    flat(ff, 2000, 3 * MIB)


@pytest.mark.slow
def test_flat_over_10000_frames(ff, measurable):
    flat(ff, 10000, 3 * MIB, ":percentiles=0")


@pytest.mark.slow
def test_flat_with_a_log(ff, measurable, tmp_path):
    """A log keeps the scores and at the end its text: less than 2 kB a frame, not frames."""
    flat(ff, 10000, 16 * MIB, f":log_path={tmp_path / 'log.json'}")
    assert len(read_json(tmp_path / "log.json")["frames"]) == 10000


# 320x240 yuv420p: 115 kB a frame, so 1,000 frames that are kept would be 110 MiB.
AHEAD = [
    ("reference-starts-early", moving("320x240", 30), moving("320x240", 1000), "setpts=PTS+38/TB", "null", 30),
    ("main-starts-early", moving("320x240", 1000), moving("320x240", 30), "null", "setpts=PTS+38/TB", 30),
    ("reference-goes-on", moving("320x240", 10), moving("320x240", 1000), "null", "null", 10),
    ("main-goes-on", moving("320x240", 1000), moving("320x240", 10), "null", "null", 10),
    ("reference-much-faster", moving("320x240", 5, 1), moving("320x240", 1000, 250), "null", "null", 4),
    ("main-much-faster", moving("320x240", 1000, 250), moving("320x240", 5, 1), "null", "null", 4),
]


@pytest.mark.parametrize("main,ref,before_main,before_ref,pairs", [a[1:] for a in AHEAD], ids=[a[0] for a in AHEAD])
def test_one_input_runs_ahead(ff, measurable, main, ref, before_main, before_ref, pairs):
    base = ff.score(moving("320x240", 30), moving("320x240", 30), "metrics=psnr", peak=True)
    result = ff.score(main, ref, "metrics=psnr", before_main=before_main, before_ref=before_ref, peak=True)
    assert result.summary.counts["paired"] >= pairs
    assert result.peak - base.peak < 24 * MIB, (base.peak, result.peak)


@pytest.mark.parametrize("options,before_ref,paired", [("", "trim=end_frame=5", 5), ("enable='lt(n,5)'", "null", 5), ("enable='lt(n,5)+gt(n,590)'", "null", 14),
                                                       ("", "select='lt(n,5)+gt(n,590)'", 14)], ids=["reference-ends", "disabled", "disabled-for-a-while", "gap"])
def test_no_score_waits_for_long(ff, measurable, options, before_ref, paired):
    """motion waits for the next pair, but not over hundreds of frames that are held meanwhile: 345 kB each here."""
    source = moving("480x240", 600).replace("yuv420p", "yuv444p")
    results = [ff.score(source, source, ":".join(filter(None, [f"metrics={metric}", options])), before_ref=before_ref, peak=True) for metric in ("float_psnr", "motion")]
    assert len(results[1].records) >= paired and results[1].summary.counts["paired"] == paired, str(results[1])
    assert results[1].peak - results[0].peak < 40 * MIB, [r.peak for r in results]
    # Another sequence starts after the gap.
    sad = [r.value("motion_sad") for r in results[1].records if r.scores]
    assert len(sad) == paired and [i for i, v in enumerate(sad) if v == 0] == [0, 5][:1 + (paired > 5)], sad


@pytest.mark.parametrize("depth", [1, 64])
def test_frames_in_flight_bound_the_memory(ff, measurable, depth):
    base = ff.score(moving("320x240", 30), moving("320x240", 30), "metrics=psnr:async_depth=1", peak=True)
    result = ff.score(moving("320x240", 500), moving("320x240", 500), f"metrics=psnr_hvs:async_depth={depth}:threads=1", peak=True)
    # two frames a pair, and room for the queues of ffmpeg itself
    assert result.peak - base.peak < (2 * depth * 320 * 240 * 3 // 2) + 16 * MIB, (base.peak, result.peak)


# ---- memory runs out ----

def oom_env(ff, library, **settings):
    env = {"LD_PRELOAD": ":".join(p for p in (str(library), os.environ.get("LD_PRELOAD")) if p), **{k: str(v) for k, v in settings.items()}}
    if ff.asan:
        # ours has to come before the operator new of ASan
        env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return env


@pytest.fixture(scope="module")
def short_pair(rawfile):
    main, ref = oracle.pictures("420", 8, 48, 40, 6)
    return rawfile(main, "yuv420p"), rawfile(ref, "yuv420p")


OPTIONS = ALL + "+psnr_hvs@f64+adm@neg:options=f64.psnr_hvs_mask=f64|neg.adm_enhn_gain_limit=1|enable_apsnr=1|enable_mse=1:threads=2:async_depth=3"


@pytest.fixture(scope="module")
def allocations(ff, oom_library, short_pair, tmp_path_factory):
    """(allocations, threads) of an undisturbed run with a log."""
    folder = tmp_path_factory.mktemp("count")
    result = ff.score(*short_pair, f"{OPTIONS}:log_path={folder / 'log.json'}", env=oom_env(ff, oom_library, OOM_COUNT=folder / "count"))
    assert len(result.records) == 6
    calls, threads = map(int, (folder / "count").read_text().split())
    assert calls > 5, "the preloaded library sees no allocation of libexactvq"
    return calls, threads


def faults(ff, library, pair, folder, settings):
    """Runs once for each of `settings`: either everything is right or it is an orderly failure. All that is wrong is listed."""
    reference = ff.score(*pair, OPTIONS)
    wrong, failed = [], []

    def one(n, setting):
        here = folder / str(n)
        here.mkdir()
        log = here / "log.json"
        result = ff.score(*pair, f"{OPTIONS}:log_path={log}", env=oom_env(ff, library, **setting), check=None, signals=True, timeout=120, hang=None)
        problems = []
        if result.hung:
            problems.append("hangs")
        elif result.rc < 0:
            problems.append(f"ended by signal {-result.rc}")
        elif result.rc == 0:
            if result.out != reference.out or result.summary.counts["paired"] != 6 or len(read_json(log)["frames"]) != 6:
                problems.append("exit status 0 with an incomplete result")
        else:
            failed.append(setting)
            # frames that were delivered before it happened may have been right
            done = parse_records(result.out.decode())
            if [r.tags for r in done] != [r.tags for r in reference.records[:len(done)]]:
                problems.append("other scores")
            if "memory" not in result.err.lower():
                problems.append("the message does not speak of memory")
            if log.exists():
                problems.append("a log after a failure")
        if result.rc and result.has_summary:
            problems.append("a summary after a failure")
        if any(text in result.err for text in ("terminate called", "AddressSanitizer", "Assertion")):
            problems.append("aborted")
        if set(os.listdir(here)) - {"log.json"} and not result.hung and result.rc >= 0:
            problems.append(f"files left behind: {os.listdir(here)}")
        if problems:
            wrong.append((n, setting, problems, result))

    ff.many([lambda n=n, s=s: one(n, s) for n, s in enumerate(settings)])
    if wrong:
        wrong.sort(key=lambda w: w[0])
        pytest.fail("\n".join(f"{setting}: {'; '.join(problems)}" for _, setting, problems, _ in wrong) + f"\nthe first of them:\n{wrong[0][3]}", pytrace=False)
    return failed


@pytest.mark.parametrize("kind", ["OOM_FROM", "OOM_AT"])
def test_a13_out_of_memory(ff, oom_library, short_pair, allocations, tmp_path, kind):
    """Each of the first allocations fails, alone or with all that follow, then a sample of the later ones."""
    calls, _ = allocations
    points = sorted(set(range(1, min(calls, 60) + 1)) | {60 + (calls - 60) * i // 40 for i in range(41) if calls > 60})
    assert faults(ff, oom_library, short_pair, tmp_path, [{kind: n} for n in points]), "no fault was noticed"


def test_a13_out_of_threads(ff, oom_library, short_pair, allocations, tmp_path):
    _, threads = allocations
    assert threads, "the preloaded library sees no thread of libexactvq"
    failed = faults(ff, oom_library, short_pair, tmp_path, [{"OOM_THREAD": n} for n in range(1, threads + 1)])
    assert len(failed) == threads, "every thread that cannot be started is an error"


def test_preloading_alone_changes_nothing(ff, oom_library, short_pair):
    plain = ff.score(*short_pair, ALL)
    loaded = ff.score(*short_pair, ALL, env=oom_env(ff, oom_library))
    assert loaded.out == plain.out
    complete(loaded, 6, NAMES)


def test_refusals_under_memory_pressure(ff, oom_library, short_pair, tmp_path):
    """A refusal under memory pressure is still one sentence and no crash."""
    for n in (1, 3, 10, 30):
        result = ff.score(short_pair[0], ["-f", "rawvideo", "-pix_fmt", "gray", "-s", "48x40", "-i", short_pair[1][-1]], ALL,
                          env=oom_env(ff, oom_library, OOM_FROM=n), check=False)
        refused(result)
