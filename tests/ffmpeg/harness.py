# SPDX-License-Identifier: BSD-2-Clause
"""Runs ffmpeg and ffprobe and reads what the exactvq filter leaves behind: frame metadata, summary lines, logs.

Nothing here knows how the filter works. The only sources are its manual entry and the public header.
"""

import json
import math
import os
import re
import resource
import statistics
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

PREFIX = "lavfi.exactvq."
WORKERS = 1 if "PYTEST_XDIST_WORKER" in os.environ else max(2, min(4, os.cpu_count() or 2))

# All metrics in one run, with libvmaf's own model where it is there (EXACTVQ_MODELS), else with one of random numbers that brings an adm and a
# motion of its own.
OWN_MODELS = os.environ.get("EXACTVQ_MODELS")
MODEL = f"{OWN_MODELS}/vmaf_v0.6.1.json" if OWN_MODELS else str(Path(__file__).resolve().parents[1] / "data/models/small.json")
EVERYTHING = f"metrics=psnr+float_psnr+psnr_hvs+adm+vif+motion:model={MODEL}"
_ADM = ["adm2", "aim", "adm3", *(f"adm_scale{i}" for i in range(4))]
_MOTION = ["motion_sad", "motion2", "motion3"]
EVERY_SCORE = ["psnr_y", "psnr_cb", "psnr_cr", "float_psnr", "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs",
               *_ADM, *(f"vif_scale{i}" for i in range(4)), *_MOTION, *([] if OWN_MODELS else [f"vmaf.{n}" for n in _ADM + _MOTION]), "vmaf"]

# What the suite needs of an ffmpeg beside its built-in parts; a build that lacks one of these is reported by name.
COMPONENTS = {
    "filters": """exactvq metadata split null copy vflip crop format noformat geq nullsrc testsrc2 mandelbrot color noise avgblur
                  setpts settb setparams select trim showinfo drawgraph movie scale realtime""".split(),
    "encoders": "libx264 ffv1 rawvideo wrapped_avframe".split(),
    "decoders": "h264 ffv1 rawvideo wrapped_avframe".split(),
    "muxers": "null rawvideo matroska mp4 framemd5".split(),
    "demuxers": "mov matroska rawvideo".split(),
    "devices": "lavfi".split(),
    "protocols": "file pipe".split(),
}
# What test_hostile_frames.py needs.
BARE = {
    "filters": "exactvq metadata copy vflip crop pad null".split(),
    "encoders": ["wrapped_avframe"],
    "decoders": ["rawvideo"],
    "muxers": ["null"],
    "demuxers": ["rawvideo"],
    "protocols": "file pipe".split(),
}


@dataclass
class Record:
    """One frame as metadata=print shows it. Frames without metadata have no record."""

    frame: int
    pts: str
    pts_time: str
    lines: list = field(default_factory=list)

    @property
    def tags(self):
        return dict(line.split("=", 1) for line in self.lines)

    @property
    def scores(self):
        """Texts of the scores by name, without the keys that are no scores."""
        return {k[len(PREFIX):]: v for k, v in self.tags.items() if k.startswith(PREFIX) and k != PREFIX + "paired"}

    def value(self, name):
        return float(self.tags[PREFIX + name])


def parse_records(text):
    records = []
    for line in text.splitlines():
        head = re.fullmatch(r"frame:(\d+)\s+pts:(\S+)\s+pts_time:(\S+)", line)
        if head:
            records.append(Record(int(head[1]), head[2], head[3]))
        else:
            assert records and "=" in line, f"not a line of metadata=print: {line!r}"
            records[-1].lines.append(line)
    return records


POOLS = ("mean", "min", "max", "harmonic_mean", "p1", "p5", "p10", "stddev")  # as they follow each other in the summary
COUNTS = re.compile(r"paired: (\d+), main without partner: (\d+), reference unused: (\d+)(?:, disabled: (\d+))?")
POOL_LINE = re.compile(r"(\S+) (%s): (.*)" % "|".join(POOLS))
AGGREGATE_LINE = re.compile(r"(\S+) aggregate: (.*)")


def _pairs(text):
    words = text.split()
    assert len(words) % 2 == 0, text
    return dict(zip(words[::2], words[1::2]))


@dataclass
class Summary:
    """The summary of one filter instance."""

    pools: dict = field(default_factory=dict)       # "psnr" or "psnr@label" -> {"mean": {"psnr_y": "36.1"}, ...} in printed order
    aggregates: dict = field(default_factory=dict)  # "psnr" -> {"apsnr_y": "36.1"}
    counts: dict = None                             # paired, unpaired, unused, disabled
    lines: list = field(default_factory=list)


def filter_lines(stderr):
    """(instance, text) of every line that an exactvq instance logged."""
    found = []
    for line in stderr.splitlines():
        m = re.match(r"\[([^\]@]*exactvq[^\]]*) @ [^\]]*\] (.*)", line)
        if m:
            found.append((m[1], re.sub(r"^\[[a-z]+\] ", "", m[2])))
    return found


def parse_summaries(stderr):
    """Summaries by instance name. Fails on a line that is there twice."""
    summaries = {}
    for instance, text in filter_lines(stderr):
        pool, aggregate, counts = POOL_LINE.fullmatch(text), AGGREGATE_LINE.fullmatch(text), COUNTS.fullmatch(text)
        if not (pool or aggregate or counts):
            continue
        s = summaries.setdefault(instance, Summary())
        s.lines.append(text)
        if pool:
            assert s.counts is None, "a summary line after the line of counts"
            assert len(text) < 950, f"a log line that FFmpeg may cut: {len(text)} characters"
            pools = s.pools.setdefault(pool[1], {})  # a long line goes on in another one
            for part in text[len(pool[1]) + 1:].split(" | "):
                name, values = part.split(": ", 1)
                assert name in POOLS and name not in pools, text
                pools[name] = _pairs(values)
        elif aggregate:
            assert aggregate[1] not in s.aggregates, f"aggregate line of {aggregate[1]} is there twice"
            s.aggregates[aggregate[1]] = _pairs(aggregate[2])
        else:
            assert s.counts is None, "the line of counts is there twice"
            s.counts = dict(zip(("paired", "unpaired", "unused", "disabled"), (int(v or 0) for v in counts.groups())))
    return summaries


@dataclass
class Result:
    command: list
    rc: int
    out: bytes
    err: str
    hung: bool = False
    peak: int = 0  # bytes of resident memory at the highest, if it was asked for

    @property
    def records(self):
        return parse_records(self.out.decode())

    @property
    def summary(self):
        summaries = parse_summaries(self.err)
        assert len(summaries) == 1, f"{len(summaries)} instances printed a summary\n{self}"
        return next(iter(summaries.values()))

    @property
    def has_summary(self):
        return bool(parse_summaries(self.err)) or bool(COUNTS.search(self.err))

    def __str__(self):
        words = " ".join(w if re.fullmatch(r"[\w./:=+,@-]+", w) else f"'{w}'" for w in self.command)
        return f"$ {words}\nexit status {self.rc}\n{self.err[-4000:]}"


def _watch_peak(pid, stop, seen):
    # VmHWM is read again and again because the kernel forgets it with the process; what wait4() reports would include the
    # peak of this Python before exec.
    while not stop.is_set():
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return
        m = re.search(r"VmHWM:\s+(\d+) kB", status)
        if m:
            seen[0] = max(seen[0], int(m[1]) * 1024)
        stop.wait(0.01)


def run(command, *, hang="fail", **options):
    """Runs a command to its end. A command that hangs twice fails the test (hang=None: it is only marked): ffmpeg 8.1 itself does now and then when it ends before its
    inputs, with hstack too, because sch_stop() takes no lock."""
    result = _run(command, **options)
    if result.hung:
        result = _run(command, **options)
    assert not (result.hung and hang), f"did not end\n{result}"
    return result


def _run(command, *, timeout=600, env=None, peak=False, kill_at_output=False):
    command = [str(c) for c in command]
    full = dict(os.environ, **(env or {}))
    if peak:  # what malloc keeps depends on which thread frees what
        full = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", **full}
    full.pop("AV_LOG_FORCE_COLOR", None)
    full["AV_LOG_FORCE_NOCOLOR"] = "1"
    # files, not pipes: ffmpeg is never slowed down by this reader
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=full,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        stop, seen, watcher = threading.Event(), [0], None
        if peak:
            watcher = threading.Thread(target=_watch_peak, args=(process.pid, stop, seen))
            watcher.start()
        hung = False
        try:
            if kill_at_output:
                assert wait_for(lambda: os.fstat(out.fileno()).st_size > 0 or process.poll() is not None, timeout), "no output"
                process.kill()
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            hung = True
            process.kill()
            process.wait()
        finally:
            stop.set()
            if watcher:
                watcher.join()
        out.seek(0)
        err.seek(0)
        result = Result(command, process.returncode, out.read(), err.read().decode(errors="replace"), hung, seen[0])
    return result


def graph_escape(path):
    """A file name as an option value inside a filter graph description."""
    text = str(path)
    for c in "\\':":
        text = text.replace(c, "\\" + c)
    return re.sub(r"([\\',;\[\]])", r"\\\1", text)


# What -cpuflags sets is taken as it is, so each level lists all it contains.
_SSSE3 = "mmx+mmxext+sse+sse2+sse3+ssse3"
_SSE4 = _SSSE3 + "+sse4.1+sse4.2+aesni"
_AVX2 = _SSE4 + "+avx+avx2+fma3+bmi1+bmi2"
LEVELS = {  # name: (-cpuflags, what the processor must have)
    "none": ("0", ""),
    "ssse3": (_SSSE3, "ssse3"),
    "sse4.2": (_SSE4, "sse4_2 aes pclmulqdq"),
    "avx2": (_AVX2, "avx2 fma bmi1 bmi2 f16c"),
    "avx512": (_AVX2 + "+avx512", "avx512f avx512bw avx512dq avx512vl avx512cd"),
}


def levels():
    """-cpuflags for each instruction set that this processor has."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    m = re.search(r"^flags\s*:(.*)$", cpuinfo, re.M)
    present = set(m[1].split()) if m else set()
    return [flags for flags, needs in LEVELS.values() if set(needs.split()) <= present]


class FFmpeg:
    def __init__(self, ffmpeg, ffprobe):
        self.ffmpeg, self.ffprobe = Path(ffmpeg), Path(ffprobe)
        self._version = self._pix_fmts = self._asan = None

    # ---- what this binary is ----

    def problem(self, components):
        """A sentence when the binaries are not usable, else None."""
        for path, variable in ((self.ffmpeg, "EXACTVQ_FFMPEG"), (self.ffprobe, "EXACTVQ_FFPROBE")):
            if not (path.is_file() and os.access(path, os.X_OK)):
                return f"there is no program {path}: build it with scripts/build-ffmpeg, or name another one in {variable}"
        for path in (self.ffmpeg, self.ffprobe):
            started = run([path, "-version"])
            if started.rc:
                return f"{path} does not start (exit status {started.rc}): {started.err.strip()[-300:]}"
        missing = []
        for kind, names in components.items():
            listing = run([self.ffmpeg, "-hide_banner", "-loglevel", "error", "-" + kind]).out.decode()
            present = {n for line in listing.splitlines() for word in line.split()[:2] for n in word.split(",")}
            if kind == "protocols":
                present = set(listing.split())
            missing += [f"{kind[:-1]} {n}" for n in names if n not in present]
        if missing:
            return f"{self.ffmpeg} was built without what the tests need: {', '.join(missing)}"
        return None

    @property
    def version(self):
        """(7, 1) for release 7.1.x."""
        if self._version is None:
            text = run([self.ffmpeg, "-version"]).out.decode()
            m = re.match(r"ffmpeg version n?(\d+)\.(\d+)", text)
            if m:
                self._version = int(m[1]), int(m[2])
            else:  # a development build: the libavfilter version tells the release
                minor = tuple(int(v) for v in re.search(r"libavfilter\s+(\d+)\.\s*(\d+)", text).groups())
                self._version = ((9, 0) if minor >= (12, 0) else (8, 0) if minor >= (11, 0) else (7, 1) if minor >= (10, 4)
                                 else (7, 0) if minor >= (10, 0) else (6, 0) if minor >= (9, 0) else (5, 1))
        return self._version

    @property
    def pix_fmts(self):
        if self._pix_fmts is None:
            listing = run([self.ffmpeg, "-hide_banner", "-loglevel", "error", "-pix_fmts"]).out.decode()
            self._pix_fmts = {line.split()[1] for line in listing.splitlines() if re.match(r"[IOHPB.]{5} \S", line)}
        return self._pix_fmts

    @property
    def asan(self):
        """The ASan run-time library the filter's library is linked with, or None."""
        if self._asan is None:
            m = re.search(r"=> (\S*libasan\S*)", run(["ldd", self.ffmpeg]).out.decode())
            self._asan = m[1] if m else ""
        return self._asan or None

    # ---- running ----

    def run(self, *args, check=True, probe=False, signals=False, **keywords):
        """Runs ffmpeg; `check`: True: must succeed, False: must fail, None: either. By a signal only where `signals` says so."""
        head = [self.ffprobe, "-hide_banner"] if probe else [self.ffmpeg, "-hide_banner", "-nostdin", "-nostats", "-stats_period", "0.02", "-y"]
        result = run(head + list(args), **keywords)
        if check is True:
            assert result.rc == 0, f"must succeed\n{result}"
        elif check is False:
            assert result.rc != 0, f"must fail\n{result}"
        if not signals and "kill_at_output" not in keywords:
            assert result.rc >= 0, f"ended by a signal\n{result}"
        return result

    def score(self, main, ref, options="", *, before_main="", before_ref="", after="", args=(), tail=("-f", "null", "-"), **keywords):
        """Scores input `main` against input `ref` (lists of ffmpeg arguments, or lavfi descriptions); metadata comes on stdout."""
        graph = ""
        labels = ["[0:v]", "[1:v]"]
        for i, before in enumerate((before_main, before_ref)):
            if before:
                graph += f"{labels[i]}{before}[in{i}];"
                labels[i] = f"[in{i}]"
        graph += f"{labels[0]}{labels[1]}exactvq{'=' if options else ''}{options},{after + ',' if after else ''}metadata=print:file=-"
        return self.run(*args, *source(main), *source(ref), "-lavfi", graph, *tail, **keywords)

    def many(self, calls):
        """Runs functions at the same time, a few at once, and returns their results in order."""
        with ThreadPoolExecutor(WORKERS) as pool:
            return [f.result() for f in [pool.submit(c) for c in calls]]

    def dump(self, src, before="null", args=()):
        """Bytes of the frames that the filter would see from `src`."""
        return self.run("-loglevel", "error", *source(src), "-lavfi", f"[0:v]{before}", "-fps_mode", "passthrough", *args, "-f", "rawvideo", "-").out


def source(src):
    """Input arguments: a list is taken as it is, a string is a lavfi description."""
    return ["-f", "lavfi", "-i", src] if isinstance(src, str) else list(src)


def raw(path, pix_fmt, width, height, rate=25):
    """Input arguments for a file of raw frames."""
    return ["-f", "rawvideo", "-pix_fmt", pix_fmt, "-s", f"{width}x{height}", "-framerate", str(rate), "-i", str(path)]


# ---- judging ----

def refused(result, *words, outputs=(), own=True):
    """The run failed in an orderly way: a sentence with all the words, no score, no summary, no file.

    own: the sentence is the filter's. Otherwise FFmpeg's option parser may have said it; echoes of the command line do not count."""
    assert result.rc > 0, f"must fail, and not by a signal\n{result}"
    assert not result.has_summary, f"a summary after a failure\n{result}"
    assert not any(r.scores for r in result.records), f"scores after a refusal\n{result}"
    if own:
        said = "\n".join(text for _, text in filter_lines(result.err))
    else:
        said = "\n".join(line for line in result.err.splitlines() if not re.search(r"with args '|Failed to set value '|Error parsing|^\$", line))
    for word in words:
        assert word.lower() in said.lower(), f"the message does not say {word!r}\n{result}"
    for path in outputs:
        assert not Path(path).exists(), f"{path} was left behind"


def complete(result, frames, names):
    """Exactly `frames` records, each with exactly the scores `names`."""
    records = result.records
    assert [r.frame for r in records] == list(range(frames)), str(result)
    for r in records:
        assert sorted(r.scores) == sorted(names), f"frame {r.frame}\n{result}"
    return records


def counts(result, paired, unpaired=0, unused=0, disabled=0):
    expected = dict(paired=paired, unpaired=unpaired, unused=unused, disabled=disabled)
    assert result.summary.counts == expected, f"expected {expected}, got {result.summary.counts}\n{result}"


def same(results):
    """All runs printed the same bytes of metadata, and some."""
    first = results[0]
    assert first.records, str(first)
    for other in results[1:]:
        assert other.out == first.out, f"the metadata of two runs differ\n{first}\n{other}"


def log_number(value):
    """The text of a number in a log (libvmaf's rule)."""
    if value != value or value in (float("inf"), float("-inf")):
        return "%.6f" % value
    fraction = abs(value) - int(abs(value))
    digits = 0
    while fraction and fraction < 1:
        fraction *= 10
        digits += 1
    return "%.6f" % value if digits <= 6 else "%.16f" % value


def significant(text):
    """The digits of a number without leading and trailing zeros."""
    return re.sub(r"\D", "", text.lower().split("e")[0]).strip("0")


def percentile(values, percent):
    """Between the two nearest in rank, as numpy's."""
    values = sorted(values)
    rank = percent / 100 * (len(values) - 1)
    low, high = values[int(rank)], values[min(int(rank) + 1, len(values) - 1)]
    return low if low == high else low + (high - low) * (rank - int(rank))


def pooled(values):
    """mean, min, max, harmonic_mean by libvmaf's formulas: sequential sums; percentiles; standard deviation."""
    total = inverse = 0.0
    low = high = values[0]
    for v in values:
        total += v
        inverse += 1.0 / (v + 1.0)
        low = v if v < low else low
        high = v if v > high else high
    harmonic = len(values) / inverse - 1.0 if inverse else float("inf")
    return {"mean": total / len(values), "min": low, "max": high, "harmonic_mean": harmonic, **{f"p{p}": percentile(values, p) for p in (1, 5, 10)},
            "stddev": float("inf") if any(map(math.isinf, values)) else statistics.pstdev(values)}


def read_json(path):
    return json.loads(Path(path).read_text())


def wait_for(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
