# SPDX-License-Identifier: BSD-2-Clause
"""Black-box tests of the exactvq filter through a real ffmpeg.

EXACTVQ_FFMPEG, EXACTVQ_FFPROBE  the programs to test (default: build/ffmpeg-7.1/bin of this checkout)
EXACTVQ_REPEAT                   runs of the repeatability tests (default 20)
EXACTVQ_MODELS                   folder with libvmaf's own models; without it tests/data/models/small.json stands in, and what is about them is skipped
EXACTVQ_SLOW=1                   run the tests marked slow too
"""

import os
import random
import subprocess
import threading
from pathlib import Path

import pytest

import oracle
from harness import BARE, COMPONENTS, FFmpeg, raw, run

HERE = Path(__file__).resolve().parent
DEFAULT = HERE.parent.parent / "build" / "ffmpeg-7.1" / "bin"


def _ffmpeg():
    ffmpeg = Path(os.environ.get("EXACTVQ_FFMPEG") or DEFAULT / "ffmpeg")
    # with only the first named, its neighbour is meant
    ffprobe = Path(os.environ.get("EXACTVQ_FFPROBE") or ffmpeg.with_name("ffprobe"))
    return FFmpeg(ffmpeg, ffprobe)


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes minutes; runs only with EXACTVQ_SLOW=1")
    config.addinivalue_line("markers", "xdist_group(name): runs in one process with the others of the group")  # where pytest-xdist is not installed


def pytest_collection_modifyitems(items):
    if os.environ.get("EXACTVQ_SLOW", "0") in ("", "0"):
        for item in items:
            if item.get_closest_marker("slow") and HERE in Path(item.fspath).parents:
                item.add_marker(pytest.mark.skip(reason="slow: set EXACTVQ_SLOW=1"))


def pytest_collection_finish(session):
    # One sentence instead of hundreds of failures, and never a skip.
    files = {Path(i.fspath).name for i in session.items if HERE in Path(i.fspath).parents}
    if session.config.option.collectonly or not files:
        return
    problem = _ffmpeg().problem(BARE if files == {"test_hostile_frames.py"} else COMPONENTS)
    if problem:
        raise pytest.UsageError(problem)


@pytest.fixture(scope="session")
def ff():
    return _ffmpeg()


@pytest.fixture(scope="session")
def clips(tmp_path_factory):
    """Folder for what the session encodes once."""
    return tmp_path_factory.mktemp("clips")


@pytest.fixture(scope="session")
def coded(ff, clips):
    """A source clip (lossless, 25 frames 150x90, so that decoders crop) and a real encode of it with B-frames: (encode, source)."""
    src, enc = clips / "source.mkv", clips / "encode.mkv"
    ff.run("-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=s=150x90:r=25:d=1,noise=c0s=12:c1s=6:c2s=6:allf=t:c0_seed=1:c1_seed=2:c2_seed=3,format=yuv420p",
           "-c:v", "ffv1", src)
    ff.run("-loglevel", "error", "-i", src, "-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-bf", "3", enc)
    return ["-i", str(enc)], ["-i", str(src)]


def build_library(target, source, *flags):
    """A library for LD_PRELOAD from a source beside this file."""
    build = subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-shared", *flags, "-I", str(HERE.parent.parent), "-I", str(HERE.parent.parent / "host/include"),
                            "-o", str(target), str(HERE / source), "-ldl"], capture_output=True, text=True)
    assert build.returncode == 0, f"g++ cannot build {source}:\n{build.stderr}"
    return target


@pytest.fixture(scope="session")
def oom_library(tmp_path_factory):
    """The library that makes memory run out."""
    return build_library(tmp_path_factory.mktemp("oom") / "liboom.so", "oom.cpp")


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory):
    """The driver without a GPU. Its name lets dlopen() take it for the real one."""
    return build_library(tmp_path_factory.mktemp("fake") / "libcuda.so.1", "fake_cuda.cpp", "-Wl,-soname,libcuda.so.1")


@pytest.fixture
def cuda(ff, fake_cuda):
    """Skips where this ffmpeg knows no CUDA frames; the environment of the fake driver."""
    if "cuda" not in run([ff.ffmpeg, "-hide_banner", "-loglevel", "error", "-init_hw_device", "list"]).out.decode().split():
        pytest.skip("this ffmpeg was built without NVIDIA's headers (ffnvcodec)")
    return {"LD_PRELOAD": ":".join(p for p in (ff.asan, str(fake_cuda), os.environ.get("LD_PRELOAD")) if p)}


@pytest.fixture
def hip():
    """hip("arch=gfx906"): environment of a machine with such a GPU, on a stand-in for AMD's runtime that runs the kernels on the CPU (hip/fake_hip.cpp)."""
    folder = Path(os.environ.get("EXACTVQ_FAKE_HIP_FOLDER", HERE.parent.parent / "build/lib/tests"))
    assert (folder / "libamdhip64.so.7").exists(), f"{folder} has no libamdhip64.so.7: scripts/build-library -Dtests=true -Dhip=enabled"
    return lambda settings="": {"LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}", "EXACTVQ_FAKE_HIP": settings}


@pytest.fixture(scope="session")
def fake_va(tmp_path_factory):
    """libva without a GPU."""
    return build_library(tmp_path_factory.mktemp("fake") / "fake_va.so", "fake_va.cpp")


@pytest.fixture(scope="session")
def noise(tmp_path_factory):
    """noise(pix_fmt, seed, (width, height), frames): input of random frames, every bit of every word included, also those that no sample of the format has."""
    folder = tmp_path_factory.mktemp("noise")

    def make(pix_fmt, seed, size=(150, 90), frames=6):
        path = folder / f"{pix_fmt}-{seed}-{size[0]}x{size[1]}-{frames}.raw"
        if not path.exists():
            chroma, depth = oracle.FORMATS[pix_fmt][:2]
            samples = sum(w * h for w, h in oracle.plane_sizes(chroma, *size))
            path.write_bytes(random.Random(seed).randbytes(samples * (1 if depth == 8 else 2) * frames))
        return raw(path, pix_fmt, *size)

    return make


@pytest.fixture(scope="session")
def rawfile(tmp_path_factory):
    """rawfile(clip, pix_fmt): input arguments for the clip's frames in that layout, written once for equal bytes."""
    folder, known, lock = tmp_path_factory.mktemp("raw"), {}, threading.Lock()

    def write(clip, pix_fmt, rate=25):
        data = oracle.pack(clip, pix_fmt)
        with lock:  # tests run several at once
            if data not in known:
                path = folder / f"{len(known)}.raw"
                path.write_bytes(data)
                known[data] = path
        return raw(known[data], pix_fmt, clip.width, clip.height, rate)

    return write


@pytest.fixture
def need_format(ff):
    """need_format("p012le", ...): skips where this release does not have the pixel format."""
    def check(*names):
        missing = [n for n in names if n not in ff.pix_fmts]
        if missing:
            pytest.skip(f"FFmpeg {ff.version[0]}.{ff.version[1]} has no pixel format {', '.join(missing)}")
    return check


@pytest.fixture
def loopback(ff):
    """For tests of the inline transcode."""
    if ff.version < (7, 0):
        pytest.skip(f"FFmpeg {ff.version[0]}.{ff.version[1]} has no loopback decoder (-dec): from 7.0 on")
