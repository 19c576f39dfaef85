# SPDX-License-Identifier: BSD-2-Clause
"""Which frames are scored against which, and how the rest is counted.

Frames are told apart by their brightness: the main video is black, frame n of the reference has the value n, so mse_y is the square of
the partner's number.
"""

import random

import pytest

from harness import PREFIX, counts, filter_lines, read_json, refused

SIZE = "16x8"
MSE = "metrics=psnr:options=enable_mse=1|enable_chroma=0"


def black(frames, rate=25):
    return f"nullsrc=s={SIZE}:r={rate},trim=end_frame={frames},format=gray,geq=lum=0"


def numbered(frames, rate=25):
    return f"nullsrc=s={SIZE}:r={rate},trim=end_frame={frames},format=gray,geq=lum=N"


def at(times):
    """setpts for the times (milliseconds) of successive frames."""
    return "settb=1/1000,setpts='" + "+".join(f"{t}*eq(N,{i})" for i, t in enumerate(times)) + "'"


def partners(result):
    """Number of the reference frame that each main frame was scored against, None where there was none."""
    found = {}
    for record in result.records:
        if PREFIX + "paired" in record.tags:
            assert record.tags[PREFIX + "paired"] == "0" and not record.scores, str(result)
            found[record.frame] = None
        else:
            root = round(record.value("mse_y") ** 0.5)
            assert root * root == record.value("mse_y")
            found[record.frame] = root
    assert sorted(found) == list(range(len(found))), f"a frame without a mark\n{result}"
    return [found[n] for n in range(len(found))]


def nearest(main, ref, fallback=None):
    """The rule, by exhaustive search: nearest in time, closer than half the smaller gap to the neighbours; ties: the earlier."""
    out, used = [], set()
    for i, t in enumerate(main):
        gaps = [abs(t - main[j]) for j in (i - 1, i + 1) if 0 <= j < len(main)]
        interval = min(gaps) if gaps else fallback
        best = None
        for k, r in enumerate(ref):
            if k not in used and (r == t or 2 * abs(r - t) < interval) and (best is None or abs(r - t) < abs(ref[best] - t)):
                best = k
        if best is not None:
            used.add(best)
        out.append(best)
    return out


def check(result, main, ref, fallback=None):
    want = nearest(main, ref, fallback)
    assert partners(result) == want, f"main {main} reference {ref}\nexpected {want}\n{result}"
    paired = sum(k is not None for k in want)
    counts(result, paired, len(main) - paired, len(ref) - paired)


def test_main_shorter(ff):
    result = ff.score(black(10), numbered(25), MSE)
    assert partners(result) == list(range(10))
    counts(result, 10, unused=15)


def test_reference_starts_late(ff):
    result = ff.score(black(25), numbered(25), MSE, before_ref="trim=start_frame=3")
    assert partners(result) == [None] * 3 + list(range(3, 25))
    counts(result, 22, 3)


def test_reference_starts_early(ff):
    result = ff.score(black(25), numbered(30), MSE, before_main="trim=start_frame=4")
    assert partners(result) == list(range(4, 25))
    counts(result, 21, unused=9)


def test_shifted_by_a_frame(ff):
    """A reference that lost its first frame still overlaps."""
    result = ff.score(black(25), numbered(25), MSE, before_ref="trim=start_frame=1,setpts=PTS-STARTPTS")
    assert partners(result) == list(range(1, 25)) + [None]
    counts(result, 24, 1)


def test_common_start_offset(ff):
    result = ff.score(black(10), numbered(10), MSE, before_main="setpts=PTS+100/TB", before_ref="settb=1/1000,setpts=PTS+100/TB")
    assert partners(result) == list(range(10))
    counts(result, 10)


def test_times_below_zero(ff):
    shift = "settb=1/1000,setpts=PTS-0.4/TB"
    result = ff.score(black(25), numbered(25), MSE, before_main=shift, before_ref=shift + ",setpts=PTS+1")
    assert partners(result) == list(range(25))
    counts(result, 25)


@pytest.mark.parametrize("units", ["1/24000", "1/90000", "1/1000000", "1001/30000"])
def test_coarse_and_fine_time_bases(ff, units):
    """NTSC rates, rounded to each side's own time base."""
    result = ff.score(black(60, "30000/1001"), numbered(60, "30000/1001"), MSE, before_main=f"settb={units}", before_ref="settb=1/1000")
    assert partners(result) == list(range(60))
    counts(result, 60)


def test_repeated_times(ff):
    """Frames of equal time pair in order: none twice, none lost."""
    times = [0, 40, 40, 80, 120]
    result = ff.score(black(5), numbered(5), MSE, before_main=at(times), before_ref=at(times))
    assert partners(result) == list(range(5))
    counts(result, 5)


def test_both_inputs_from_one_source(ff):
    """A video against itself, three frames later: no deadlock."""
    graph = f"[0:v]split[a][b];[b]trim=start_frame=3,setpts=PTS-STARTPTS[r];[a][r]exactvq={MSE},metadata=print:file=-"
    result = ff.run("-f", "lavfi", "-i", numbered(25), "-lavfi", graph, "-f", "null", "-")
    assert [r.value("mse_y") for r in result.records if r.scores] == [9] * 22
    counts(result, 22, 3)


@pytest.mark.parametrize("main,ref,before_main,before_ref", [
    (25, 25, "null", "setpts=PTS+5/TB"),
    (25, 25, "setpts=PTS+5/TB", "null"),
    (25, 5, "null", "settb=1/1000,setpts=PTS+0.02/TB"),  # exactly half a frame apart
], ids=["reference-late", "main-late", "half-a-frame"])
def test_no_overlap(ff, tmp_path, main, ref, before_main, before_ref):
    log = tmp_path / "log.json"
    refused(ff.score(black(main), numbered(ref), f"{MSE}:log_path={log}", before_main=before_main, before_ref=before_ref, check=False),
            "main", "reference", str(main), str(ref), outputs=[log])


def test_no_overlap_and_an_output_that_ends_early(ff, tmp_path):
    """Downstream has enough before the inputs end: still no score, no summary, no log, an error."""
    log = tmp_path / "log.json"
    refused(ff.score(black(50), numbered(50), f"{MSE}:log_path={log}", before_ref="setpts=PTS+100/TB", after="trim=end_frame=5", check=False),
            "no frames to compare", outputs=[log])
    # ffmpeg frees the graph when an output has its frames: too late for the exit status, not for the sentence.
    result = ff.score(black(50), numbered(50), f"{MSE}:log_path={log}", before_ref="setpts=PTS+100/TB", tail=("-frames:v", "5", "-f", "null", "-"), check=None)
    assert "no frames to compare" in result.err and not result.has_summary
    assert not log.exists()


def in_a_row(ff, folder, sources):
    """One input of what lavfi makes, encoded one by one."""
    folder.mkdir()
    parts = [folder / f"{i}.mkv" for i in range(len(sources))]
    for part, source in zip(parts, sources):
        ff.run("-loglevel", "error", "-f", "lavfi", "-i", source, "-c:v", "libx264", "-threads", "1", "-g", "1", "-crf", "20", part)
    listing = folder / "list.txt"
    listing.write_text("".join(f"file '{p}'\n" for p in parts))
    return ["-f", "concat", "-safe", "0", "-i", str(listing)]


def test_input_that_changes_in_mid_stream(ff, clips):
    """Only colour tags change: FFmpeg builds the graph anew. What was under way is lost, and said to be."""
    source = in_a_row(ff, clips / "tags", [f"testsrc2=s=96x64:r=25:d=1,format=yuv420p,setparams=colorspace={matrix}:range=tv" for matrix in ("bt709", "smpte170m")])
    kept = ff.score(["-reinit_filter", "0", *source], ["-reinit_filter", "0", *source], MSE)
    assert [r.value("mse_y") for r in kept.records] == [0] * 50
    assert "paired: 50, main without partner: 0, reference unused: 0" in kept.err
    rebuilt = ff.score(source, source, MSE, check=None)
    assert all(r.value("mse_y") == 0 for r in rebuilt.records if r.scores)
    if len(rebuilt.records) < 50:
        assert "neither passed on nor scored" in rebuilt.err


def test_size_that_changes_in_mid_stream(ff, clips, tmp_path):
    """FFmpeg builds the graph anew: the first part's log stays, the second part's gets a name of its own, and both are said."""
    source = in_a_row(ff, clips / "sizes", [f"testsrc2=s={size}:r=25:d=4,format=yuv420p" for size in ("96x64", "64x48")])  # what is under way is lost, some 20 frames
    log = tmp_path / "log.json"
    log.write_text("of yesterday")
    result = ff.score(source, source, f"{MSE}:log_path={log}", before_main="scale=80:60:flags=neighbor", before_ref="scale=80:60:flags=neighbor")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["log.json", "log.part2.json"], str(result)
    frames = [len(read_json(tmp_path / name)["frames"]) for name in ("log.json", "log.part2.json")]
    assert sum(frames) == len([r for r in result.records if r.scores]) and min(frames) > 10, str(result)
    assert "neither passed on nor scored" in result.err or len(result.records) == 200, str(result)
    assert any("an earlier part of this run" in text and "log.part2.json" in text for _, text in filter_lines(result.err)), str(result)
    assert len([text for _, text in filter_lines(result.err) if text.startswith("paired: ")]) == 2

    # Sizes that differ when the graph is built anew are refused as at the start; what was measured stays.
    for p in tmp_path.iterdir():
        p.unlink()
    result = ff.score(source, source, f"{MSE}:log_path={log}", check=None)
    assert len(read_json(log)["frames"]) > 10, str(result)
    assert result.rc != 0 or sum(len(read_json(p)["frames"]) for p in tmp_path.iterdir()) > 110, str(result)


class TestHint:
    """Main that fits another reference frame than its partner far better."""

    SOURCE = "testsrc2=s=320x180:r=25:d=2,format=yuv420p"

    @staticmethod
    def hints(result):
        return [text for _, text in filter_lines(result.err) if "fits the reference better" in text]

    @pytest.mark.parametrize("by", [-2, -1, 1, 2])
    @pytest.mark.parametrize("fmt", ["yuv420p", "p010le", "gray"])
    def test_shift(self, ff, need_format, fmt, by):
        need_format(fmt)
        trim = f"trim=start_frame={abs(by)},setpts=PTS-STARTPTS,avgblur=2,format={fmt}"
        result = ff.score(self.SOURCE, self.SOURCE, "metrics=psnr", before_main=trim if by > 0 else f"format={fmt}", before_ref=trim if by < 0 else f"format={fmt}")
        assert len(self.hints(result)) == 1, str(result)
        assert f"with a shift of {by:+d} frames" in self.hints(result)[0]
        assert f"[{int(by > 0)}:v]trim=start_frame={abs(by)},setpts=PTS-STARTPTS" in self.hints(result)[0]
        # What the hint says puts it right.
        trim = f"trim=start_frame={abs(by)},setpts=PTS-STARTPTS"
        both = {"before_main": f"{trim},format={fmt}", "before_ref": f"{trim},format={fmt}"}
        assert not self.hints(ff.score(self.SOURCE, self.SOURCE, "metrics=psnr", **both))

    def test_lost_frame_in_the_middle(self, ff):
        lost = "select='not(eq(n,30))',setpts=N/25/TB"
        result = ff.score("testsrc2=s=320x180:r=25:d=4,format=yuv420p", "testsrc2=s=320x180:r=25:d=4,format=yuv420p", "metrics=psnr", before_main=lost)
        assert len(self.hints(result)) == 1 and "from pair 34 on" in self.hints(result)[0] and "shift of +1 " in self.hints(result)[0], str(result)

    def test_one_short_overlap(self, ff):
        assert len(self.hints(ff.score(self.SOURCE, self.SOURCE, "metrics=psnr", before_main="trim=start_frame=1:end_frame=9,setpts=PTS-STARTPTS"))) == 1

    def test_none_for_rates_that_differ(self, ff):
        """Neighbours in the reference are no neighbours in pairs: nothing that is said could be true."""
        source = "testsrc2=s=320x180:r=50:d=2,format=yuv420p"
        for first in (0, 1, 2):
            result = ff.score(source, source, "metrics=psnr", before_main=f"trim=start_frame={first},setpts=PTS-STARTPTS,select='not(mod(n,2))',avgblur=2")
            assert result.summary.counts["unused"] > 40 and not self.hints(result), str(result)

    @pytest.mark.parametrize("before", ["avgblur=20", "noise=c0s=80:allf=t:c0_seed=1", "hflip", "negate"])
    def test_none_for_bad_pictures(self, ff, before):
        assert not self.hints(ff.score(self.SOURCE, self.SOURCE, "metrics=psnr", before_main=before))

    def test_none_for_stills(self, ff):
        still = "testsrc2=s=320x180:r=25:d=2,format=yuv420p,select='eq(n,0)',loop=49:1,setpts=N/25/TB"
        assert not self.hints(ff.score(still, still, "metrics=psnr", before_main="trim=start_frame=1,setpts=PTS-STARTPTS,avgblur=2"))


@pytest.mark.parametrize("empty", ["main", "ref", "both"])
def test_no_frames(ff, empty):
    cut = "trim=start_frame=99"
    result = ff.score(black(5), numbered(5), MSE, before_main=cut if empty != "ref" else "", before_ref=cut if empty != "main" else "", check=False)
    refused(result, "main", "reference")


class TestSingleFrame:
    """Without neighbours the interval is that of the link's frame rate."""

    def test_equal_times(self, ff):
        result = ff.score(black(1), numbered(1), MSE)
        assert partners(result) == [0]
        counts(result, 1)

    # trim keeps the frame rate of the link, setpts of some releases forgets it
    MAIN = "trim=start_frame=25:end_frame=26"

    @pytest.mark.parametrize("distance", ["+0.019", "-0.019", "+0.002"])
    def test_near(self, ff, distance):
        result = ff.score(black(30), numbered(1), MSE, before_main=self.MAIN, before_ref=f"settb=1/1000,setpts=(1{distance})/TB")
        assert partners(result) == [0]
        counts(result, 1)

    @pytest.mark.parametrize("distance", ["+0.02", "-0.02", "+0.5"])
    def test_far(self, ff, distance):
        refused(ff.score(black(30), numbered(1), MSE, before_main=self.MAIN, before_ref=f"settb=1/1000,setpts=(1{distance})/TB", check=False),
                "main", "reference")

    def test_among_many(self, ff):
        result = ff.score(black(30), numbered(30), MSE, before_main=self.MAIN, before_ref="settb=1/1000,setpts=PTS+0.01/TB")
        assert partners(result) == [25]
        counts(result, 1, unused=29)

    def test_single_reference(self, ff):
        result = ff.score(black(30), numbered(1), MSE, before_ref="settb=1/1000,setpts=0.39/TB")
        assert partners(result) == [None] * 10 + [0] + [None] * 19
        counts(result, 1, 29)


class TestRates:
    def test_reference_twice_as_fast(self, ff):
        result = ff.score(black(25), numbered(50, 50), MSE)
        assert partners(result) == [2 * n for n in range(25)]
        counts(result, 25, unused=25)

    def test_main_twice_as_fast(self, ff):
        result = ff.score(black(50, 50), numbered(25), MSE)
        assert partners(result) == [n // 2 if n % 2 == 0 else None for n in range(50)]
        counts(result, 25, 25)

    def test_ties_take_the_earlier(self, ff):
        result = ff.score(black(12), numbered(24, 50), MSE, before_ref="settb=1/1000,setpts=PTS+0.01/TB")
        assert partners(result) == [0] + [2 * n - 1 for n in range(1, 12)]
        counts(result, 12, unused=12)

    def test_nearly_half_a_frame(self, ff):
        for shift in (0.019, -0.019):
            result = ff.score(black(12), numbered(12), MSE, before_main="settb=1/1000,setpts=PTS+1/TB", before_ref=f"settb=1/1000,setpts=PTS+(1{shift:+})/TB")
            assert partners(result) == list(range(12))
            counts(result, 12)

    def test_24_against_25(self, ff):
        main, ref = [round(n * 1000 / 25) for n in range(25)], [round(n * 1000 / 24) for n in range(24)]
        check(ff.score(black(25), numbered(24), MSE, before_main=at(main), before_ref=at(ref)), main, ref)


@pytest.mark.parametrize("seed", range(8))
def test_irregular_times(ff, seed):
    """Times at random on both sides, against an exhaustive search."""
    rng = random.Random(seed)

    def times(n):
        out, t = [], rng.randint(0, 60)
        for _ in range(n):
            out.append(t)
            t += rng.choice((1, 2, 7, 20, 33, 40, 41, 60, 200))
        return out

    jobs = []
    for _ in range(6):
        main = times(rng.randint(2, 30))
        # near the main times, with some missing and some between
        ref = sorted({max(0, t + rng.choice((0, 0, 0, 1, -1, 3, -5, 19, 20, -20))) for t in main if rng.random() < 0.8}
                     | {rng.randint(0, main[-1] + 50) for _ in range(rng.randint(0, 12))})
        if any(k is not None for k in nearest(main, ref)):
            jobs.append((main, ref))
    results = ff.many([lambda m=m, r=r: ff.score(black(len(m)), numbered(len(r)), MSE, before_main=at(m), before_ref=at(r)) for m, r in jobs])
    for (main, ref), result in zip(jobs, results):
        check(result, main, ref)


def test_variable_rate_of_equal_frames(ff):
    """Both sides drop the same frames."""
    keep = "select='gt(mod(n*7,5),1)'"
    result = ff.score(numbered(50), numbered(50), MSE, before_main=keep, before_ref=keep)
    assert [r.value("mse_y") for r in result.records] == [0] * 30
    counts(result, 30)


class TestIndex:
    def test_times_do_not_count(self, ff):
        result = ff.score(black(12), numbered(12), MSE + ":pairing=index", before_ref="setpts=PTS*3+7/TB")
        assert partners(result) == list(range(12))
        counts(result, 12)

    def test_reference_shorter(self, ff):
        result = ff.score(black(12), numbered(7), MSE + ":pairing=index", before_ref="setpts=PTS+7/TB")
        assert partners(result) == list(range(7)) + [None] * 5
        counts(result, 7, 5)

    def test_main_shorter(self, ff):
        result = ff.score(black(7), numbered(12), MSE + ":pairing=index")
        assert partners(result) == list(range(7))
        counts(result, 7, unused=5)

    def test_no_reference_frame(self, ff):
        refused(ff.score(black(7), numbered(12), MSE + ":pairing=index", before_ref="trim=start_frame=99", check=False), "main", "reference")

    def test_frames_without_time(self, ff):
        untimed = dict(before_main="setpts=NAN", before_ref="setpts=NAN", after="setpts=N/25/TB")
        refused(ff.score(black(7), numbered(7), MSE, check=False, **untimed), "pairing=index")
        result = ff.score(black(7), numbered(7), MSE + ":pairing=index", **untimed)
        assert partners(result) == list(range(7))
        counts(result, 7)

    def test_time_is_the_default(self, ff):
        a, b = ff.many([lambda o=o: ff.score(black(12), numbered(24, 50), MSE + o) for o in ("", ":pairing=time")])
        assert a.out == b.out and partners(a) == [2 * n for n in range(12)]


class TestEnd:
    """What happens where the reference ends."""

    @pytest.mark.parametrize("options", ["eof_action=endall", "shortest=1", "eof_action=endall:shortest=1"])
    def test_endall(self, ff, options):
        result = ff.score(black(25), numbered(10), f"{MSE}:{options}")
        assert partners(result) == list(range(10))
        assert result.summary.counts["paired"] == 10 and result.summary.counts["unused"] == 0

    @pytest.mark.parametrize("options", ["eof_action=pass", "eof_action=pass:shortest=0"])
    def test_pass(self, ff, options):
        result = ff.score(black(25), numbered(10), f"{MSE}:{options}")
        assert partners(result) == list(range(10)) + [None] * 15
        counts(result, 10, 15)

    def test_endall_keeps_frames_before_the_reference(self, ff):
        result = ff.score(black(25), numbered(10), MSE + ":eof_action=endall", before_ref="trim=start_frame=4")
        assert partners(result) == [None] * 4 + list(range(4, 10))

    def test_endall_with_a_longer_reference(self, ff):
        result = ff.score(black(10), numbered(25), MSE + ":eof_action=endall")
        assert partners(result) == list(range(10))

    def test_endall_by_index(self, ff):
        result = ff.score(black(25), numbered(10), MSE + ":pairing=index:shortest=1")
        assert partners(result) == list(range(10))


def test_every_main_frame_passes_once(ff, tmp_path):
    """Whatever is paired, the output is the main video."""
    main, ref = black(20, 50), numbered(6)
    plain = ff.run("-f", "lavfi", "-i", main, "-fps_mode", "passthrough", "-f", "framemd5", "-").out
    for options in ("", "pairing=index"):
        out = tmp_path / "out.md5"
        ff.score(main, ref, options + ":" * bool(options) + MSE, tail=["-fps_mode", "passthrough", "-f", "framemd5", str(out)])
        assert out.read_bytes() == plain


def test_pairing_does_not_depend_on_the_queue(ff):
    """Frames in flight change nothing."""
    main, ref = [7 * n + n % 3 for n in range(40)], [9 * n for n in range(30)]
    results = ff.many([lambda d=d: ff.score(black(40), numbered(30), f"{MSE}:async_depth={d}", before_main=at(main), before_ref=at(ref))
                       for d in (1, 2, 3, 16, 256)])
    for result in results:
        check(result, main, ref)
        assert result.out == results[0].out
