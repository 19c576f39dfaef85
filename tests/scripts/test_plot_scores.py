# SPDX-License-Identifier: BSD-2-Clause
"""scripts/plot-scores: what it reads, which numbers it draws, what it refuses. The scores are made up, so that each has one place where it must be drawn."""

import importlib.machinery
import importlib.util
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/plot-scores"

loader = importlib.machinery.SourceFileLoader("plot_scores", str(SCRIPT))
plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot_scores", loader))
sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
sys.modules["plot_scores"] = plot  # dataclasses look their module up
loader.exec_module(plot)
sys.dont_write_bytecode = kept

INF = math.inf
LIBVMAF = {"adm2": "integer_adm2", "neg.adm2": "neg.integer_adm2_egl_1", "motion_sad": "VMAF_integer_feature_motion_sad_score"}

# Frame number: scores, None where main has no partner. Frame 3 is identical to its reference.
RUN = {
    0: {"psnr_y": 31.5, "psnr_cb": 40.0, "psnr_hvs": 30.25, "adm2": 0.91, "neg.adm2": 0.9, "motion_sad": 0.0, "vmaf": 71.0},
    1: {"psnr_y": 30.5, "psnr_cb": 41.0, "psnr_hvs": 29.0, "adm2": 0.93, "neg.adm2": 0.92, "motion_sad": 2.5, "vmaf": 73.5},
    2: {"psnr_y": 32.5, "psnr_cb": 42.0, "psnr_hvs": 31.0, "adm2": 0.95, "neg.adm2": 0.94, "motion_sad": 1.5, "vmaf": 75.25},
    3: {"psnr_y": 60.0, "psnr_cb": 60.0, "psnr_hvs": INF, "adm2": 1.0, "neg.adm2": 1.0, "motion_sad": 1.25, "vmaf": 100.0},
    4: {"psnr_y": 33.5, "psnr_cb": 43.0, "psnr_hvs": 32.0, "adm2": 0.97, "neg.adm2": 0.96, "motion_sad": 0.5, "vmaf": 80.0},
}
WITH_UNPAIRED = {0: RUN[0], 1: RUN[1], 2: None, 3: RUN[2], 4: RUN[3], 5: None, 6: None, 7: RUN[4]}


def metadata(run, rate=25):
    lines = []
    for number, scores in run.items():
        lines.append(f"frame:{number:<4} pts:{number * 512:<7} pts_time:{number / rate:g}")
        lines += [f"lavfi.exactvq.{name}={value!r}" for name, value in scores.items()] if scores else ["lavfi.exactvq.paired=0"]
    return "\n".join(lines) + "\n"


def ffprobe_json(run, rate=25):
    return json.dumps({"frames": [
        {"pts_time": f"{number / rate:.6f}", "tags": {f"lavfi.exactvq.{name}": repr(value) for name, value in reversed((scores or {"paired": 0}).items())}}
        for number, scores in run.items()]}, indent=4)


def json_log(run):
    return json.dumps({"version": "3.2.0", "fps": 1.5, "pooled_metrics": {}, "aggregate_metrics": {"apsnr_y": None}, "frames": [
        {"frameNum": number, "metrics": {LIBVMAF.get(name, name): None if value == INF else value for name, value in scores.items()}}
        for number, scores in run.items() if scores]})


def csv_log(run):
    names = list(run[0])
    return "Frame," + "".join(LIBVMAF.get(name, name) + "," for name in names) + "\n" + "".join(
        f"{number}," + "".join(("" if name not in scores else repr(scores[name])) + "," for name in names) + "\n" for number, scores in run.items() if scores)


FORMS = {"metadata": metadata, "ffprobe": ffprobe_json, "json": json_log, "csv": csv_log}


def chart_of(text, **keywords):
    return plot.make_chart(plot.read_scores(text), **keywords)


def panel_of(chart, key):
    return next(panel for panel in chart.panels if panel.kind.key == key)


def points(series):
    return {x: value for xs, values in series.segments for x, value in zip(xs, values)} | {x: INF for x in series.infinite}


# ---- what is read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_numbers(form):
    chart = chart_of(FORMS[form](RUN))
    unit = {"metadata": "s", "ffprobe": "s", "json": "frame", "csv": "frame"}[form]
    assert chart.unit == unit and chart.frames == 5 and not chart.alone
    assert [panel.kind.key for panel in chart.panels] == ["vmaf", "psnr", "psnr_hvs", "adm", "motion"]
    renamed = {"neg.adm2": "neg.adm2_egl_1"} if form in ("json", "csv") else {}
    names = [["vmaf"], ["psnr_y", "psnr_cb"], ["psnr_hvs"], ["adm2", renamed.get("neg.adm2", "neg.adm2")], ["motion_sad"]]
    assert [[s.name for s in panel.series] for panel in chart.panels] == names
    for panel in chart.panels:
        for series in panel.series:
            name = {v: k for k, v in renamed.items()}.get(series.name, series.name)
            assert points(series) == {number / (25 if unit == "s" else 1): scores[name] for number, scores in RUN.items()}


def test_frames_instead_of_times():
    chart = chart_of(metadata(RUN), by_number=True)
    assert chart.unit == "frame" and chart.x == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("times", ["NOPTS NOPTS", "0.5 0.25", "nan 1"])
def test_times_that_cannot_be_drawn(times):
    first, second = times.split()
    text = f"frame:0 pts:0 pts_time:{first}\nlavfi.exactvq.vmaf=1\nframe:1 pts:1 pts_time:{second}\nlavfi.exactvq.vmaf=2\n"
    assert chart_of(text).unit == "frame"


def test_other_metadata_is_left_alone():
    text = metadata(RUN).replace("lavfi.exactvq.vmaf=71.0\n", "lavfi.exactvq.vmaf=71.0\nlavfi.psnr.psnr_avg=77.5\ntitle=a=b\n")
    assert [s.name for panel in chart_of(text).panels for s in panel.series] == ["vmaf", "psnr_y", "psnr_cb", "psnr_hvs", "adm2", "neg.adm2", "motion_sad"]


def test_a_score_without_value_is_a_gap():
    missing = {0: RUN[0], 1: {"psnr_y": 30.5}, 2: RUN[2]}
    for text in (csv_log(missing), metadata(missing), csv_log({0: RUN[0], 1: {**RUN[1], "vmaf": math.nan}, 2: RUN[2]})):
        chart = chart_of(text, by_number=True)
        assert panel_of(chart, "vmaf").series[0].segments == [([0, 2], [71.0, 75.25])]  # every second frame, as by subsampling
        assert panel_of(chart, "psnr").series[0].segments == [([0, 1, 2], [31.5, 30.5, 32.5])]
    rest = {number: RUN[0] for number in (3, 4, 5)}
    chart = chart_of(metadata({0: RUN[0], 1: {"psnr_y": 30.5}, 2: RUN[2], **rest}), by_number=True)
    assert [xs for xs, _ in panel_of(chart, "vmaf").series[0].segments] == [[0], [2, 3, 4, 5]]


def test_subsampling_is_no_gap_but_a_longer_distance_is():
    chart = chart_of(metadata({number: RUN[number % 3] for number in (0, 4, 8, 12, 24, 28)}), by_number=True)
    assert [xs for xs, _ in panel_of(chart, "vmaf").series[0].segments] == [[0, 4, 8, 12], [24, 28]]


# ---- which numbers are drawn ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["metadata", "ffprobe"])
def test_frames_without_partner(form):
    chart = chart_of(FORMS[form](WITH_UNPAIRED, rate=1))
    assert chart.frames == 8 and chart.unpaired == 3
    assert chart.alone == [(1.5, 2.5), (4.5, 6.5)]
    assert [xs for xs, _ in panel_of(chart, "vmaf").series[0].segments] == [[0, 1], [3, 4], [7]]
    figure = plot.draw(chart)
    shades = [patch.get_extents().transformed(figure.axes[0].transData.inverted()) for patch in figure.axes[0].patches]
    assert [(round(box.x0, 9), round(box.x1, 9)) for box in shades] == chart.alone


def test_a_regular_loss_of_partners_is_a_gap():
    chart = chart_of(metadata({0: RUN[0], 1: None, 2: RUN[1], 3: None, 4: RUN[2]}), by_number=True)
    assert [xs for xs, _ in panel_of(chart, "vmaf").series[0].segments] == [[0], [2], [4]]


def test_a_partner_missing_at_the_ends():
    chart = chart_of(metadata({0: None, 1: RUN[1], 2: None}, rate=1))
    assert chart.alone == [(-0.5, 0.5), (1.5, 2.5)]


def test_infinite_values_are_in_the_strip():
    chart = chart_of(metadata(RUN), by_number=True)
    series = panel_of(chart, "psnr_hvs").series[0]
    assert series.infinite == [3] and [xs for xs, _ in series.segments] == [[0, 1, 2], [4]]
    assert series.mean == INF and series.p5 == numpy.percentile([30.25, 29, 31, 32, 1e9], 5)
    axes = plot.draw(chart).axes[2]
    strip = next(patch for patch in axes.patches).get_xy()[:, 1]
    marks = [line for line in axes.lines if line.get_marker() == "|"]
    assert len(marks) == 1 and list(marks[0].get_xdata()) == [3]
    assert max(v for _, values in series.segments for v in values) < min(strip) < marks[0].get_ydata()[0] < max(strip) <= axes.get_ylim()[1] + 1e-9
    texts = [text.get_text() for text in axes.texts]
    assert "inf" in texts and "infinite: psnr_hvs in 1 of 5 frames" in texts


def test_nothing_but_infinite_values():
    chart = chart_of(metadata({number: {"psnr_hvs": INF, "psnr_hvs_y": INF} for number in range(4)}), by_number=True)
    panel = panel_of(chart, "psnr_hvs")
    assert panel.worst == [] and [points(s) for s in panel.series] == [dict.fromkeys(range(4), INF)] * 2
    marks = [line for line in plot.draw(chart).axes[0].lines if line.get_marker() == "|"]
    assert [list(mark.get_xdata()) for mark in marks] == [[0, 1, 2, 3]] * 2
    assert marks[0].get_ydata()[0] != marks[1].get_ydata()[0]  # both are seen


def test_worst_frames():
    chart = chart_of(metadata(RUN), by_number=True, worst=2)
    assert panel_of(chart, "psnr").worst == [(1, 30.5, 1), (0, 31.5, 0)]
    assert panel_of(chart, "psnr_hvs").worst == [(1, 29.0, 1), (0, 30.25, 0)]
    assert panel_of(chart, "motion").worst == []  # neither low nor high is bad
    axes = plot.draw(chart).axes[1]
    circles = [line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "o"]
    assert circles == [[1, 30.5], [0, 31.5]]
    assert {"0", "1"} <= {text.get_text() for text in axes.texts}
    assert not [p for p in chart_of(metadata(RUN), worst=0).panels if p.worst]
    assert [number for *_, number in panel_of(chart_of(metadata({0: {"aim": 0.1}, 1: {"aim": 0.3}, 2: {"aim": 0.2}}), worst=1), "aim").worst] == [1]


def test_mean_and_percentile():
    values = [31.5, 30.5, 32.5, 60.0, 33.5]
    chart = chart_of(metadata(RUN))
    series = panel_of(chart, "psnr").series[0]
    assert series.mean == pytest.approx(numpy.mean(values), rel=1e-15) and series.p5 == pytest.approx(numpy.percentile(values, 5), rel=1e-15)
    axes = plot.draw(chart).axes[1]
    levels = [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1] and len(set(line.get_ydata())) == 1]
    assert series.mean in levels and series.p5 in levels
    texts = [text.get_text() for text in axes.texts]
    assert f"{series.mean:.2f}" in texts and f"{series.p5:.2f}" in texts


def test_percentile():
    for values in ([3.0], [1.0, 2.0], [5.0, 1.0, 4.0, 2.0, 2.0, 9.5, 7.25]):
        for percent in (0, 1, 5, 10, 50, 99, 100):
            assert plot.percentile(values, percent) == pytest.approx(numpy.percentile(values, percent), rel=1e-15)
    assert plot.percentile([1.0, INF], 0) == 1 and plot.percentile([1.0, INF], 5) == INF and plot.percentile([INF, INF], 5) == INF


def test_the_lines_are_the_values():
    chart = chart_of(metadata(RUN), by_number=True)
    for panel, axes in zip(chart.panels, plot.draw(chart).axes):
        drawn = [line.get_xydata().tolist() for line in axes.lines if line.get_marker() in ("", "None", "o") and len(line.get_xdata()) != 2]
        for series in panel.series:
            for xs, values in series.segments:
                assert [list(pair) for pair in zip(xs, values)] in drawn
        low, high = axes.get_ylim()
        assert all(low < v < high for s in panel.series for _, values in s.segments for v in values)


def test_models_and_their_ensembles():
    ensemble = {"hd_0001": 69.0, "hd_bagging": 70.5, "hd_stddev": 1.0}
    run = {n: {"hd": 70.0 + n, **ensemble, "hd_ci_p95_lo": 68.0 + n, "hd_ci_p95_hi": 72.0 + n, "vmaf": 50.0} for n in range(3)}
    chart = chart_of(metadata(run), by_number=True)
    panel = panel_of(chart, "vmaf")
    assert [s.name for s in panel.series] == ["vmaf", "hd"] and len(chart.panels) == 1
    assert panel.series[1].bands == [([0, 1, 2], [68, 69, 70], [72, 73, 74])] and panel.series[0].bands == []
    assert chart.left_out == ["hd_0001", "hd_bagging", "hd_stddev", "hd_ci_p95_lo", "hd_ci_p95_hi"]
    assert [s.name for s in chart_of(metadata(run), metrics=["hd_0*", "hd_stddev"]).panels[0].series] == ["hd_0001", "hd_stddev"]
    assert [s.name for s in chart_of(metadata(run), metrics=["vmaf"]).panels[0].series] == ["vmaf", "hd"]


@pytest.mark.parametrize("metrics,names", [
    (["vmaf", "psnr_y"], ["vmaf", "psnr_y"]), (["psnr"], ["psnr_y", "psnr_cb"]), (["*adm2"], ["adm2", "neg.adm2"]), (["neg.*"], ["neg.adm2"]),
    (["motion", "psnr_hvs"], ["psnr_hvs", "motion_sad"]),
])
def test_metrics(metrics, names):
    assert [s.name for panel in chart_of(metadata(RUN), metrics=metrics).panels for s in panel.series] == names


@pytest.mark.parametrize("name,key", [
    ("psnr_y", "psnr"), ("fine.psnr_hvs_cb", "psnr_hvs"), ("float_psnr", "float_psnr"), ("mse_cr", "mse"), ("adm", "adm"), ("adm3", "adm"),
    ("adm_scale2", "adm"), ("adm2_csf_3_egl_1.2_nvd_5", "adm"), ("adm2_nw_1e-05", "adm"), ("adm_scale0_ssz", "adm"), ("aim", "aim"),
    ("adm_num", "adm_sums"), ("adm_den_scale3", "adm_sums"), ("vif_scale0_egl_1", "vif"), ("vif", "vif"), ("vif_num_scale1", "vif_sums"),
    ("motion2", "motion"), ("motion3_mma", "motion"), ("x.motion_sad", "motion"), ("vmaf", "vmaf"), ("neg", "vmaf"), ("vmaf_bagging", "vmaf"),
])
def test_the_panel_of_a_score(name, key):
    assert plot.kind_of(name).key == key


def test_labels_do_not_overlap():
    places = plot.spread([50, 50, 51, 10, 90], 10, 0, 100)
    assert sorted(b - a >= 9.999 for a, b in zip(sorted(places), sorted(places)[1:])) == [True] * 4
    assert places[3] == 10 and places[4] == 90 and sum(places[:3]) == pytest.approx(151)
    assert min(plot.spread([0, 0, 0], 10, 4, 100)) == 4 and max(plot.spread([100, 100], 10, 0, 96)) == 96


# ---- the command ---------------------------------------------------------------------------------------------------


def run(*arguments, **keywords):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, **keywords)


def test_pictures(tmp_path):
    scores = tmp_path / "scores.txt"
    scores.write_text(metadata(WITH_UNPAIRED))
    for name in ("a.svg", "b.svg", "a.png", "b.PNG"):
        done = run(scores, "-o", name, "--title", "A $title$ <of> & it's own", cwd=tmp_path)
        assert done.returncode == 0 and done.stderr == b"", done
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()  # no date, no random names
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.PNG").read_bytes()
    assert re.match(rb"<\?xml[^>]*>\s*<!DOCTYPE svg", (tmp_path / "a.svg").read_bytes()) and (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(os.listdir(tmp_path)) == ["a.png", "a.svg", "b.PNG", "b.svg", "scores.txt"]


def test_standard_input_and_size(tmp_path):
    done = run("-", "-o", tmp_path / "a.png", "--size", "720x900", "--frames", input=metadata(RUN).encode())
    assert done.returncode == 0, done
    head = (tmp_path / "a.png").read_bytes()[16:24]
    assert (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")) == (720, 900)
    done = run("-", "-o", tmp_path / "a.svg", "--size", "720x900", input=json_log(RUN).encode())
    assert done.returncode == 0 and b'width="540pt" height="675pt"' in (tmp_path / "a.svg").read_bytes()


BAD = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not text"),
    "other text": (b"hello\n", "is neither the text of metadata=print"),
    "log of ffmpeg": (b"[Parsed_exactvq_0 @ 0x1] psnr mean: psnr_y 31\n", "is neither the text of metadata=print"),
    "cut metadata": (metadata(RUN).encode()[:-30].rstrip(b"=0123456789."), "line 39 is not one of metadata=print"),
    "no number": (metadata(RUN).replace("=31.5", "=31.5dB").encode(), "psnr_y is '31.5dB', not a number"),
    "minus infinite": (metadata(RUN).replace("=31.5", "=-inf").encode(), "psnr_y is -inf"),
    "huge": (metadata(RUN).replace("=31.5", "=1e300").encode(), "which no score can be"),
    "no scores": (b"frame:0 pts:0 pts_time:0\nlavfi.psnr.psnr_avg=30\n", "has 1 frames, but no score of exactvq"),
    "no partners": (metadata({0: None, 1: None}).encode(), "has 2 frames, but no score of exactvq"),
    "two runs": (2 * metadata(RUN).encode(), "frame 0 comes after frame 4"),
    "cut JSON": (json_log(RUN).encode()[:-40], "is not JSON"),
    "deep JSON": (b'{"a":' * 200000, "is not JSON"),
    "other JSON": (b'{"streams": []}', "is JSON, but neither"),
    "JSON without tags": (b'{"frames": [{"pts_time": "0"}]}', "has 1 frames, but no score"),
    "JSON of other types": (b'{"frames": [3]}', "is JSON, but neither"),
    "JSON with a text": (b'{"frames": [{"frameNum": 0, "metrics": {"vmaf": true}}]}', "vmaf is 'True', not a number"),
    "JSON with a long number": (b'{"frames": [{"frameNum": 0, "metrics": {"vmaf": 1' + b"0" * 400 + b"}}]}", "not a number"),
    "CSV with shifted cells": (b"Frame,a,b,\n0,1,2,\n1,2,\n", "the row of frame 1 has 3 cells, the header has 4"),
    "CSV without numbers": (b"Frame,a,\nx,1,\n", "begins with 'x,1,'"),
    "CSV with a long cell": (b"Frame,a,\n0," + b"1" * 200000 + b",\n", "the CSV log cannot be read"),
    "CSV without rows": (b"Frame,a,\n", "has 0 frames"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(tmp_path, name):
    text, message = BAD[name]
    (tmp_path / "scores").write_bytes(text)
    done = run("scores", "-o", "out.svg", cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == b"", done
    line = done.stderr.decode()
    assert line.startswith("plot-scores: scores: ") and line.count("\n") == 1 and message in line, line
    assert os.listdir(tmp_path) == ["scores"]


@pytest.mark.parametrize("arguments,message", [
    (["none.txt", "-o", "a.svg"], "none.txt: cannot be read: No such file"),
    ([".", "-o", "a.svg"], "cannot be read: Is a directory"),
    (["scores.txt", "-o", "a.jpg"], "'a.jpg' ends neither in .svg nor in .png"),
    (["scores.txt", "-o", ".svg"], "ends neither"),
    (["scores.txt"], "-o"),
    (["scores.txt", "-o", "a.svg", "--size", "10"], "is not WIDTHxHEIGHT"),
    (["scores.txt", "-o", "a.svg", "--size", "200000x10"], "is not WIDTHxHEIGHT"),
    (["scores.txt", "-o", "a.svg", "--size", "300x200"], "does not fit into --size 300x200: 5 panels need at least"),
    (["scores.txt", "-o", "a.svg", "--worst", "-1"], "is not a number from 0"),
    (["scores.txt", "-o", "a.svg", "--metrics", "vmaf,ssim"], "has no 'ssim' for --metrics: it has the metrics vmaf, psnr, psnr_hvs, adm, motion"),
    (["scores.txt", "-o", "none/a.svg"], "none/a.svg: cannot write the picture: No such file"),
    (["scores.txt", "-o", "folder.svg"], "folder.svg: cannot write the picture: Is a directory"),
    (["scores.txt", "-o", "scores.txt/a.png"], "cannot write the picture: Not a directory"),
])
def test_bad_arguments(tmp_path, arguments, message):
    (tmp_path / "scores.txt").write_text(metadata(RUN))
    (tmp_path / "folder.svg").mkdir()
    done = run(*arguments, cwd=tmp_path)
    line = done.stderr.decode()
    assert done.returncode == 1 and line.startswith("plot-scores: ") and line.count("\n") == 1 and message in line, done
    assert sorted(os.listdir(tmp_path)) == ["folder.svg", "scores.txt"] and os.listdir(tmp_path / "folder.svg") == []


def test_without_matplotlib(tmp_path):
    (tmp_path / "scores.txt").write_text(metadata(RUN))
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError(name='matplotlib')\n")
    done = run("scores.txt", "-o", "a.svg", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1 and done.stderr == b"plot-scores: there is no Python module matplotlib: install python3-matplotlib\n", done
    assert not (tmp_path / "a.svg").exists()


def test_an_old_picture_stays_when_the_scores_are_bad(tmp_path):
    (tmp_path / "a.svg").write_text("old")
    (tmp_path / "scores.txt").write_text("garbage")
    assert run("scores.txt", "-o", "a.svg", cwd=tmp_path).returncode == 1
    assert (tmp_path / "a.svg").read_text() == "old"
