# SPDX-License-Identifier: BSD-2-Clause
"""Log files have libvmaf's shapes, byte for byte but for version and speed, and exist only when they are complete."""

import json
import math
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import pytest

from harness import graph_escape, log_number, pooled, wait_for

ALL = "metrics=psnr+float_psnr+psnr_hvs:options=enable_mse=1"
FORMATS = ["json", "xml", "csv", "sub"]
POOLS = ["min", "max", "mean", "harmonic_mean"]


def text_of(value, json_=False):
    return "null" if json_ and (math.isnan(value) or math.isinf(value)) else log_number(value)


def write(fmt, frames, aggregates):
    """A log as libvmaf writes it. frames: (number, {name: value}); version and fps are left as @."""
    names = list(frames[0][1])
    pools = {n: pooled([f[n] for _, f in frames]) for n in names}
    out = ""
    if fmt == "json":
        out += '{\n  "version": "@",\n  "fps": @,\n  "frames": ['
        for i, (number, scores) in enumerate(frames):
            out += ("," if i else "") + f'\n    {{\n      "frameNum": {number},\n      "metrics": {{\n'
            for k, (name, value) in enumerate(scores.items()):
                last = k == len(scores) - 1
                shown = text_of(value, True)
                out += f'        "{name}": {shown}' + ("" if last else ",") + ("\n" if shown != "null" or last else "")
            out += "      }\n    }"
        out += '\n  ],\n  "pooled_metrics": {'
        for i, name in enumerate(names):
            out += ("," if i else "") + f'\n    "{name}": {{'
            out += ",".join(f'\n      "{p}": {text_of(pools[name][p], True)}' for p in POOLS) + "\n    }"
        out += '\n  },\n  "aggregate_metrics": {' + ",".join(f'\n    "{n}": {text_of(v, True)}' for n, v in aggregates.items()) + "\n  }\n}\n"
    elif fmt == "xml":
        out += '<VMAF version="@">\n  <params qualityWidth="150" qualityHeight="90" />\n  <fyi fps="@" />\n  <frames>\n'
        for number, scores in frames:
            out += f'    <frame frameNum="{number}" ' + "".join(f'{n}="{text_of(v)}" ' for n, v in scores.items()) + "/>\n"
        out += "  </frames>\n  <pooled_metrics>\n"
        for name in names:
            out += f'    <metric name="{name}" ' + "".join(f'{p}="{text_of(pools[name][p])}" ' for p in POOLS) + "/>\n"
        out += "  </pooled_metrics>\n  <aggregate_metrics " + "".join(f'{n}="{text_of(v)}" ' for n, v in aggregates.items()) + "/>\n</VMAF>\n"
    elif fmt == "csv":
        out += "Frame," + "".join(n + "," for n in names) + "\n"
        for number, scores in frames:
            out += f"{number}," + "".join(text_of(v) + "," for v in scores.values()) + "\n"
    else:
        for number, scores in frames:
            out += f"{{{number}}}{{{number + 1}}}frame: {number}|" + "".join(f"{n}: {text_of(v)}|" for n, v in scores.items()) + "\n"
    return out


def masked(text):
    text = re.sub(r'("version": )"[^"]+"', r'\1"@"', text)
    text = re.sub(r'("fps": )(?:\d+\.\d{2}|null)', r"\1@", text)
    text = re.sub(r'(<VMAF version=)"[^"]+"', r'\1"@"', text)
    return re.sub(r'(<fyi fps=)"(?:\d+\.\d{2}|inf|-?nan)"', r'\1"@"', text)


def run(ff, pair, fmt, path, options=ALL, **keywords):
    return ff.score(*pair, f"{options}:log_path={graph_escape(path)}" + (f":log_fmt={fmt}" if fmt else ""), **keywords)


def shape(result, fmt, path, names=None, frames=None):
    records = [r for r in result.records if r.scores]
    numbers = frames or [r.frame for r in records]
    names = names or list(records[0].scores)
    want = write(fmt, [(i, {n: r.value(n) for n in names}) for i, r in zip(numbers, records)],
                 {n: float(v) for m in result.summary.aggregates.values() for n, v in m.items()})
    assert masked(path.read_text()) == want


NAMES = ["psnr_y", "mse_y", "psnr_cb", "mse_cb", "psnr_cr", "mse_cr", "float_psnr", "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]


@pytest.mark.parametrize("fmt", FORMATS)
def test_shape(ff, coded, tmp_path, fmt):
    path = tmp_path / "log"
    result = run(ff, coded, fmt, path)
    shape(result, fmt, path, NAMES)
    assert os.listdir(tmp_path) == ["log"]


def test_json_is_the_default(ff, coded, tmp_path):
    path = tmp_path / "log"
    shape(run(ff, coded, None, path), "json", path, NAMES)


@pytest.mark.parametrize("fmt", FORMATS)
def test_infinite_values(ff, coded, tmp_path, fmt):
    """Identical inputs: inf, which is null in JSON."""
    path = tmp_path / "log"
    shape(run(ff, (coded[1], coded[1]), fmt, path, "metrics=psnr_hvs+psnr"), fmt, path)
    if fmt == "json":
        data = json.loads(path.read_text())
        assert data["frames"][0]["metrics"] == {"psnr_hvs_y": None, "psnr_hvs_cb": None, "psnr_hvs_cr": None, "psnr_hvs": None,
                                                "psnr_y": 60, "psnr_cb": 60, "psnr_cr": 60}


@pytest.mark.parametrize("fmt", FORMATS)
def test_subsample_and_aggregates(ff, coded, tmp_path, fmt):
    path = tmp_path / "log"
    result = run(ff, coded, fmt, path, "metrics=float_psnr:subsample=4")
    shape(result, fmt, path, frames=list(range(0, 25, 4)))
    path = tmp_path / "log2"
    shape(run(ff, coded, fmt, path, "metrics=psnr:options=enable_apsnr=1"), fmt, path)


@pytest.mark.parametrize("fmt", FORMATS)
def test_parsers(ff, coded, tmp_path, fmt):
    """As users read them: with ordinary parsers."""
    path = tmp_path / "log"
    result = run(ff, coded, fmt, path)
    values = [[r.value(n) for n in NAMES] for r in result.records]
    text = path.read_text()
    if fmt == "json":
        got = [[f["metrics"][n] for n in NAMES] for f in json.loads(text)["frames"]]
    elif fmt == "xml":
        root = ET.fromstring(text)
        got = [[float(f.get(n)) for n in NAMES] for f in root.find("frames")]
        assert [m.get("name") for m in root.find("pooled_metrics")] == NAMES
    elif fmt == "csv":
        head, *rows = [line.split(",") for line in text.splitlines()]
        assert head == ["Frame", *NAMES, ""]
        got = [[float(v) for v in row[1:-1]] for row in rows]
    else:
        got = [[float(v.split(": ")[1]) for v in line.split("|")[1:-1]] for line in text.splitlines()]
    assert len(got) == 25
    for a, b in zip(got, values):
        assert a == pytest.approx(b, rel=0, abs=1e-6)


@pytest.mark.parametrize("fmt", FORMATS)
def test_labels(ff, coded, tmp_path, fmt):
    path = tmp_path / "log"
    shape(run(ff, coded, fmt, path, "metrics=psnr+psnr@luma:options=luma.enable_chroma=0"), fmt, path)
    assert "luma.psnr_y" in path.read_text()


def test_frames_are_numbered_by_pair(ff, coded, tmp_path):
    """Main frames without a partner are not in the log."""
    path = tmp_path / "log"
    result = run(ff, coded, "json", path, "metrics=psnr", before_ref="trim=start_frame=3:end_frame=9")
    data = json.loads(path.read_text())
    assert len(data["frames"]) == 6
    assert [f["metrics"]["psnr_y"] for f in data["frames"]] == [float(log_number(r.value("psnr_y"))) for r in result.records if r.scores]


@pytest.mark.parametrize("name", ["with space.json", "quote's.json", "co:lon.json", "com,ma;[x].json", "perce%nt%d.json", "umläut.json", ".hidden"])
def test_file_names(ff, coded, tmp_path, name):
    path = tmp_path / name
    run(ff, coded, "json", path, "metrics=psnr")
    assert os.listdir(tmp_path) == [name]
    assert len(json.loads(path.read_text())["frames"]) == 25


def test_an_old_log_is_replaced(ff, coded, tmp_path):
    path = tmp_path / "log"
    path.write_text("x" * 100000)
    shape(run(ff, coded, "json", path), "json", path, NAMES)


def test_relative_path(ff, coded, tmp_path):
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        ff.score(*coded, "metrics=psnr:log_path=plain.json")
    finally:
        os.chdir(here)
    assert os.listdir(tmp_path) == ["plain.json"]


def test_no_log_under_its_name_before_the_end(ff, tmp_path):
    """Killed in the middle: the old log is still there, whole."""
    path = tmp_path / "log.json"
    path.write_text("of yesterday")
    source = "testsrc2=s=64x48:r=25,format=yuv420p"
    ff.score(source, source, f"metrics=psnr:log_path={path}", check=None, kill_after=1.0)
    assert path.read_text() == "of yesterday"


def test_log_that_cannot_be_finished(ff, tmp_path):
    """The folder vanishes during the run: an error at the end, not a success."""
    folder = tmp_path / "folder"
    folder.mkdir()
    source = "testsrc2=s=64x48:r=25:d=20,format=yuv420p,realtime=speed=20"
    process = subprocess.Popen([ff.ffmpeg, "-hide_banner", "-nostdin", "-nostats", "-f", "lavfi", "-i", source, "-f", "lavfi", "-i", source.split(",realtime")[0],
                                "-lavfi", f"[0:v][1:v]exactvq=metrics=psnr:log_path={folder}/log.json", "-f", "null", "-"],
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    started = wait_for(lambda: os.listdir(folder) or process.poll() is not None, 5)
    shutil.rmtree(folder)
    err = process.communicate(timeout=60)[1]
    assert started and process.returncode > 0, f"exit status {process.returncode}\n{err}"
    assert "paired:" not in err and " mean: " not in err and "log.json" in err, err
    assert not folder.exists()
