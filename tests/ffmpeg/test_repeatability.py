# SPDX-License-Identifier: BSD-2-Clause
"""The same bytes in every run, with any number of threads, any instruction set, any queue length, any number of instances."""

import os
import re

import pytest

import oracle
from harness import EVERY_SCORE, EVERYTHING, complete, filter_lines, levels, parse_records, parse_summaries, same, source

ALL = EVERYTHING + ":options=enable_mse=1"
FLAT = "metrics=psnr+float_psnr+psnr_hvs:options=enable_mse=1"  # of less than 17 rows
REPEAT = int(os.environ.get("EXACTVQ_REPEAT") or 20)


@pytest.fixture(scope="module")
def tiny(rawfile):
    """32x32 4:4:4, two frames: where races showed in other tools."""
    main, ref = oracle.pictures("444", 8, 32, 32, 2)
    return rawfile(main, "yuv444p"), rawfile(ref, "yuv444p")


@pytest.fixture(scope="module")
def busy(ff, clips):
    """Enough blocks for all threads: 352x288, eight frames, 8 and 10 bits."""
    pairs = []
    for fmt in ("yuv420p", "yuv422p10le"):
        files = []
        for side, change in (("main", "noise=c0s=30:c1s=20:c2s=10:allf=t:c0_seed=3:c1_seed=4:c2_seed=5,"), ("ref", "")):
            path = clips / f"busy.{fmt}.{side}.mkv"
            ff.run("-loglevel", "error", "-f", "lavfi", "-i", f"mandelbrot=s=352x288:r=25,trim=end_frame=8,format={fmt},{change}format={fmt}",
                   "-c:v", "ffv1", "-level", "3", path)
            files.append(["-i", str(path)])
        pairs.append(files)
    return pairs


def test_a09_repeated_runs(ff, tiny):
    results = ff.many([lambda: ff.score(*tiny, ALL)] * REPEAT)
    same(results)
    complete(results[0], 2, ["mse_y", "mse_cb", "mse_cr", *EVERY_SCORE])
    lines = {"\n".join(s.lines) for r in results for s in parse_summaries(r.err).values()}
    assert len(lines) == 1, lines


def test_repeated_runs_of_a_larger_clip(ff, busy):
    for pair in busy:
        same(ff.many([lambda: ff.score(*pair, ALL + ":threads=3:async_depth=5")] * max(3, REPEAT // 5)))


def test_a09_threads(ff, busy):
    for pair in busy:
        results = ff.many([lambda t=t: ff.score(*pair, f"{ALL}:threads={t}") for t in (*range(1, 9), 0)])
        same(results)
        assert len(results[0].records) == 8


def test_filter_threads_of_ffmpeg(ff, busy):
    same(ff.many([lambda a=a: ff.score(*busy[0], ALL, args=a) for a in ([], ["-filter_complex_threads", "1"], ["-filter_complex_threads", "4"], ["-threads", "1"])]))


def test_instruction_sets(ff, tiny, busy):
    for pair in (tiny, *busy):
        flags = [None, *levels()]
        results = ff.many([lambda f=f, t=t: ff.score(*pair, f"{ALL}:threads={t}", args=["-cpuflags", f] if f is not None else [])
                           for f in flags for t in (1, 2)])
        same(results)


def test_instruction_sets_are_really_limited(ff, tiny):
    """The line at the start names what is used; it is not the same for every level."""
    used = []
    for flags in levels():
        text = " ".join(t for _, t in filter_lines(ff.score(*tiny, "threads=1", args=["-cpuflags", flags]).err) if "scoring" in t)
        used.append(re.search(r"on (cpu.*)", text)[1])
    assert len(set(used)) == len(used), used


@pytest.mark.parametrize("width,height", [(33, 29), (71, 23), (130, 16)])
def test_instruction_sets_at_odd_sizes(ff, rawfile, width, height):
    for fmt in ("yuv420p", "yuv444p12le", "gray10le", "nv12"):
        chroma, depth = oracle.FORMATS[fmt][:2]
        main, ref = oracle.pictures(chroma, depth, width, height, 2)
        options = ALL if height >= 17 else FLAT
        same(ff.many([lambda f=f: ff.score(rawfile(main, fmt), rawfile(ref, fmt), options, args=["-cpuflags", f]) for f in levels()]))


def test_queue_length(ff, busy):
    results = ff.many([lambda d=d, t=t: ff.score(*busy[0], f"{ALL}:async_depth={d}:threads={t}") for d in (1, 2, 3, 4, 7, 16) for t in (1, 4)])
    same(results)


def instances(ff, pair, options, tmp_path):
    """One graph with an instance for each of `options`; records by instance."""
    n = len(options)
    graph = f"[0:v]split={n}" + "".join(f"[m{i}]" for i in range(n)) + f";[1:v]split={n}" + "".join(f"[r{i}]" for i in range(n))
    tail = []
    for i, o in enumerate(options):
        graph += f";[m{i}][r{i}]exactvq={o},metadata=print:file={tmp_path}/{i}.txt[o{i}]"
        tail += ["-map", f"[o{i}]", "-f", "null", "-"]
    result = ff.run(*source(pair[0]), *source(pair[1]), "-lavfi", graph, *tail)
    return [(tmp_path / f"{i}.txt").read_bytes() for i in range(n)], result


@pytest.mark.parametrize("count", [2, 4])
def test_a09_instances_in_one_graph(ff, busy, tmp_path, count):
    for pair in busy:
        texts, result = instances(ff, pair, [ALL] * count, tmp_path)
        assert set(texts) == {ff.score(*pair, ALL).out}
        assert len(parse_summaries(result.err)) == count


def test_a09_instances_with_different_metrics(ff, busy, tmp_path):
    options = ["metrics=psnr", "metrics=psnr_hvs:threads=1", "metrics=float_psnr+psnr:async_depth=1", "metrics=psnr_hvs+psnr_hvs@f64:options=f64.psnr_hvs_mask=f64",
               "metrics=adm+psnr:threads=2:options=adm.debug=1", "metrics=adm+adm@neg:options=neg.adm_enhn_gain_limit=1.1"]
    texts, result = instances(ff, busy[0], options, tmp_path)
    for text, o in zip(texts, options):
        assert text == ff.score(*busy[0], o).out
        assert len(parse_records(text.decode())) == 8
    assert len(parse_summaries(result.err)) == 6


def test_labelled_instances(ff, busy):
    """Equal instances under several names have equal values, and options of one do not leak into another."""
    result = ff.score(*busy[0], "metrics=psnr+psnr@a+psnr@b+psnr_hvs@c+psnr_hvs@d:options=b.enable_mse=1|d.psnr_hvs_mask=f64")
    plain = ff.score(*busy[0], "metrics=psnr+psnr_hvs")
    for record, want in zip(result.records, plain.records):
        for name in ("psnr_y", "psnr_cb", "psnr_cr"):
            assert record.tags[f"lavfi.exactvq.{name}"] == record.tags[f"lavfi.exactvq.a.{name}"] == record.tags[f"lavfi.exactvq.b.{name}"] == want.tags[f"lavfi.exactvq.{name}"]
        assert "b.mse_y" in record.scores and "a.mse_y" not in record.scores and "mse_y" not in record.scores
        assert record.scores["c.psnr_hvs"] == want.scores["psnr_hvs"]
    same([result] + ff.many([lambda: ff.score(*busy[0], "metrics=psnr+psnr@a+psnr@b+psnr_hvs@c+psnr_hvs@d:options=b.enable_mse=1|d.psnr_hvs_mask=f64")] * 3))


def test_order_of_metrics_changes_no_value(ff, busy):
    a, b = (ff.score(*busy[0], f"metrics={m}") for m in ("psnr+float_psnr+adm+psnr_hvs", "psnr_hvs+adm+psnr+float_psnr"))
    assert [r.tags for r in a.records] == [r.tags for r in b.records]
    assert list(a.summary.pools) == ["psnr", "float_psnr", "adm", "psnr_hvs"] and list(b.summary.pools) == ["psnr_hvs", "adm", "psnr", "float_psnr"]


@pytest.mark.slow
def test_a09_6000_frames(ff):
    """6,000 frames, twice, with different numbers of threads."""
    main, ref = "testsrc2=s=64x48:r=25:d=240,avgblur=2,format=yuv420p", "testsrc2=s=64x48:r=25:d=240,format=yuv420p"
    results = ff.many([lambda t=t: ff.score(main, ref, f"{ALL}:threads={t}", timeout=600) for t in (1, 4)])
    same(results)
    assert len(results[0].records) == 6000
