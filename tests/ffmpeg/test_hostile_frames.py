# SPDX-License-Identifier: BSD-2-Clause
"""Odd sizes, cropped, flipped and padded frames of random words, ends in mid-stream and refusals. Made for an ffmpeg with sanitizers (step ffmpeg-asan), which sees every
sample that is read beside a frame and every leak; needs nothing of ffmpeg but raw video and the filters that move frames."""

from pathlib import Path

import pytest

import oracle
from harness import counts, graph_escape, parse_records, read_json, refused, same

MODEL = graph_escape(Path(__file__).resolve().parent.parent / "data/models/small.json")
SUMS = "metrics=psnr+float_psnr:options=enable_mse=1|enable_apsnr=1"
LUMA = f"metrics=psnr+float_psnr+adm+vif+motion:model={MODEL}"
ALL = f"metrics=psnr+float_psnr+psnr_hvs+adm+vif+motion:model={MODEL}"

FORMATS = ["gray", "yuv420p", "nv12", "nv16", "yuv444p", "yuv410p", "yuv440p", "yuv420p10le", "p010le", "yuv422p12le", "p016le", "gray16le"]


def clean(result):
    """Nothing that a sanitizer says of the filter or its library. (FFmpeg's own undefined behaviour is FFmpeg's.)"""
    assert "AddressSanitizer" not in result.err and "LeakSanitizer" not in result.err, str(result)
    assert not [line for line in result.err.splitlines() if "runtime error" in line and ("exactvq" in line or "kernels/" in line or "host/" in line)], str(result)
    return result


def metrics_for(pix_fmt, width, height):
    small = min(min(size) for size in oracle.plane_sizes(oracle.FORMATS[pix_fmt][0], width, height))
    if min(width, height) < 17:
        return SUMS
    return LUMA if "16" in pix_fmt[4:] or pix_fmt in ("p016le", "gray16le") or small < 8 else ALL


def treated(ff, main, ref, options, treatments):
    """Frames as the filters leave them have the scores of frames that were copied afterwards."""
    runs = [(t, t, c, d) for t in treatments for c, d in ((",copy", ",copy"), ("", ""), ("", ",copy"))]
    results = ff.many([lambda a=a, b=b, c=c, d=d: clean(ff.score(main, ref, options, before_main=a + c, before_ref=b + d)) for a, b, c, d in runs])
    for n in range(0, len(results), 3):
        same(results[n:n + 3])


TREATMENTS = ["null", "vflip", "crop=iw-7:ih-5:3:2:exact=1", "pad=iw+9:ih+7:5:4", "vflip,crop=iw-5:ih-3:4:1:exact=1,vflip"]


@pytest.mark.parametrize("pix_fmt", FORMATS)
def test_moved_frames(ff, noise, pix_fmt):
    width, height = 53, 47
    treated(ff, noise(pix_fmt, 1, (width, height), 3), noise(pix_fmt, 2, (width, height), 3), metrics_for(pix_fmt, 40, 40), TREATMENTS)


@pytest.mark.parametrize("width,height", [(1, 1), (2, 3), (7, 1), (1, 9), (17, 17), (19, 70), (131, 18)], ids=lambda n: str(n))
def test_odd_sizes(ff, noise, width, height):
    for pix_fmt in ("yuv420p", "p010le"):
        treated(ff, noise(pix_fmt, 3, (width, height), 3), noise(pix_fmt, 4, (width, height), 3), metrics_for(pix_fmt, width, height), ["vflip"])


@pytest.mark.parametrize("threads,depth", [(1, 1), (3, 2), (2, 64)])
@pytest.mark.parametrize("main,ref,options,paired,unpaired,unused", [
    (9, 4, "", 4, 5, 0), (4, 9, "", 4, 0, 5), (9, 4, ":shortest=1", 4, 0, 0), (9, 4, ":eof_action=endall", 4, 0, 0), (1, 1, "", 1, 0, 0)])
def test_ends(ff, noise, tmp_path, main, ref, options, paired, unpaired, unused, threads, depth):
    log = tmp_path / "log.json"
    result = clean(ff.score(noise("yuv420p", 5, (33, 31), main), noise("yuv420p", 6, (33, 31), ref), f"{ALL}:threads={threads}:async_depth={depth}:log_path={graph_escape(log)}{options}"))
    assert result.summary.counts["paired"] == paired
    assert len(read_json(log)["frames"]) == paired
    if not options:
        counts(result, paired, unpaired, unused)


@pytest.mark.parametrize("depth", [1, 64])
def test_end_in_flight(ff, noise, depth):
    """The output is closed while pairs are being computed and others wait for later frames."""
    result = clean(ff.score(noise("yuv420p", 7, (65, 63), 40), noise("yuv420p", 8, (65, 63), 40), f"{ALL}:async_depth={depth}", tail=("-frames:v", "2", "-f", "null", "-")))
    assert len(parse_records(result.out.decode())) >= 2


@pytest.mark.parametrize("log_fmt", ["json", "xml", "csv", "sub"])
def test_subsampled_with_a_log(ff, noise, tmp_path, log_fmt):
    log = tmp_path / "log"
    clean(ff.score(noise("nv12", 9, (41, 37), 8), noise("nv12", 10, (41, 37), 8), f"{ALL}:subsample=3:log_path={graph_escape(log)}:log_fmt={log_fmt}"))
    assert log.stat().st_size > 100


REFUSED = [
    ("sizes", "yuv420p", (40, 40), "yuv420p", (40, 41), ALL, "40x41"),
    ("depths", "yuv420p", (40, 40), "yuv420p10le", (40, 40), ALL, "bit"),
    ("chroma", "yuv420p", (40, 40), "yuv444p", (40, 40), ALL, "reference"),
    ("small-for-adm", "gray", (40, 16), "gray", (40, 16), "metrics=adm", "17x17"),
    ("16-bits-for-hvs", "p016le", (40, 40), "p016le", (40, 40), "metrics=psnr_hvs", "psnr_hvs"),
    ("metric", "gray", (40, 40), "gray", (40, 40), "metrics=nonsense", "nonsense"),
    ("option", "gray", (40, 40), "gray", (40, 40), "metrics=psnr:options=nonsense=1", "nonsense"),
    ("model", "gray", (40, 40), "gray", (40, 40), "model=/no/such.json", "/no/such.json"),
    ("log", "gray", (40, 40), "gray", (40, 40), "metrics=psnr:log_path=/no/folder/log", "/no/folder/log"),
    ("bits", "gray16le", (40, 40), "gray16le", (40, 40), "metrics=psnr:bits=3", "bits"),
]


@pytest.mark.parametrize("main,main_size,ref,ref_size,options,word", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refusals(ff, noise, main, main_size, ref, ref_size, options, word):
    refused(clean(ff.score(noise(main, 11, main_size, 3), noise(ref, 12, ref_size, 3), options, check=False)), word)
