# SPDX-License-Identifier: BSD-2-Clause
"""The main video passes untouched, and nothing converts either input on the way."""

import re

import pytest

import oracle
from harness import PREFIX, complete, counts

SOFT = "testsrc2=s=64x48:r=25:d=0.4,format=yuv420p"
BLUR = "testsrc2=s=64x48:r=25:d=0.4,avgblur=3,format=yuv420p"
ALL = "metrics=psnr+float_psnr+psnr_hvs"

TAGS = [
    "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=tv",
    "setparams=colorspace=bt709:color_primaries=bt709:color_trc=bt709",
    "setparams=colorspace=smpte170m:color_primaries=smpte170m:color_trc=smpte170m",
    "setparams=colorspace=bt2020nc:color_primaries=bt2020:color_trc=smpte2084:range=tv",
    "setparams=range=tv", "setparams=range=pc", "setparams=field_mode=tff",
]


@pytest.mark.parametrize("tags", TAGS, ids=lambda t: t[10:40])
def test_tags_convert_nothing(ff, tags):
    """Tags on one side only: no scaler, and the scores of the untouched samples."""
    plain = ff.score(BLUR, SOFT, ALL)
    results = ff.many([lambda a=a, b=b: ff.score(BLUR, SOFT, ALL, before_main=a, before_ref=b, args=["-loglevel", "verbose"])
                       for a, b in ((tags, ""), ("", tags), (tags, tags))])
    for result in results:
        assert "auto_scale" not in result.err, str(result)
        assert result.out == plain.out, str(result)
        assert len(result.records) == 10


def test_different_tags_on_both_sides(ff):
    plain = ff.score(BLUR, SOFT, ALL)
    result = ff.score(BLUR, SOFT, ALL, before_main=TAGS[1], before_ref=TAGS[2], args=["-loglevel", "verbose"])
    assert "auto_scale" not in result.err and result.out == plain.out, str(result)


def test_tagged_encode_against_untagged_source(ff, clips):
    """The usual case: a bt709 encode against a raw source without tags."""
    tagged, bare = clips / "tagged.mkv", clips / "bare.mkv"
    ff.run("-loglevel", "error", "-f", "lavfi", "-i", SOFT, "-vf", TAGS[0], "-c:v", "libx264", "-preset", "ultrafast", "-qp", "0", tagged)
    ff.run("-loglevel", "error", "-f", "lavfi", "-i", SOFT, "-c:v", "ffv1", bare)
    for a, b in ((tagged, bare), (bare, tagged)):
        result = ff.score(["-i", str(a)], ["-i", str(b)], ALL, args=["-loglevel", "verbose"])
        assert "auto_scale" not in result.err, str(result)
        for record in complete(result, 10, ["psnr_y", "psnr_cb", "psnr_cr", "float_psnr", "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]):
            assert all(v == ("inf" if "hvs" in k else "60") for k, v in record.scores.items()), str(result)


def framemd5(ff, inputs, graph, tmp_path, name):
    target = tmp_path / name
    ff.run("-loglevel", "error", *inputs, "-lavfi", graph, "-map", "[out]", "-fps_mode", "passthrough", "-f", "framemd5", target)
    return target.read_bytes()


@pytest.mark.parametrize("fmt", ["yuv420p", "nv12", "yuv444p", "gray", "yuv422p10le", "p010le", "gray12le"])
def test_frames_are_untouched(ff, rawfile, tmp_path, fmt):
    """Pixels, count and times, with paired, unpaired and disabled frames."""
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, ref = oracle.pictures(chroma, depth, 38, 34, 12)
    inputs = rawfile(main, fmt) + rawfile(ref, fmt)
    times = "setpts=PTS+3*mod(N\\,2)"  # irregular
    before = f"[0:v]settb=1/1000,{times}[m];[1:v]settb=1/1000,{times}"
    plain = framemd5(ff, inputs, f"[0:v]settb=1/1000,{times}[out]", tmp_path, "plain")
    assert plain.count(b"\n0,") == 12
    jobs = {"all": "", "late": ",trim=start_frame=5", "short": ",trim=end_frame=4"}
    for name, cut in jobs.items():
        graph = f"{before}{cut}[r];[m][r]exactvq=metrics=psnr+float_psnr[out]"
        assert framemd5(ff, inputs, graph, tmp_path, name) == plain, name
    graph = f"{before}[r];[m][r]exactvq=metrics=psnr:enable='between(n,2,5)'[out]"
    assert framemd5(ff, inputs, graph, tmp_path, "timeline") == plain
    graph = f"{before}[r];[m][r]exactvq=metrics=psnr:subsample=3[out]"
    assert framemd5(ff, inputs, graph, tmp_path, "subsample") == plain


def test_properties_are_untouched(ff):
    """What showinfo prints of a frame is the same before and behind the filter."""
    result = ff.score(BLUR, SOFT, "metrics=psnr", before_main=TAGS[1] + ",setparams=field_mode=tff,showinfo=checksum=1", after="showinfo=checksum=1")
    shown = {}
    for line in result.err.splitlines():
        m = re.match(r"\[Parsed_showinfo_(\d+) @ [^\]]*\]\s+(n:\s*\d+ .*)", line)
        if m:
            shown.setdefault(m[1], []).append(m[2].strip())
    before, behind = shown.values()
    assert len(before) == 10 and before == behind


def test_cropped_and_flipped_frames_pass(ff, tmp_path):
    """Frames with moved pointers and negative line sizes come out as they went in."""
    inputs = ["-f", "lavfi", "-i", SOFT, "-f", "lavfi", "-i", SOFT]
    for change in ("vflip", "crop=33:25:5:3:exact=1", "vflip,crop=33:25:5:3:exact=1"):
        plain = framemd5(ff, inputs[:4], f"[0:v]{change}[out]", tmp_path, "plain")
        scored = framemd5(ff, inputs, f"[0:v]{change}[m];[1:v]{change}[r];[m][r]exactvq=metrics=psnr[out]", tmp_path, "scored")
        assert plain == scored and plain.count(b"\n0,") == 10, change


def test_a_writer_behind_the_filter_changes_no_score(ff, coded):
    """Filters behind it that write into the frame get one of their own while the frame is still being scored."""
    plain = ff.score(*coded, ALL)
    drawn = ff.score(*coded, ALL, after="noise=c0s=90:allf=t,geq=lum=0")
    assert drawn.out == plain.out


def test_the_same_frames_on_both_pads(ff):
    """One input split into both: shared buffers."""
    result = ff.run("-f", "lavfi", "-i", SOFT, "-lavfi", f"[0:v]split[a][b];[a][b]exactvq={ALL},metadata=print:file=-", "-f", "null", "-")
    for record in complete(result, 10, ["psnr_y", "psnr_cb", "psnr_cr", "float_psnr", "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]):
        assert all(v == ("inf" if "hvs" in k else "60") for k, v in record.scores.items())
    counts(result, 10)


def test_sample_aspect_ratio_and_rate_are_those_of_main(ff, tmp_path):
    """The output link has the properties of the main input, whatever the reference has."""
    out = tmp_path / "out.mkv"
    ff.run("-f", "lavfi", "-i", "testsrc2=s=64x48:r=30:d=0.4,format=yuv420p", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=60:d=0.4,format=yuv420p",
           "-lavfi", "[0:v]settb=1/90000[m];[1:v]settb=1/1000[r];[m][r]exactvq=metrics=psnr", "-c:v", "ffv1", out)
    probe = ff.run("-loglevel", "error", "-show_entries", "stream=avg_frame_rate:frame=pts_time", "-of", "csv=p=0", out, probe=True)
    lines = probe.out.decode().split()
    assert lines[-1] == "30/1" and len(lines) == 13, lines
    assert PREFIX.encode() not in probe.out
