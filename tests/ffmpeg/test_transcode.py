# SPDX-License-Identifier: BSD-2-Clause
"""Scoring an encode while it is made, through ffmpeg's loopback decoder, gives the bytes of scoring it afterwards."""

import pytest

from harness import EVERY_SCORE, EVERYTHING, complete, counts, parse_records, parse_summaries

MIB = 1 << 20


def make_source(ff, path, size, seconds):
    ff.run("-loglevel", "error", "-f", "lavfi", "-i", f"testsrc2=s={size}:r=25:d={seconds},noise=c0s=8:allf=t:c0_seed=1,format=yuv420p",
           "-c:v", "libx264", "-preset", "ultrafast", "-qp", "16", path, timeout=600)


def transcode(ff, src, folder, options, lookahead, extra=(), **keywords):
    """(metadata inline, metadata offline, result of the inline run, result of the offline run)"""
    out, inline, offline = folder / "out.mkv", folder / "inline.txt", folder / "offline.txt"
    # without label and -map the output of the graph would go to the first output file: a cycle
    graph, tail = "exactvq={},settb=AVTB,metadata=print:file={}[q]", ["-map", "[q]", "-f", "null", "-"]
    first = ff.run("-i", src, "-map", "0:v", "-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-bf", "3",
                   "-x264-params", f"rc-lookahead={lookahead}", *extra, out,
                   "-dec", "0:0", "-filter_complex", "[dec:0][0:v]" + graph.format(options, inline), *tail, **keywords)
    second = ff.run("-i", out, "-i", src, "-filter_complex", "[0:v][1:v]" + graph.format(options, offline), *tail, **keywords)
    return inline.read_bytes(), offline.read_bytes(), first, second


@pytest.fixture(scope="module")
def short(ff, clips):
    path = clips / "short.mkv"
    make_source(ff, path, "160x96", 10)
    return path


@pytest.mark.parametrize("lookahead,extra", [(40, ()), (250, ()), (0, ("-tune", "zerolatency"))], ids=["lookahead-40", "lookahead-250", "zerolatency"])
def test_a12_inline_equals_offline(ff, loopback, short, tmp_path, lookahead, extra):
    inline, offline, first, second = transcode(ff, short, tmp_path, EVERYTHING, lookahead, extra)
    assert inline == offline
    records = parse_records(inline.decode())
    assert [r.frame for r in records] == list(range(250))
    assert all(sorted(r.scores) == sorted(EVERY_SCORE) for r in records)
    counts(first, 250)
    counts(second, 250)
    assert parse_summaries(first.err).popitem()[1].lines == parse_summaries(second.err).popitem()[1].lines


def test_inline_with_a_short_queue(ff, loopback, short, tmp_path):
    """One frame in flight, and the encode is the same as without the filter (with one thread: x264 with several repeats itself only mostly)."""
    inline, offline, _, _ = transcode(ff, short, tmp_path, EVERYTHING + ":async_depth=1:threads=1", 40, ("-threads", "1"))
    assert inline == offline
    bare = tmp_path / "bare.mkv"
    ff.run("-i", short, "-map", "0:v", "-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-bf", "3", "-x264-params", "rc-lookahead=40", "-threads", "1", bare)
    frames = [ff.run("-loglevel", "error", "-i", f, "-f", "framemd5", "-").out for f in (bare, tmp_path / "out.mkv")]
    assert frames[0] == frames[1]


def test_offline_encode_against_its_source(ff, short, tmp_path):
    """The offline half alone, in all releases."""
    out = tmp_path / "out.mkv"
    ff.run("-loglevel", "error", "-i", short, "-frames:v", "50", "-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-bf", "3", out)
    result = ff.score(["-i", str(out)], ["-i", str(short)], EVERYTHING + ":shortest=1")
    complete(result, 50, EVERY_SCORE)
    assert all(20 < r.value("psnr_y") < 60 for r in result.records)


@pytest.mark.slow
def test_a12_memory_of_a_long_transcode(ff, loopback, clips, tmp_path):
    """2,000 frames of 320x180 with the longest look-ahead: same bytes, and memory that does not grow with the clip."""
    peaks = []
    for frames in (500, 2000):
        src = clips / f"long{frames}.mkv"
        make_source(ff, src, "320x180", frames / 25)
        folder = tmp_path / str(frames)
        folder.mkdir()
        inline, offline, first, second = transcode(ff, src, folder, EVERYTHING, 250, peak=True, timeout=1800)
        assert inline == offline
        assert len(parse_records(inline.decode())) == frames
        counts(first, frames)
        peaks.append((first.peak, second.peak))
    (short_inline, short_offline), (long_inline, long_offline) = peaks
    if not ff.asan:
        # 250 frames of look-ahead in the encoder and as many waiting sources at the filter: 90 kB each, several planes of look-ahead; 1,500 frames more would be 130 MB
        assert long_inline < 900 * MIB, peaks
        assert long_inline - short_inline < 48 * MIB and long_offline - short_offline < 32 * MIB, peaks
