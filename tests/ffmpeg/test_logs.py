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

from harness import graph_escape, log_number, pooled, raw, refused, wait_for

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


def shape(result, fmt, path, names=None, frames=None, in_log=None):
    """The log is what libvmaf would write of the metadata's values; in_log: names in the log, where they are others."""
    records = [r for r in result.records if r.scores]
    numbers = frames or [r.frame for r in records]
    names = names or list(records[0].scores)
    want = write(fmt, [(i, {k: r.value(n) for n, k in zip(names, in_log or names)}) for i, r in zip(numbers, records)],
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
def test_full_precision(ff, coded, tmp_path, fmt):
    """log_precision=max: the texts of the metadata, so every bit; nothing but the numbers is another."""
    short, full = tmp_path / "short", tmp_path / "full"
    run(ff, coded, fmt, short, "metrics=psnr_hvs+adm")
    result = run(ff, coded, fmt, full, "metrics=psnr_hvs+adm:log_precision=max")
    number = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"
    assert re.sub(number, "#", masked(short.read_text())) == re.sub(number, "#", masked(full.read_text()))
    want = [v for r in result.records for v in r.scores.values()]
    if fmt == "json":
        data = json.loads(full.read_text())
        got = [v for f in data["frames"] for v in f["metrics"].values()]
        for i, (name, pools) in enumerate(data["pooled_metrics"].items()):
            values = [float(v) for v in want[i::len(data["pooled_metrics"])]]
            assert pools == {p: pooled(values)[p] for p in POOLS}, name
    elif fmt == "xml":
        got = [v for f in ET.fromstring(full.read_text()).find("frames") for k, v in f.items() if k != "frameNum"]
    elif fmt == "csv":
        got = [v for line in full.read_text().splitlines()[1:] for v in line.split(",")[1:-1]]
    else:
        got = [v.split(": ")[1] for line in full.read_text().splitlines() for v in line.split("|")[1:-1]]
    assert [float(v) for v in got] == [float(v) for v in want] and (fmt == "json" or got == want)


def test_a_log_of_two_filters_is_refused(ff, coded, tmp_path):
    path = tmp_path / "log.json"
    graph = f"[0:v]split[a][b];[1:v]split[c][d];[a][c]exactvq=metrics=psnr:log_path={path}[o];[b][d]exactvq=metrics=psnr:log_path={path}[p]"
    result = ff.run(*coded[0], *coded[1], "-lavfi", graph, "-map", "[o]", "-f", "null", "-", "-map", "[p]", "-f", "null", "-", check=False)
    refused(result, str(path), "is being written already", "a name of its own", outputs=[path])
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("fmt", FORMATS)
def test_labels(ff, coded, tmp_path, fmt):
    path = tmp_path / "log"
    shape(run(ff, coded, fmt, path, "metrics=psnr+psnr@luma:options=luma.enable_chroma=0"), fmt, path)
    assert "luma.psnr_y" in path.read_text()


ADM = ["adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"]
ADM_DEBUG = ADM + ["adm", "adm_num", "adm_den"] + [f"adm_{part}_scale{s}" for s in range(4) for part in ("num", "den")]
ADM_SUFFIXES = [
    ("adm_csf_mode=0", ""),
    ("adm_enhn_gain_limit=100.0|adm_norm_view_dist=2.9999999|adm_skip_scale0=false|adm_skip_aim=1", ""),
    ("adm_skip_scale0=1", "_ssz"),
    ("adm_enhn_gain_limit=1.2|adm_csf_mode=3|adm_norm_view_dist=5", "_csf_3_egl_1.2_nvd_5"),
    ("adm_dlm_weight=0.7|adm_enhn_gain_limit=1.0|adm_noise_weight=0.02|adm_norm_view_dist=3.0|adm_ref_display_height=1080|adm_min_val=0.5|adm_csf_mode=2",
     "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02"),
    ("adm_csf_mode=1|adm_csf_scale=0.0005|adm_csf_diag_scale=0.001|adm_dlm_weight=0.123456789|adm_enhn_gain_limit=99.5|adm_min_val=0.25|adm_noise_weight=0.00001"
     "|adm_norm_view_dist=1.5|adm_p_norm=2.5|adm_ref_display_height=2160|adm_skip_scale0=1",
     "_scfd_0.001_csf_1_scf_0.0005_dlmw_0.123457_egl_99.5_min_0.25_nw_1e-05_nvd_1.5_apn_2.5_rdh_2160_ssz"),
]


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("options,suffix", ADM_SUFFIXES, ids=[s[-12:] or f"default{i}" for i, (_, s) in enumerate(ADM_SUFFIXES)])
def test_adm(ff, coded, tmp_path, fmt, options, suffix):
    """Logs have libvmaf's names, with the options that are not the default in them; metadata and summary have plain ones."""
    path = tmp_path / "log"
    for extra, names in (("", ADM), ("|debug=1", ADM_DEBUG)):
        result = run(ff, coded, fmt, path, f"metrics=adm:options={options}{extra}")
        assert list(result.records[0].scores) == names == list(result.summary.pools["adm"]["mean"])
        shape(result, fmt, path, names, in_log=[f"integer_{n}{suffix}" for n in names])


@pytest.mark.parametrize("fmt", FORMATS)
def test_adm_with_labels(ff, coded, tmp_path, fmt):
    """The label comes first, before libvmaf's name; other metrics keep theirs."""
    path = tmp_path / "log"
    result = run(ff, coded, fmt, path, "metrics=adm+psnr+adm@neg+float_psnr:options=neg.adm_enhn_gain_limit=1|neg.adm_csf_mode=2")
    psnr = ["psnr_y", "psnr_cb", "psnr_cr"]
    shape(result, fmt, path, ADM + psnr + [f"neg.{n}" for n in ADM] + ["float_psnr"],
          in_log=[f"integer_{n}" for n in ADM] + psnr + [f"neg.integer_{n}_csf_2_egl_1" for n in ADM] + ["float_psnr"])
    assert list(result.records[0].scores)[10:17] == [f"neg.{n}" for n in ADM]


@pytest.mark.parametrize("fmt", FORMATS)
def test_missing_values(ff, tmp_path, fmt):
    """Scores without a value (scales of adm without detail and noise) are left out, and no other score takes their place."""
    path = tmp_path / "log"
    source = "color=s=48x32:r=25:d=0.2,format=gray"
    result = run(ff, (source, source), fmt, path, "metrics=adm+psnr:options=adm_noise_weight=0")
    want = {"integer_adm2_nw_0": 1, "integer_aim_nw_0": 0, "integer_adm3_nw_0": 1, "psnr_y": 60}
    missing = [f"integer_adm_scale{s}_nw_0" for s in range(4)]
    assert list(result.records[0].scores) == ["adm2", "aim", "adm3", "psnr_y"]
    text = path.read_text()
    assert not re.search(r"\bnan\b", text.lower())
    if fmt == "json":
        data = json.loads(text)
        got = [f["metrics"] for f in data["frames"]]
        assert all(set(data["pooled_metrics"].get(m, {}).values()) <= {None} for m in missing)
    elif fmt == "xml":
        got = [{k: float(v) for k, v in f.items() if k != "frameNum"} for f in ET.fromstring(text).find("frames")]
    elif fmt == "csv":
        head, *rows = [line.split(",") for line in text.splitlines()]
        assert {len(row) for row in rows} == {len(head)}, text
        got = [{k: float(v) for k, v in zip(head[1:-1], row[1:-1]) if v} for row in rows]
    else:
        got = [{k: float(v) for k, v in (p.split(": ") for p in line.split("|")[1:-1])} for line in text.splitlines()]
    assert got == [want] * 5, text


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
    ff.score(source, source, f"metrics=psnr:log_path={path}", check=None, kill_at_output=True)
    assert path.read_text() == "of yesterday"


def test_log_that_cannot_be_finished(ff, tmp_path):
    """The folder vanishes during the run: an error at the end, not a success."""
    folder = tmp_path / "folder"
    folder.mkdir()
    process = subprocess.Popen([ff.ffmpeg, "-hide_banner", "-nostdin", "-nostats", *raw("pipe:0", "gray", 64, 48), "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.8,format=gray",
                                "-lavfi", f"[0:v][1:v]exactvq=metrics=psnr:log_path={folder}/log.json", "-f", "null", "-"],
                               stderr=subprocess.PIPE, stdin=subprocess.PIPE)
    process.stdin.write(bytes(64 * 48 * 20))
    process.stdin.flush()
    started = wait_for(lambda: os.listdir(folder) or process.poll() is not None, 60)
    shutil.rmtree(folder)
    err = process.communicate(timeout=600)[1].decode()
    assert started and process.returncode > 0, f"exit status {process.returncode}\n{err}"
    assert "paired:" not in err and " mean: " not in err and "log.json" in err, err
    assert not folder.exists()
