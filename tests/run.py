#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the test steps one after the other, sums up their results, and ends with "N passed, N failed, N skipped".

    tests/run.py [--quick] [--only=STEP,...]

--quick leaves out the sanitizers and all FFmpeg releases but 7.1. A step that cannot be built or started counts as one failure.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

PROJECT = pathlib.Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build"
RESULTS = BUILD / "results"
SHARED = PROJECT.parent / "shared"
RELEASES = ["7.1", "8.1", "5.1", "9.0"]
MODELS = {"EXACTVQ_MODELS": SHARED / "models"} if (SHARED / "models").is_dir() else {}
SHARDED = {"parity-tests", "simt-parity-tests", "gate-tests"}
LONG = {"7.1": {"EXACTVQ_SLOW": 1, "EXACTVQ_REPEAT": 200}}  # the long cases run with one release
# Of the library, which is the same whatever the release: these run with 7.1 alone.
LIBRARY_SUITES = ("adm", "memory", "repeatability", "scores", "sizes", "vmaf")

# Of machine code a short list; NVIDIA's is made where nvcc is installed.
WITH_TESTS = ("-Dtests=true", "-Dcuda=enabled", "-Dnvidia_archs=sm_90", "-Dhip=enabled", "-Damd_archs=gfx906,gfx90a,gfx1030,gfx1036,gfx1100")

# Whatever a sanitizer finds ends the program.
STRICT = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}

totals = {"passed": 0, "failed": 0, "skipped": 0}
problems = []
skips = {}


def command(*args, timeout=3600, **environment):
    """Runs a command; true if it succeeded. Its output is shown if it did not."""
    env = {**os.environ, **{k: str(v) for k, v in environment.items()}}
    try:
        done = subprocess.run([str(a) for a in args], cwd=PROJECT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=timeout)
    except subprocess.TimeoutExpired as expired:
        print(f"{' '.join(map(str, args))}: no end after {timeout} s\n{(expired.stdout or b'')[-4000:]}")
        return False
    if done.returncode:
        print(f"{' '.join(map(str, args))}: exit status {done.returncode}\n{done.stdout[-8000:]}")
    return done.returncode == 0


def fail(what):
    totals["failed"] += 1
    problems.append(what)
    print(f"FAILED: {what}")


def collect(step, report, ok, shard=False):
    """Adds the counts of a JUnit report, and returns how many tests it has. A run that failed without saying so in its report is a failure too."""
    failed = 0
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        fail(f"{step}: no report")
        return 0
    for case in cases:
        name = f"{step}: {case.get('classname', '')}.{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            totals["failed"] += 1
            failed += 1
            problems.append(name)
        elif skipped is not None or case.get("result") == "skipped" or case.get("status") == "notrun":
            totals["skipped"] += 1
            reason = skipped.get("message", "").strip().splitlines()[-1:] if skipped is not None else []
            skips.setdefault(reason[0] if reason else "no reason given", []).append(name)
        else:
            totals["passed"] += 1
    if (not cases and not shard) or (not ok and not failed):
        fail(f"{step}: the run failed")
    return len(cases)


def programs(*runs):
    """Runs test programs, each (step, path, arguments, environment), on all processors. Long ones, which are the work of one thread most of the time, are cut
    into shards."""
    processors = len(os.sched_getaffinity(0))
    jobs = []
    for step, path, arguments, environment in runs:
        shards = min(8, 2 * processors) if path.name in SHARDED else 1  # more than processors: they do not take equally long
        for index in range(shards):
            report = RESULTS / f"{step.replace(' ', '-').replace('/', '-')}{f'-{index}' if shards > 1 else ''}.xml"
            cut = {"GTEST_TOTAL_SHARDS": shards, "GTEST_SHARD_INDEX": index} if shards > 1 else {}
            jobs.append((step, report, shards, (path, f"--gtest_output=xml:{report}", *arguments), {**cut, **environment}))
    with concurrent.futures.ThreadPoolExecutor(processors) as pool:
        results = list(pool.map(lambda job: command(*job[3], **job[4]), jobs))
    found = {}
    for (step, report, shards, _, _), ok in zip(jobs, results):
        found[step] = found.get(step, 0) + collect(step, report, ok, shards > 1)
    for step, tests in found.items():
        if not tests and any(job[0] == step and job[2] > 1 for job in jobs):
            fail(f"{step}: no test was run")


# ---- steps ---------------------------------------------------------------------------------------------------------


def sources():
    """The texts that are generated and committed are what their generators make, and every source file names its licence."""
    manual = BUILD / "results/manual.texi"
    manual.write_text("\\input texinfo\n@settitle exactvq\n@node Top\n@top Filters\n@chapter Video Filters\n@include exactvq.texi\n@bye\n")
    for script in (["scripts/check-spdx"], ["scripts/make-psnr-hvs-tables", "--check"], ["scripts/make-vif-log-lines", "--check"], ["/usr/bin/python3", "tests/golden/independent/make_oracle.py", "--check"],
                   ["makeinfo", "--error-limit=1", "-I", "filter", "--plaintext", "-o", BUILD / "results/manual.txt", manual]):
        if command(*script):
            totals["passed"] += 1
        else:
            fail("sources: " + " ".join(map(str, script)))


def library():
    if not command("scripts/build-library", *WITH_TESTS):
        return fail("library: does not build")
    golden = {}
    if (SHARED / "golden/dev").is_dir():
        if prepare_ffmpeg("7.1"):
            golden = {"EXACTVQ_GOLDEN_FULL": SHARED / "golden/dev", "EXACTVQ_FFMPEG": BUILD / "ffmpeg-7.1/bin/ffmpeg", "EXACTVQ_MODEL_PATH": SHARED / "models"}
        else:
            fail("library golden: no ffmpeg to decode the clips of the whole set")
    folder = BUILD / "lib/tests"
    programs(("library golden", folder / "golden-tests", (), golden), ("library unit", folder / "unit-tests", (), MODELS), ("library faults", folder / "fault-tests", (), {}),
             ("library fuzz", folder / "fuzz-tests", (), {}), ("library parity", folder / "parity-tests", (), {}))
    if command("/usr/bin/python3", "tests/golden/independent/check_vmaf.py", BUILD / "lib/tests/vmaf-predict", "tests/data/models", *MODELS.values()):
        totals["passed"] += 1
    else:
        fail("library: VMAF predictions differ from the independent implementation")


def gpu():
    """GPU kernels on the CPU, the gate that plants mistakes in them, the runtimes of CUDA and HIP on stand-ins, and the code that was compiled for GPUs."""
    if not command("scripts/build-library", *WITH_TESTS):
        return fail("gpu: does not build")
    folder = BUILD / "lib/tests"
    stand_in = {"LD_LIBRARY_PATH": folder}
    programs(("gpu simt-parity", folder / "simt-parity-tests", (), {}), ("gpu gate", folder / "gate-tests", (), {}), ("gpu hip", folder / "hip-tests", (), stand_in),
             ("gpu hip parity", folder / "parity-tests", ("--gtest_filter=*Garbage*:*WideRows*",), {"EXACTVQ_BACKEND": "hip", **stand_in}),
             ("gpu simt", folder / "simt-tests", (), {}), ("gpu cuda", folder / "cuda-tests", (), {}))
    for name, problem in (("cuda-ptx", "PTX with contracted or approximate arithmetic"), ("cuda-contracted-ptx", "the check of PTX does not notice contraction"),
                          ("hip-isa", "machine code with contracted or approximate arithmetic"), ("hip-contracted-isa", "the check of machine code does not notice contraction")):
        if command("meson", "test", "-C", BUILD / "lib", "--no-rebuild", name):
            totals["passed"] += 1
        else:
            fail(f"gpu: {problem}")


def pytest(step, *arguments, **environment):
    """Runs tests on all processors."""
    report = RESULTS / f"{step.replace(' ', '-')}.xml"
    ok = command("/usr/bin/python3", "-m", "pytest", "-q", *(["-x"] if os.environ.get("EXACTVQ_FAIL_FAST") else []), "-p", "no:cacheprovider",
                 "-n", len(os.sched_getaffinity(0)), "--dist=loadgroup", f"--junitxml={report}", *arguments, **environment)
    collect(step, report, ok)


def scripts():
    if not command("scripts/build-library"):
        return fail("scripts: the library does not build")
    pytest("scripts", "tests/scripts")


def packages():
    """The library's Debian packages, with code for fewer processors, and the filter's man page."""
    with preparing:
        source = source_of("7.1")
    if source is None:
        return fail("packages: no source of FFmpeg 7.1, whose tools make the man page")
    folder = BUILD / "packages-test"
    shutil.rmtree(folder, ignore_errors=True)
    if not command("scripts/make-packages", "--only-library", folder, EXACTVQ_MESON_OPTIONS="-Damd_archs=gfx1030 -Done_simd_level=true", DEB_BUILD_OPTIONS="noautodbgsym noopt"):
        return fail("packages: they do not build")
    pytest("packages", "tests/packages", EXACTVQ_PACKAGES=folder)


def sanitizer(name, options, steps):
    folder = BUILD / name
    if not (folder / "build.ninja").exists():
        # -g1: lines, no variables. Both settings are for GCC's time with vif_rows.cpp.
        if not command("meson", "setup", folder, "--buildtype=debugoptimized", "-Doptimization=1", "-Ddebug=false", "-Dcpp_args=-g1", "-Db_lundef=false",
                       "-Dcuda=disabled", "-Dhip=disabled", *options):
            return fail(f"{name}: meson setup")
    targets = [f"tests/{test}" for test, _, _ in steps]  # the build of everything takes minutes more
    if not command("ninja", "-C", folder, *targets):
        return fail(f"{name}: does not build")
    programs(*((f"{name} {test}", folder / f"tests/{test}", arguments, environment) for test, arguments, environment in steps))


def address_sanitizer():
    """Random calls and models have these sanitizers in the step fuzz, and what golden values run is run by the others here."""
    sanitizer("asan", ["-Db_sanitize=address,undefined", "-Done_simd_level=true"],
              [("unit-tests", ["--gtest_filter=-*Division*:*WithoutRatio*:*EveryMantissa*:*SequentialSum*:*RestoredPart*"], {**STRICT, **MODELS}), ("parity-tests", [], {**STRICT, "EXACTVQ_TEST_STRIDE": 47}),
               ("simt-parity-tests", [], {**STRICT, "EXACTVQ_TEST_STRIDE": 47}), ("simt-tests", [], STRICT)])


def thread_sanitizer():
    options = {"TSAN_OPTIONS": "halt_on_error=1"}
    sanitizer("tsan", ["-Db_sanitize=thread", "-Done_simd_level=true"],
              [("parity-tests", ["--gtest_filter=*Threads*:*Garbage*"], {**options, "EXACTVQ_TEST_STRIDE": 8}),
               ("thread-tests", ["--gtest_filter=PlaneJob*:Session*"], options), ("simt-tests", [], options)])


CLANG = {"CC": "clang-15", "CXX": "clang++-15"}


def build_with_clang():
    """Builds what is instrumented for libFuzzer, the targets and the library, in build/fuzz."""
    folder = BUILD / "fuzz"
    return ((folder / "build.ninja").exists() or
            command("meson", "setup", folder, f"--prefix={folder / 'prefix'}", "--libdir=lib", "--buildtype=debugoptimized", "-Doptimization=1", "-Ddebug=false", "-Dcpp_args=-gline-tables-only",
                    "-Db_lundef=false", "-Db_sanitize=address,undefined", "-Dcuda=disabled", "-Dhip=disabled", "-Dtests=false", "-Dfuzzers=true", "-Done_simd_level=true", **CLANG)) and command("ninja", "-C", folder)


# Inputs that each target is given in some ten seconds.
FUZZ_TARGETS = {"options": 2500, "model": 10000, "frames": 1000, "log": 600}


def fuzz():
    """Replays the corpus of each libFuzzer target, then tries new inputs, the same ones each time, or with EXACTVQ_FUZZ_SECONDS others for that long, which are kept
    in build/fuzz/found. An input that fails is left in build/results."""
    if not build_with_clang():
        return fail("fuzz: does not build")

    def run(target):
        here, program = PROJECT / "tests/fuzz", BUILD / f"fuzz/tests/fuzz/{target}-fuzzer"
        corpora = [here / f"corpus/{target}", *([PROJECT / "tests/data/models"] if target == "model" else [])]
        words = here / f"{target}.dict"
        options = ["-timeout=120", "-rss_limit_mb=0", f"-artifact_prefix={RESULTS}/{target}-", *([f"-dict={words}"] if words.exists() else [])]
        if not command(program, *options, *sorted(path for corpus in corpora for path in corpus.iterdir()), **STRICT):
            return f"{target}: the input of the corpus that is named last above"
        seconds = int(os.environ.get("EXACTVQ_FUZZ_SECONDS", 0))
        bound = [f"-max_total_time={seconds}"] if seconds else [f"-runs={FUZZ_TARGETS[target]}", "-seed=1"]
        with tempfile.TemporaryDirectory() as passing:
            found = BUILD / f"fuzz/found/{target}" if seconds else pathlib.Path(passing)
            found.mkdir(parents=True, exist_ok=True)
            ok = command(program, *options, *bound, "-max_len=8192", "-len_control=0", found, *corpora, timeout=seconds + 3600, **STRICT)
        if not ok:
            return f"{target}: " + ", ".join(map(str, sorted(RESULTS.glob(f"{target}-*"))))
        return None

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for problem in pool.map(run, FUZZ_TARGETS):
            if problem:
                fail(f"fuzz: {problem}")
            else:
                totals["passed"] += 1


def has_other_patches(tree, release):
    """Whether the tree was patched before patches/ changed."""
    if not (tree / "configure").exists() or "exactvq" not in (tree / "configure").read_text():
        return False
    return any(subprocess.run(["patch", "--dry-run", "--reverse", "--silent", "--force", "-p1", "-d", tree, "-i", path], stdout=subprocess.DEVNULL).returncode
               for path in (PROJECT / "patches" / release).glob("*.patch"))


def source_of(release):
    """Folder with the pristine or patched tree of a release, or None if it cannot be had."""
    tree = BUILD / f"source/ffmpeg-{release}"
    if has_other_patches(tree, release):
        shutil.rmtree(tree)
    if not (tree / "configure").exists():
        if not command("scripts/fetch-ffmpeg", release, tree):
            return None
        # Pristine now: the checked-in patch is what its generator makes.
        if command("scripts/make-patches", "--check", tree):
            totals["passed"] += 1
        else:
            fail(f"ffmpeg {release}: patches/ is not what scripts/make-patches makes")
    return tree


def nvidia_headers():
    """Folders for pkg-config with NVIDIA's headers for FFmpeg, if they are beside the checkout."""
    folder = BUILD / "nvidia-headers"
    found = folder / "usr/share/pkgconfig/ffnvcodec.pc"
    if not found.exists() and any((SHARED / "ffmpeg").glob("libffmpeg-nvenc-dev_*.deb")):
        command("scripts/fetch-nvidia-headers", folder)
    return [found.parent] if found.exists() else []


prepared = {}
preparing = threading.Lock()


def prepare_ffmpeg(release, prefix=None, library=BUILD / "prefix", options=(), **environment):
    prefix = prefix or BUILD / f"ffmpeg-{release}"
    options = options or [f"--profile={'tests' if release == '7.1' else 'tiny'}"]
    with preparing:
        if prefix not in prepared:
            tree = source_of(release)
            folders = ":".join(map(str, [library / "lib/pkgconfig", *nvidia_headers()]))
            prepared[prefix] = bool(tree) and command("scripts/build-ffmpeg", tree, prefix, *options, PKG_CONFIG_PATH=folders, **environment)
        return prepared[prefix]


# Builds what is needed later while other steps leave processors idle.
ahead = concurrent.futures.ThreadPoolExecutor(1, initializer=lambda: os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 15))


def ffmpeg(release):
    if not command("scripts/build-library", *WITH_TESTS):
        return fail(f"ffmpeg {release}: the library does not build")
    with preparing:
        source = source_of(release)
    if source is None:
        if release == "7.1":
            return fail("ffmpeg 7.1: its source is not to be had")
        totals["skipped"] += 1
        skips.setdefault("its source is not to be had here (EXACTVQ_FFMPEG_SOURCES)", []).append(f"ffmpeg {release}")
        return None
    if not prepare_ffmpeg(release):
        return fail(f"ffmpeg {release}: does not build")
    left_out = ["hostile_frames", *([] if release in LONG else LIBRARY_SUITES)]  # the former is ffmpeg-asan's
    cases = [] if release in LONG else ["-k", "not a01 and not a02 and not a04"]  # the library's too
    return pytest(f"ffmpeg {release}", "tests/ffmpeg", *(f"--ignore=tests/ffmpeg/test_{suite}.py" for suite in left_out), *cases,
                  EXACTVQ_FFMPEG=BUILD / f"ffmpeg-{release}/bin/ffmpeg", **MODELS, **LONG.get(release, {}))


def ffmpeg_asan():
    """The filter and the library with sanitizers, in an FFmpeg that has little else."""
    library, prefix = BUILD / "fuzz/prefix", BUILD / "ffmpeg-asan"
    if not build_with_clang() or not command("meson", "install", "-C", BUILD / "fuzz", "--no-rebuild", "--quiet"):
        return fail("ffmpeg-asan: the library does not build")
    if not prepare_ffmpeg("7.1", prefix, library, ["--profile=bare", "--asan"], **CLANG):
        return fail("ffmpeg-asan: FFmpeg does not build")
    pytest("ffmpeg-asan", "tests/ffmpeg/test_hostile_frames.py", EXACTVQ_FFMPEG=prefix / "bin/ffmpeg", **STRICT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()

    steps = {"sources": sources, "library": library, "gpu": gpu, "scripts": scripts, "packages": packages, "asan": address_sanitizer, "tsan": thread_sanitizer, "fuzz": fuzz, "ffmpeg-asan": ffmpeg_asan}
    steps.update({f"ffmpeg-{release}": lambda release=release: ffmpeg(release) for release in RELEASES})
    if arguments.quick:
        steps = {name: steps[name] for name in ("sources", "library", "gpu", "scripts", "packages", "ffmpeg-7.1")}
    if arguments.only:
        unknown = [name for name in arguments.only.split(",") if name not in steps]
        if unknown:
            parser.error(f"no step {unknown[0]}; the steps are {', '.join(steps)}")
        steps = {name: steps[name] for name in arguments.only.split(",")}

    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    for name, step in steps.items():
        start, before = time.monotonic(), dict(totals)
        print(f"==> {name}", flush=True)
        step()
        if name == "library":
            for release in RELEASES:
                if f"ffmpeg-{release}" in steps:
                    ahead.submit(prepare_ffmpeg, release)
        print(f"    {totals['passed'] - before['passed']} passed, {totals['failed'] - before['failed']} failed, "
              f"{totals['skipped'] - before['skipped']} skipped, {time.monotonic() - start:.0f} s", flush=True)

    for reason, names in skips.items():
        print(f"skipped ({reason}): {len(names)}, e.g. {names[0]}")
    for problem in problems:
        print(f"failed: {problem}")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
