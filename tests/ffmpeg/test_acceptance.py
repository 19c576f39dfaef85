# SPDX-License-Identifier: BSD-2-Clause
"""Acceptance cases A1 to A15: what users of video quality tools reported as broken, each as one generated input and one demand.

A test is named after its case, here and in the other files: `pytest tests/ffmpeg -k a07` runs all of A7. tests/README.md has the table of cases.
"Same" means the same 64-bit patterns: the text of a score is the shortest decimal that reads back as the same double, so equal texts are equal bits.
backend=hip runs the GPU kernels on the CPU here (tests/hip/fake_hip.cpp); a real GPU is for tests/device/acceptance.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest

import oracle
from harness import EVERY_SCORE, EVERYTHING, MODEL, OWN_MODELS, FFmpeg, complete, counts, filter_lines, graph_escape, levels, parse_records, raw, read_json, refused, same

HERE = Path(__file__).resolve().parent
DEEP = f"metrics=psnr+float_psnr+adm+vif+motion:model={MODEL}"  # what samples of more than 12 bits have
HEVC = HERE.parent / "data/ramp10_256x160.hevc"
VERBOSE = ["-loglevel", "verbose"]
DEVICE = ["-init_hw_device", "cuda=c", "-filter_hw_device", "c"]


# ---- generators ----

def lavfi_stripes(size, seconds=0.12):
    """(main, reference): black and white stripes, of which a part is moved in main."""
    def clip(moved):
        return (f"nullsrc=s={size}:r=25:d={seconds},geq=lum='255*mod(floor((X+3*N)/(1+mod(floor(Y/40),5))){moved},2)':cb=128:cr=128,format=yuv420p")
    return clip("+lt(mod(X*7919+Y*104729+N*1299709,97),29)"), clip("")


def lavfi_ramp(size, seconds=0.2):
    return f"nullsrc=s={size}:r=25:d={seconds},format=yuv420p10le,geq=lum='mod(X*5+Y*3+N*7,1024)':cb=512:cr=512"


def lavfi_smooth(size, seconds=1.0, fmt="yuv420p"):
    """(main, reference): natural content, blurred and with noise."""
    clip = f"testsrc2=s={size}:r=25:d={seconds},format={fmt}"
    return f"{clip},avgblur=4,noise=c0s=20:allf=t:c0_seed=1", clip


def planes(fmt, width, height, luma):
    """A frame: luma as given (0 to 1), chroma a part of it."""
    chroma, depth = oracle.FORMATS[fmt][:2]
    top = (1 << depth) - 1
    out = []
    for p, (w, h) in enumerate(oracle.plane_sizes(chroma, width, height)):
        picture = luma if p == 0 else (luma if p == 1 else 1.0 - luma)[:h, :w] if h <= height and w <= width else luma
        out.append(numpy.rint(numpy.clip(picture, 0, 1) * top).astype("<u2" if depth > 8 else "u1").tobytes())
    return b"".join(out)


def contents(fmt, width, height, frames=7):
    """(main, reference), bytes of up to seven frames: stripes, uniform noise, smooth, black against white and back, stripes again, white against black."""
    rng = numpy.random.default_rng([width, height, *fmt.encode()])
    y, x = numpy.ogrid[0:height, 0:width]
    stripes = numpy.floor(x / (1 + numpy.floor(y / 40) % 5)) % 2
    moved = numpy.abs(stripes - ((x * 7919 + y * 104729) % 97 < 29))
    black, white = (numpy.broadcast_to(value, (height, width)) for value in (0.0, 1.0))

    def smooth():
        return 0.5 + 0.3 * numpy.sin(x / 17 + y / 31) + 0.2 * numpy.cos(x * y / 900)

    pairs = [lambda: (moved, stripes), lambda: (rng.random((height, width)), rng.random((height, width))), lambda: (smooth() + 0.1 * rng.random((height, width)), smooth()),
             lambda: (black, white), lambda: (white, black), lambda: (stripes, moved), lambda: (white, black)]
    out = b"", b""
    for pair in pairs[:frames]:  # one at a time: large ones take gigabytes
        out = tuple(before + planes(fmt, width, height, picture) for before, picture in zip(out, pair()))
    return out


@pytest.fixture
def content(tmp_path):
    """content(fmt, width, height, frames): input arguments for both sides of contents()."""
    def write(fmt, width, height, frames=7):
        out = []
        for side, data in zip(("main", "ref"), contents(fmt, width, height, frames)):
            path = tmp_path / f"{side}.{fmt}.{width}x{height}.raw"
            path.write_bytes(data)
            out.append(raw(path, fmt, width, height))
        return out
    return write


@pytest.fixture
def rawclip(ff, tmp_path):
    """rawclip(description, fmt, width, height): input arguments for the frames of a lavfi source, computed once."""
    def write(description, fmt, width, height):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.raw"
        path.write_bytes(ff.dump(description))
        return raw(path, fmt, width, height)
    return write


# ---- judging ----

def everywhere(ff, hip, main, ref, options, *, gpu=True, flags=None, **keywords):
    """The same bytes on every instruction set of this processor and from the GPU kernels. Returns one of the results."""
    calls = [lambda f=f: ff.score(main, ref, f"{options}:backend=cpu:threads=1", args=["-cpuflags", f] if f else [], **keywords)
             for f in flags or [None, *levels()]]
    if gpu:
        calls.append(lambda: ff.score(main, ref, f"{options}:backend=hip", args=VERBOSE, env=hip(), **keywords))
    results = ff.many(calls)
    if gpu:
        assert " on hip (" in results[-1].err, str(results[-1])
    same(results)
    return results[0]


def metrics_for(fmt, width, height):
    """All metrics that these pictures have."""
    deep, small = oracle.FORMATS[fmt][1] > 12, min(width, height) < 17
    if small:
        return "metrics=psnr+float_psnr+vif+motion" + ("" if deep else "+psnr_hvs")
    return DEEP if deep else EVERYTHING


def identical(result, frames):
    """Every frame has all scores, and those of an exact copy."""
    for record in complete(result, frames, EVERY_SCORE):
        assert {record.scores[n] for n in EVERY_SCORE if n.startswith("psnr_hvs")} == {"inf"}, str(result)
        assert {record.scores[n] for n in ("psnr_y", "psnr_cb", "psnr_cr", "float_psnr")} == {"60"}, str(result)
        assert all(abs(record.value(n) - 1) < 1e-3 for n in EVERY_SCORE if re.match(r"adm2|adm3|adm_scale|vif_scale", n)), str(result)


# ---- A1: the instruction set does not count ----

def test_a01_instruction_sets(ff, hip, rawclip):
    """Content with the largest wavelet coefficients there are, where libvmaf's SIMD differs from its C."""
    main, ref = (rawclip(clip, "yuv420p", 576, 324) for clip in lavfi_stripes("576x324"))
    result = everywhere(ff, hip, main, ref, EVERYTHING, flags=[None, "0", "mmx+mmxext+sse+sse2", *levels()])
    records = complete(result, 3, EVERY_SCORE)
    assert "%.6f" % records[1].value("adm2") == "0.439805", "libvmaf's plain C"
    if OWN_MODELS:
        assert "%.6f" % records[1].value("vmaf") == "57.320432", "libvmaf's plain C"


# ---- A2: CPU = GPU ----

@pytest.mark.parametrize("fmt", ["yuv420p", "yuv422p10le", "yuv444p12le", "yuv420p16le"])
def test_a02_small_sizes(ff, hip, content, fmt):
    for width, height in ((16, 16), (17, 17), (24, 40), (33, 19), (64, 64)):
        everywhere(ff, hip, *content(fmt, width, height), metrics_for(fmt, width, height))


@pytest.mark.parametrize("fmt,width,height", [("yuv420p", 322, 242), ("yuv420p", 323, 241),
                                              ("yuv420p10le", 323, 241), ("yuv420p12le", 322, 242), ("gray16le", 323, 241)])
def test_a02_sizes(ff, hip, content, fmt, width, height):
    everywhere(ff, hip, *content(fmt, width, height), metrics_for(fmt, width, height))


LARGE = [(854, 480), (1920, 1080), (1080, 1920), (4096, 2160)]


@pytest.mark.parametrize("width,height", LARGE)
def test_a02_large_sizes_on_the_cpu(ff, hip, content, width, height):
    everywhere(ff, hip, *content("yuv420p", width, height, 2), EVERYTHING, gpu=width < 900, flags=[None, "0"])


@pytest.mark.slow
@pytest.mark.parametrize("fmt,width,height", [*((fmt, 1920, 1080) for fmt in ("yuv420p", "yuv420p10le", "yuv420p12le", "yuv420p16le")),
                                              ("yuv420p10le", 1080, 1920), ("yuv420p", 4096, 2160)])
def test_a02_large_sizes(ff, hip, content, fmt, width, height):
    everywhere(ff, hip, *content(fmt, width, height, 3), metrics_for(fmt, width, height), timeout=900)


# ---- A3: CUDA frames are scored in their own layout (test_cuda_frames.py: noise in every layout) ----

@pytest.mark.parametrize("fmt,planar", [("p010le", "yuv420p10le"), ("yuv420p10le", "yuv420p10le"), ("nv12", "yuv420p"), ("yuv420p", "yuv420p"),
                                        ("yuv444p16le", "yuv444p16le")])
def test_a03_ramp_in_cuda_frames(ff, cuda, fmt, planar):
    """P010 has its samples in the high bits, yuv420p10 in the low ones: the same scores."""
    if fmt == "yuv420p10le" and ff.version < (8, 1):
        pytest.skip(f"FFmpeg {ff.version[0]}.{ff.version[1]} has no CUDA frames of {fmt}")
    options = DEEP if "16" in fmt else EVERYTHING
    ref = lavfi_ramp("322x242") + f",format={planar}"
    main = lavfi_ramp("322x242") + f",format={planar},avgblur=2"
    plain = ff.score(main, ref, options)
    device = ff.score(main, ref, options, args=[*VERBOSE, *DEVICE], env=cuda, before_main=f"format={fmt},hwupload", before_ref=f"format={fmt},hwupload")
    assert "fake_cuda: session on CUDA frames, context alive" in device.err and "fake_cuda: error" not in device.err, str(device)
    assert "setparams" not in device.err and "scale_cuda" not in device.err
    same([plain, device])


def test_a03_real_decode(ff, hip):
    """The lossless 10-bit HEVC clip that tests/device/acceptance decodes on the GPU: the CPU decodes it to the very samples it was made from."""
    result = everywhere(ff, hip, ["-i", str(HEVC)], lavfi_ramp("256x160"), EVERYTHING, flags=[None])
    for record in complete(result, 5, EVERY_SCORE):
        assert record.scores["psnr_y"] == "72" and record.scores["psnr_hvs"] == "inf", str(result)


# ---- A4: every size is scored, or refused with the least size and the metric that sets it ----

LEAST = {"psnr_hvs": 8, "adm": 17, "vif": 16, "motion": 3}


@pytest.mark.parametrize("fmt", ["yuv420p", "yuv444p10le"])
def test_a04_sizes_up_to_40(ff, hip, content, fmt):
    """A sample; tests/parity has all of them."""
    rng = numpy.random.default_rng(4)
    sizes = [(1, 1), (16, 16), (32, 16), (16, 40), (17, 16), (17, 17), (18, 22)] + [tuple(int(v) for v in rng.integers(1, 41, 2)) for _ in range(16)]

    def one(width, height):
        main, ref = content(fmt, width, height, 3)
        if min(width, height) >= 17:
            everywhere(ff, hip, main, ref, EVERYTHING, flags=[None, "0"])
            return
        result = ff.score(main, ref, EVERYTHING, check=False)
        refused(result, f"{width}x{height}" if min(width, height) > 15 else "needs")
        metric, least = re.search(r"(\w+) needs (?:pictures|planes) of at least (\d+)x\2 samples", result.err).groups()
        assert int(least) == LEAST[metric], str(result)
        assert min(width, height) < int(least) * (2 if metric == "psnr_hvs" else 1), str(result)
    for size in sizes:
        one(*size)


@pytest.mark.parametrize("width,height", [(426, 240), (480, 360), (720, 1280)])
def test_a04_sizes_of_reports(ff, hip, content, width, height):
    everywhere(ff, hip, *content("yuv420p", width, height, 2), EVERYTHING)
    if (width, height) == (720, 1280):
        everywhere(ff, hip, *content("yuv420p10le", width, height, 2), EVERYTHING, gpu=False)


@pytest.mark.slow
@pytest.mark.parametrize("width,height", [(962, 13542), (8192, 4320)])
def test_a04_largest_sizes(ff, hip, content, width, height):
    everywhere(ff, hip, *content("yuv420p", width, height, 1), EVERYTHING, gpu=height != 4320, timeout=1800)  # of 8192x4320 the parity tests


# ---- A5: tags that differ ----

@pytest.mark.parametrize("memory", ["system", "cuda"])
def test_a05_tags(ff, cuda, memory):
    """Tags of one side, or of both but different: no scaler, and the scores of the untouched samples. One warning if only one side has a range."""
    main, ref = lavfi_smooth("320x240", 0.2)
    plain = ff.score(main, ref, EVERYTHING)
    upload = ",hwupload" if memory == "cuda" else ""
    args = ["-loglevel", "level+repeat+verbose", *(DEVICE if upload else [])]
    tags = "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709"

    def run(before_main, before_ref, warnings):
        result = ff.score(main, ref, EVERYTHING, before_main=before_main + upload, before_ref=before_ref + upload, args=args, env=cuda if upload else None)
        assert "auto_scale" not in result.err and "fake_cuda: error" not in result.err, str(result)
        assert not upload or "session on CUDA frames" in result.err, str(result)
        said = [line for line in result.err.splitlines() if "exactvq" in line and "[warning]" in line]
        assert len(said) == warnings and all("range" in line for line in said), str(result)
        same([plain, result])
    # from 7.0 on FFmpeg itself takes an untagged main video for tv
    run("null", f"{tags}:range=tv", 0 if ff.version >= (7, 0) else 1)
    run(f"{tags}:range=tv", "null", 1)
    run("null", tags, 0)
    run(tags, "setparams=colorspace=smpte170m:color_primaries=smpte170m:color_trc=smpte170m", 0)
    run(f"{tags}:range=pc", "null", 1)


# ---- A6: inputs that truly differ (e, f, g, those in CUDA memory: test_cuda_frames.py) ----

RAMP, CHROMA = lavfi_ramp("320x240"), "nullsrc=s=320x240:r=25:d=0.2,format=yuv444p,geq=lum=128:cb='mod(X*9,256)':cr='mod(Y*9,256)'"
PLAIN = "testsrc2=s=320x240:r=25:d=0.2,format=yuv420p"


@pytest.mark.parametrize("main,ref,sides,reason", [
    (RAMP, RAMP + ",format=yuv420p", ["320x240 yuv420p10le", "320x240 yuv420p"], "the bit depths differ"),
    (CHROMA, CHROMA + ",format=yuv420p", ["320x240 yuv444p", "320x240 yuv420p"], "the chroma subsampling differs"),
    (PLAIN, PLAIN + ",format=yuvj420p", ["320x240 yuv420p", "320x240 yuvj420p"], "with range pc"),
    (PLAIN, PLAIN.replace("320x240", "322x240"), ["320x240 yuv420p", "322x240 yuv420p"], "the sizes differ"),
], ids=["a-depth", "b-chroma", "c-range", "d-size"])
def test_a06_inputs_that_differ(ff, need_format, tmp_path, main, ref, sides, reason):
    """Other filters convert one of them silently."""
    need_format("yuvj420p")
    log = tmp_path / "log.json"
    for a, b, named in ((main, ref, sides), (ref, main, sides[::-1])):
        result = ff.score(a, b, f"{EVERYTHING}:log_path={log}", check=False)
        refused(result, reason, outputs=[log])
        assert list(re.search(r"main is (\d+x\d+ \w+).* reference is (\d+x\d+ \w+)", result.err).groups()) == named, str(result)


# ---- A7: time bases ----

@pytest.fixture(scope="module")
def time_bases(ff, clips):
    """The same frames at 23.976 a second, with exact time stamps (1/24000) and with rounded ones (milliseconds)."""
    exact, rounded = clips / "exact.mp4", clips / "rounded.mkv"
    ff.run("-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=s=320x240:r=24000/1001:d=4", "-pix_fmt", "yuv420p", "-c:v", "libx264",
           "-qp", "0", "-video_track_timescale", "24000", exact)
    ff.run("-loglevel", "error", "-i", exact, "-c:v", "ffv1", rounded)
    return ["-i", str(exact)], ["-i", str(rounded)]


@pytest.mark.parametrize("swap", [False, True], ids=["mp4-mkv", "mkv-mp4"])
def test_a07_time_bases(ff, time_bases, swap):
    """framesync pairs 44 of 97 wrong."""
    main, ref = reversed(time_bases) if swap else time_bases
    result = ff.score(main, ref, EVERYTHING)
    identical(result, 96)
    counts(result, 96)


# ---- A8: length and offset ----

def test_a08_a_reference_is_shorter(ff):
    """Its last frame is not repeated."""
    result = ff.score("testsrc2=s=320x240:r=25:d=1,format=yuv420p", "testsrc2=s=320x240:r=25:d=0.4,format=yuv420p", EVERYTHING)
    records = result.records
    assert [r.frame for r in records] == list(range(25)) and all(r.lines == ["lavfi.exactvq.paired=0"] for r in records[10:]), str(result)
    counts(result, 10, 15)
    assert "main without partner: 15" in result.err
    result.out = result.out.partition(b"frame:10 ")[0]
    identical(result, 10)


def test_a08_b_shifted_by_a_frame(ff):
    """A reference that lost its first frame: a hint with the shift, as the neighbours fit far better. None where they do not."""
    clip = "testsrc2=s=320x240:r=25:d=1,format=yuv420p"
    result = ff.score(clip, clip, EVERYTHING, before_ref="trim=start_frame=1,setpts=PTS-STARTPTS", args=["-loglevel", "level+info"])
    counts(result, 24, 1)
    hints = [line for line in result.err.splitlines() if "fits the reference better" in line]
    assert len(hints) == 1 and "[warning]" in hints[0] and "a shift of -1 frames" in hints[0], str(result)
    for before in ("null", "noise=c0s=20:allf=t:c0_seed=1"):
        assert "fits the reference better" not in ff.score(clip, clip, EVERYTHING, before_main=before).err


def test_a08_c_no_overlap(ff, tmp_path):
    """Other filters end with exit status 0 and say nothing."""
    clip, log = "testsrc2=s=320x240:r=25:d=1,format=yuv420p", tmp_path / "log.json"
    refused(ff.score(clip, clip, f"{EVERYTHING}:log_path={log}", before_ref="trim=start=5", check=False), "main", "reference", "25", outputs=[log])


# ---- A9: test_repeatability.py ----

# ---- A10: metadata are complete ----

@pytest.mark.parametrize("depth", [1, 4, 64])
def test_a10_every_frame(ff, coded, tmp_path, depth):
    """All scores, those included that look at the next frame; lines that no release of metadata=print cuts; nothing is lost in the log."""
    log = tmp_path / "log.json"
    result = ff.score(*coded, f"{EVERYTHING}:async_depth={depth}:log_path={log}")
    complete(result, 25, EVERY_SCORE)
    counts(result, 25)
    assert max(len(line) for line in result.out.splitlines()) < 127
    frames = read_json(log)["frames"]
    assert [f["frameNum"] for f in frames] == list(range(25)) and {len(f["metrics"]) for f in frames} == {len(EVERY_SCORE)}


def log_names(name):
    """What libvmaf calls a score in its log, without options' suffixes."""
    return {name, f"integer_{name}", f"VMAF_integer_feature_{name}_score"}


@pytest.mark.parametrize("subsample", [1, 3])
def test_a10_one_number_everywhere(ff, coded, tmp_path, subsample):
    """The mean of the records is that of the log, to the last bit, and that of the summary."""
    log = tmp_path / "log.json"
    result = ff.score(*coded, f"{EVERYTHING}:subsample={subsample}:log_path={log}:log_precision=max")
    records = [r for r in result.records if r.scores]
    assert [r.frame for r in records] == list(range(0, 25, subsample))
    # a model's own instances have its name as their label
    shown = {f"{metric.partition('@')[2]}.{name}".lstrip("."): text for metric, pools in result.summary.pools.items() for name, text in pools["mean"].items()}
    pooled = read_json(log)["pooled_metrics"]
    assert sorted(shown) == sorted(EVERY_SCORE) and len(pooled) == len(EVERY_SCORE), str(result)
    for name in EVERY_SCORE:
        total = 0.0
        for record in records:
            total += record.value(name)
        assert shown[name] == "%.6f" % (total / len(records)), f"{name}\n{result}"
        if "." not in name:  # else it has suffixes in the log
            (key,) = log_names(name) & set(pooled)
            assert pooled[key]["mean"] == total / len(records), f"{name}\n{result}"
            assert [f["metrics"][key] for f in read_json(log)["frames"]] == [r.value(name) for r in records], f"{name}\n{result}"
    assert re.findall(r"VMAF score: (\S+)", result.err) == [shown["vmaf"]]


@pytest.mark.parametrize("end", [1, 5])
def test_a10_trim_behind_the_filter(ff, coded, tmp_path, end):
    """Downstream closes early: what was delivered is complete, and summary and log are finished."""
    log = tmp_path / "log.json"
    whole = ff.score(*coded, EVERYTHING)
    result = ff.score(*coded, f"{EVERYTHING}:log_path={log}", after=f"trim=end_frame={end}")
    complete(result, end, EVERY_SCORE)
    assert result.out == whole.out.partition(b"frame:%-4d" % end)[0]
    assert end <= result.summary.counts["paired"] <= 25
    assert list(result.summary.pools)[:6] == ["psnr", "float_psnr", "psnr_hvs", "adm", "vif", "motion"]
    frames = read_json(log)["frames"]
    assert end <= len(frames) <= 25 and [f["frameNum"] for f in frames] == list(range(len(frames)))


def test_a10_frames_option(ff, coded, tmp_path):
    log = tmp_path / "log.json"
    result = ff.score(*coded, f"{EVERYTHING}:log_path={log}", tail=["-frames:v", "7", "-f", "null", "-"])
    records = complete(result, len(result.records), EVERY_SCORE)
    # the encoder ends the run: a few frames more may have passed the filter by then
    assert 7 <= len(records) <= 25
    assert ff.score(*coded, EVERYTHING).out.startswith(result.out)
    assert result.summary.counts["paired"] >= 7
    assert len(read_json(log)["frames"]) >= 7


def test_a10_ffprobe(ff, coded):
    """The route of scripts: ffprobe, lavfi, movie."""
    (_, enc), (_, src) = coded
    graph = f"movie={graph_escape(enc)}[a];movie={graph_escape(src)}[b];[a][b]exactvq={EVERYTHING}"
    probe = ff.run("-loglevel", "error", "-f", "lavfi", "-i", graph, "-show_entries", "frame_tags", "-of", "json", probe=True)
    frames = [f["tags"] for f in json.loads(probe.out)["frames"]]
    assert [{k: v for k, v in f.items() if k.startswith("lavfi.exactvq.")} for f in frames] == [r.tags for r in ff.score(*coded, EVERYTHING).records]


# ---- A11: the ends of the range of numbers ----

@pytest.mark.parametrize("fmt", ["yuv420p", "yuv420p10le", "yuv444p12le", "gray16le", "yuv444p16le", "gray"])
def test_a11_no_nan(ff, hip, tmp_path, fmt):
    """Copies, black, white against black and alternating: every frame has every score, a number or `inf`, in metadata, summary and log."""
    chroma, depth = oracle.FORMATS[fmt][:2]
    size = 48, 40
    flat = {name: planes(fmt, *size, numpy.full(size[::-1], value)) for name, value in (("black", 0.0), ("white", 1.0))}
    textured = contents(fmt, *size)[1]
    clips = {
        "copy": (textured, textured), "black": (flat["black"] * 3,) * 2,
        "black-white": (flat["black"] * 3, flat["white"] * 3), "white-black": (flat["white"] * 3, flat["black"] * 3),
        "alternating": ((flat["black"] + flat["white"]) * 2, (flat["white"] + flat["black"]) * 2),
    }
    for name, data in clips.items():
        inputs = []
        for side, text in zip(("main", "ref"), data):
            (tmp_path / f"{name}.{side}").write_bytes(text)
            inputs.append(raw(tmp_path / f"{name}.{side}", fmt, *size))
        log = tmp_path / f"{name}.json"
        result = everywhere(ff, hip, *inputs, metrics_for(fmt, *size), flags=[None, "0"])
        with_log = ff.score(*inputs, f"{metrics_for(fmt, *size)}:log_path={log}")
        names = [n for n in EVERY_SCORE if not ((depth > 12 and n.startswith("psnr_hvs")) or (chroma == "400" and n.endswith(("_cb", "_cr"))))]
        same([result, with_log])
        for record in complete(result, len(result.records), names):
            assert all(re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?|inf", v) for v in record.scores.values()), str(result)
        json.loads(log.read_text(), parse_constant=lambda word: pytest.fail(f"{word} in {name}'s log"))
        assert not re.search(r"\bnan\b", (with_log.err + log.read_text()).lower()), str(with_log)
        if name in ("copy", "black"):
            assert result.records[1].scores["psnr_y"] == str(6 * depth + 12)
        else:
            assert result.records[1].scores["psnr_y"] == "0", str(result)


# ---- A12: test_transcode.py ----

# ---- A13: resources that are not there (a GPU: test_cuda_refusals.py, test_hip.py; allocations and threads one by one: test_memory.py) ----

MEMORY = "memory|allocate|failed to map|temporarily unavailable"


def test_a13_address_space(ff, tmp_path, content):
    """ulimit -v: success with all scores, or an error of one who says so. Never an abort, never a score after a failure."""
    if ff.asan:
        pytest.skip("ASan reserves more address space than any limit here")
    program = tmp_path / "limited"
    program.write_text(f'#!/bin/sh\nulimit -v "$LIMIT_KB" && exec "{ff.ffmpeg}" "$@"\n')
    program.chmod(0o755)
    limited = FFmpeg(program, ff.ffprobe)
    main, ref = content("yuv420p", 640, 360, 3)
    options = EVERYTHING + ":threads=2:async_depth=16"
    whole = ff.score(main, ref, options)
    log = tmp_path / "log.json"
    passed = failed = 0
    for megabytes in (*range(60, 260, 8), *range(260, 700, 40), 1000, 4000):
        log.unlink(missing_ok=True)
        result = limited.score(main, ref, f"{options}:log_path={log}", check=None, env={"LIMIT_KB": str(megabytes << 10), "MALLOC_ARENA_MAX": "1"})  # by a signal: fails
        if result.rc == 0:
            passed += 1
            same([whole, result])
            assert len(read_json(log)["frames"]) == 3, str(result)
        else:
            failed += 1
            # FFmpeg may not have got a thread for the reference: then main's frames have no partner
            assert {r.frame: r.scores for r in result.records if r.scores}.items() <= {r.frame: r.scores for r in whole.records}.items(), str(result)
            if result.has_summary:  # FFmpeg itself failed behind the filter, which sums up what it had sent on
                assert result.summary.counts["paired"] == len(read_json(log)["frames"]) >= len(result.records), str(result)
                assert not [text for _, text in filter_lines(result.err) if re.search(MEMORY, text, re.I)], str(result)
            else:
                assert not log.exists() and "VMAF score" not in result.err, str(result)
            assert re.search(MEMORY, result.err, re.I), f"{megabytes} MB: the message is about something else\n{result}"
    assert passed and failed, (passed, failed)


# ---- A14: a hundred filter graphs in one process ----

@pytest.fixture(scope="module")
def graph_churn(ff, tmp_path_factory):
    """The program, built against the libraries beside this ffmpeg."""
    program = tmp_path_factory.mktemp("churn") / "graph_churn"
    compiler = {**os.environ, "CC": "gcc -fsanitize=address,undefined"} if ff.asan else None
    built = subprocess.run([HERE / "build-graph-churn", ff.ffmpeg.parent.parent, program], capture_output=True, text=True, env=compiler)
    assert built.returncode == 0, built.stderr
    return program


def test_a14_context_churn(ff, graph_churn):
    """Sizes rise and fall: the first frame of each graph is right, memory and open files stay."""
    exact = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"}  # what is kept for the next allocation would count as in use
    output = subprocess.run([graph_churn, EVERYTHING + ":threads=2", "100"], capture_output=True, text=True, timeout=600, env=exact)
    assert output.returncode == 0, output.stderr
    rows, expected = [], {}
    for block in output.stdout.split("graph ")[1:]:
        head, *lines = block.splitlines()
        size, allocated, files = re.fullmatch(r"\d+: (\d+x\d+), (\d+) bytes allocated, (\d+) files", head).groups()
        if size not in expected:
            main, ref = lavfi_smooth(size, 0.08)
            expected[size] = ff.score(main.split(",noise")[0], ref, EVERYTHING).records[0].lines
        assert lines == expected[size], f"{head}\n{lines}\n{expected[size]}"
        rows.append((int(allocated), int(files)))
    assert len(rows) == 100 and len(expected) >= 8
    assert {files for _, files in rows[1:]} == {rows[1][1]}, rows
    if not ff.asan:
        assert max(size for size, _ in rows[40:]) - max(size for size, _ in rows[1:40]) < 4096, rows


# ---- A15: test_hip.py, tests/simt, tests/hip ----

# ---- what tools parse ----

def test_tools_that_parse(ff, coded, tmp_path):
    """ab-av1's line, ffmpeg-quality-metrics' records on stderr, Av1an's JSON with -loglevel error."""
    result = ff.score(*coded, EVERYTHING, after="metadata=mode=print")
    score = [line for line in result.err.splitlines() if "VMAF score: " in line][-1].split("VMAF score: ")[1]
    values = [r.value("vmaf") for r in result.records]
    assert float(score) == pytest.approx(sum(values) / 25, abs=1e-6)
    frames, current = {}, None
    for line in result.err.splitlines():  # as its parser goes: a line with the number of the frame, then one a value
        if found := re.search(r"\[Parsed_metadata_\d+ @ \w+\] frame:(\d+)", line):
            current = frames.setdefault(int(found[1]), {})
        elif found := re.search(r"\[Parsed_metadata_\d+ @ \w+\] lavfi\.exactvq\.(\S+)=(\S+)", line):
            current[found[1]] = found[2]
    assert [frames[n] for n in range(25)] == [r.scores for r in result.records]
    log = tmp_path / "vmaf.json"
    silent = ff.score(*coded, f"{EVERYTHING}:log_fmt='json':eof_action=endall:log_path={log}", args=["-loglevel", "error"])
    assert silent.err == "" and ["%.6f" % f["metrics"]["vmaf"] for f in read_json(log)["frames"]] == ["%.6f" % v for v in values]
    assert [r.frame for r in parse_records(result.out.decode())] == list(range(25))


def test_device_part_has_no_mistakes(ff, graph_churn):
    """tests/device/acceptance without a GPU: the CPU in its place."""
    command = [HERE.parent / "device/acceptance", f"--ffmpeg={ff.ffmpeg}", f"--churn={graph_churn}", "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dry run, no GPU: 7 passed, 0 failed, 1 skipped" in done.stdout, done.stdout
