# SPDX-License-Identifier: BSD-2-Clause
"""What the filter says: the line at the start, the summary, silence, help."""

import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ET

import pytest

import oracle
from harness import POOLS, PREFIX, filter_lines, parse_summaries, pooled, read_json, refused

ALL = "metrics=psnr+float_psnr+psnr_hvs+adm"
NAMES = {
    "psnr": ["psnr_y", "psnr_cb", "psnr_cr"],
    "float_psnr": ["float_psnr"],
    "psnr_hvs": ["psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"],
    "adm": ["adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"],
}


def pools_of(records, names):
    table = {n: pooled([r.value(n) for r in records]) for n in names}
    return {pool: {n: "%.6f" % table[n][pool] for n in names} for pool in POOLS}


@pytest.mark.parametrize("pool", [None, *POOLS[:-1]])
def test_pools(ff, coded, pool):
    """All pools of the records, the chosen one first, and the line of counts at the end."""
    result = ff.score(*coded, ALL + (f":pool={pool}" if pool else ""))
    summary = result.summary
    assert list(summary.pools) == list(NAMES)
    for metric, names in NAMES.items():
        assert summary.pools[metric] == pools_of(result.records, names)
        first = pool or "mean"
        assert list(summary.pools[metric]) == [first, *(p for p in POOLS if p != first)]
        assert all(list(v) == names for v in summary.pools[metric].values())
    assert summary.lines[-1] == "paired: 25, main without partner: 0, reference unused: 0"
    assert len(summary.lines) == 6  # adm in two
    assert [t for _, t in filter_lines(result.err)][-6:] == summary.lines


def test_line_format(ff, coded):
    number = r"(?:\d+\.\d{6}|inf)"
    for line in ff.score(*coded, "metrics=psnr+float_psnr+psnr_hvs").summary.lines[:-1]:
        values = rf"(?: [a-z_]+[0-3]? {number})+"
        assert re.fullmatch(r"[a-z_]+ " + r" \| ".join(f"{pool}:{values}" for pool in POOLS), line), line


def test_long_lines_are_split(ff, coded):
    """FFmpeg cuts lines of more than 1023 bytes."""
    result = ff.score(*coded, "metrics=adm:options=debug=1")
    names = list(result.records[0].scores)
    assert len(names) == 18 and result.summary.pools == {"adm": pools_of(result.records, names)}
    assert len(result.summary.lines) > 3


def test_without_percentiles(ff, coded):
    """Constant memory instead of percentiles."""
    result = ff.score(*coded, "metrics=psnr:percentiles=0")
    assert result.summary.pools == {"psnr": {p: v for p, v in pools_of(result.records, NAMES["psnr"]).items() if p not in ("p1", "p5", "p10")}}
    refused(ff.score(*coded, "metrics=psnr:percentiles=0:pool=p5", check=False), "pool=p5", "percentiles=1")
    refused(ff.score(*coded, "metrics=psnr:pool=stddev", check=False), "stddev", own=False)
    refused(ff.score(*coded, "metrics=psnr:pool=p50", check=False), "p50", own=False)


def test_summary_of_optional_scores(ff, coded):
    result = ff.score(*coded, "metrics=psnr:options=enable_mse=1|enable_apsnr=1")
    names = ["psnr_y", "mse_y", "psnr_cb", "mse_cb", "psnr_cr", "mse_cr"]
    assert result.summary.pools == {"psnr": pools_of(result.records, names)}
    assert list(result.summary.aggregates) == ["psnr"] and list(result.summary.aggregates["psnr"]) == ["apsnr_y", "apsnr_cb", "apsnr_cr"]
    assert len(result.summary.lines) == 3


def test_infinite_scores(ff):
    source = "testsrc2=s=48x32:r=25:d=0.2,format=yuv420p"
    result = ff.score(source, source, ALL)
    for pool in POOLS:
        assert set(result.summary.pools["psnr_hvs"][pool].values()) == {"inf"}
        assert set(result.summary.pools["psnr"][pool].values()) == {"0.000000" if pool == "stddev" else "60.000000"}
    assert "nan" not in result.err.lower().replace("nanosec", "")


def test_summary_of_labels(ff, coded):
    result = ff.score(*coded, "metrics=psnr+psnr@luma:options=luma.enable_chroma=0")
    assert list(result.summary.pools) == ["psnr", "psnr@luma"]
    assert result.summary.pools["psnr"] == pools_of(result.records, NAMES["psnr"])
    got = {pool: {n.removeprefix("luma."): v for n, v in values.items()} for pool, values in result.summary.pools["psnr@luma"].items()}
    assert got == {pool: {"psnr_y": v["psnr_y"]} for pool, v in result.summary.pools["psnr"].items()}


def test_gray(ff):
    result = ff.score("testsrc2=s=48x32:r=25:d=0.2,avgblur=2,format=gray", "testsrc2=s=48x32:r=25:d=0.2,format=gray", ALL)
    assert list(result.summary.pools["psnr"]["mean"]) == ["psnr_y"]
    assert list(result.summary.pools["psnr_hvs"]["mean"]) == ["psnr_hvs_y", "psnr_hvs"]
    assert all(r.scores["psnr_hvs"] == r.scores["psnr_hvs_y"] for r in result.records)


def test_counts_line(ff):
    main, ref = "color=s=48x32:r=25:d=1,format=yuv420p", "color=s=48x32:r=50:d=0.4,format=yuv420p"
    assert ff.score(main, ref).summary.lines[-1] == "paired: 10, main without partner: 15, reference unused: 10"
    assert ff.score(main, ref, "enable='gte(n,5)'").summary.lines[-1].startswith("paired: 5, main without partner: 15, reference unused: ")
    assert ff.score(main, ref, "enable='gte(n,5)'").summary.lines[-1].endswith(", disabled: 5")


def test_start_line(ff, rawfile):
    """Which input is what, said once."""
    main, ref = oracle.pictures("420", 8, 64, 48, 3)
    result = ff.score(rawfile(main, "yuv420p"), rawfile(ref, "nv12"), ALL + ":threads=2")
    lines = [t for _, t in filter_lines(result.err) if t.startswith("scoring ")]
    assert len(lines) == 1, str(result)
    assert re.fullmatch(r"scoring main \(distorted, 64x48 yuv420p\) against reference \(64x48 nv12\) with psnr\+float_psnr\+psnr_hvs\+adm on cpu \(.*2 threads\)", lines[0]), lines[0]
    assert [t for _, t in filter_lines(result.err)][0] == lines[0]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_option(ff, threads):
    """The line at the start names the number that was asked for."""
    source = "color=s=48x32:r=25:d=0.2,format=yuv420p"
    line = next(t for _, t in filter_lines(ff.score(source, source, f"metrics=psnr:threads={threads}").err) if t.startswith("scoring "))
    assert re.search(rf"\b{threads} threads?\)$", line), line


def test_main_is_the_first_input(ff, rawfile):
    """Distorted first, reference second, as in FFmpeg's own metric filters."""
    result = ff.score("testsrc2=s=48x32:r=25:d=0.2,format=nv12", "testsrc2=s=48x32:r=25:d=0.2,format=nv21")
    line = next(t for _, t in filter_lines(result.err) if t.startswith("scoring "))
    assert line.index("nv12") < line.index("nv21")


@pytest.mark.parametrize("level", ["error", "warning", "quiet"])
def test_quiet(ff, coded, tmp_path, level):
    """With -loglevel error nothing is printed; metadata and log are there all the same."""
    log = tmp_path / "log.json"
    result = ff.score(*coded, f"{ALL}:log_path={log}", args=["-loglevel", level])
    assert result.err == ""
    assert len(result.records) == 25 and all(len(r.scores) == 15 for r in result.records)
    data = read_json(log)
    assert len(data["frames"]) == 25 and set(data["pooled_metrics"]) == {n for m, names in NAMES.items() for n in ([f"integer_{n}" for n in names] if m == "adm" else names)}
    assert all(PREFIX + n.removeprefix("integer_") in result.records[24].tags for n in data["pooled_metrics"])


def test_each_line_is_one_message(ff, coded):
    """Two instances at once: no line is mixed with another (each is written by one call)."""
    graph = f"[0:v]split[a][b];[1:v]split[c][d];[a][c]exactvq={ALL}[o];[b][d]exactvq={ALL}[p]"
    result = ff.run(*coded[0], *coded[1], "-lavfi", graph, "-map", "[o]", "-f", "null", "-", "-map", "[p]", "-f", "null", "-")
    by_instance = {}
    for name, text in filter_lines(result.err):
        by_instance.setdefault(name, []).append(text)
    a, b = by_instance.values()
    assert a == b and len(a) == 7


def test_instance_name(ff, coded):
    """A named filter has its name in the log."""
    result = ff.run(*coded[0], *coded[1], "-lavfi", "[0:v][1:v]exactvq@mine=metrics=psnr", "-f", "null", "-")
    assert {name for name, _ in filter_lines(result.err)} == {"exactvq@mine"}


def test_help(ff):
    text = ff.run("-h", "filter=exactvq").out.decode()
    for option in ("metrics", "options", "backend", "device", "threads", "async_depth", "log_path", "log_fmt", "log_precision", "pool", "percentiles", "subsample", "n_subsample", "range", "bits",
                   "pairing", "shortest", "eof_action"):
        assert re.search(rf"^\s+{option}\s+<", text, re.M), f"{option}\n{text}"
    assert re.search(r"#0: main \(video\)\s+#1: reference \(video\)", text), text
    assert "timeline" in text.lower()
    assert re.search(r"metrics\s.*psnr\+psnr_hvs", text), text


def test_no_summary_when_killed(ff):
    """An interrupted run says nothing false."""
    source = "testsrc2=s=64x48:r=25,format=yuv420p"
    result = ff.score(source, source, "metrics=psnr", check=None, kill_at_output=True)
    assert result.rc < 0 and not result.has_summary


def interrupted(ff, options, how):
    """Exit status and stderr of ffmpeg that is told to end after a third of a second."""
    source = "testsrc2=s=64x48:r=25,format=yuv420p"
    process = subprocess.Popen([ff.ffmpeg, "-hide_banner", "-nostats", "-f", "lavfi", "-i", source, "-f", "lavfi", "-i", source, "-lavfi",
                                f"[0:v][1:v]exactvq={options}", "-f", "null", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        # the output is described when its first frame is there
        for line in process.stderr:
            if line.startswith("Output #0"):
                break
        time.sleep(0.3)
        if how == "q":
            process.stdin.write("q")
            process.stdin.flush()
        else:
            process.send_signal(getattr(signal, how))
        err = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()
    return process.returncode, err


@pytest.mark.parametrize("fmt", ["json", "xml"])
@pytest.mark.parametrize("how", ["q", "SIGINT", "SIGTERM"])
def test_interrupted_run_is_summed_up(ff, tmp_path, how, fmt):
    """q or a signal ends ffmpeg in an orderly way: what was scored is summed up and the log is complete."""
    log = tmp_path / "log"
    for attempt in range(2):
        try:
            status, err = interrupted(ff, f"metrics=psnr:log_path={log}:log_fmt={fmt}", how)
            break
        except subprocess.TimeoutExpired:  # as in harness.run()
            assert attempt == 0
            for left in tmp_path.iterdir():
                left.unlink()
    assert status >= 0, err
    summary = next(iter(parse_summaries(err).values()))
    assert summary.counts["paired"] > 0
    assert len(read_json(log)["frames"] if fmt == "json" else ET.parse(log).find("frames")) == summary.counts["paired"]
    assert [p.name for p in tmp_path.iterdir()] == ["log"]
