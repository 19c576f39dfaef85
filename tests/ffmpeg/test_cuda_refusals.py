# SPDX-License-Identifier: BSD-2-Clause
"""backend=cuda where there is no GPU: one sentence, a non-zero exit status, no score, no file. Nobody falls back to another backend unasked."""

import os
import re
from pathlib import Path

import pytest

from harness import refused, run

SOURCE = "testsrc2=s=64x48:r=25:d=0.2,format=yuv420p"


@pytest.fixture
def no_gpu():
    if any(Path(p).exists() for p in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg")):
        pytest.skip("this machine has an NVIDIA GPU")


@pytest.fixture
def cuda_build(ff):
    if "cuda" not in run([ff.ffmpeg, "-hide_banner", "-loglevel", "error", "-init_hw_device", "list"]).out.decode().split():
        pytest.skip("this ffmpeg was built without NVIDIA's headers (ffnvcodec)")


def sentence(result, *words):
    """The filter gave one error, and it is a sentence with these words."""
    errors = re.findall(r"^\[[^\]@]*exactvq[^\]]*\] \[(?:error|fatal)\] (.*)$", result.err, re.M)
    ours = [e for e in errors if not e.startswith("Failed to configure")]  # FFmpeg's own, after ours
    assert len(ours) == 1 and " " in ours[0], str(result)
    refused(result, *words)


def score(ff, options, **keywords):
    return ff.score(SOURCE, SOURCE, options, args=["-loglevel", "level+info"], check=False, **keywords)


@pytest.mark.parametrize("options", ["backend=cuda", "backend=cuda:device=1", "backend=cuda:metrics=adm", "metrics=psnr:backend=cuda:threads=2:async_depth=1"])
def test_a13_no_gpu(ff, no_gpu, tmp_path, options):
    log = tmp_path / "log.json"
    result = score(ff, f"{options}:log_path={log}")
    sentence(result)
    assert re.search("CUDA|NVIDIA", result.err), str(result)
    assert not os.listdir(tmp_path), str(result)


def test_a13_broken_driver(ff, no_gpu, tmp_path):
    (tmp_path / "libcuda.so.1").write_text("no library\n")
    sentence(score(ff, "backend=cuda", env={"LD_LIBRARY_PATH": str(tmp_path)}))


def test_a13_driver_without_gpu(ff, fake_cuda):
    preload = ":".join(p for p in (ff.asan, str(fake_cuda), os.environ.get("LD_PRELOAD")) if p)
    sentence(score(ff, "backend=cuda", env={"LD_PRELOAD": preload, "FAKE_CUDA_DEVICES": "0"}))


def test_frames_that_the_library_cannot_read(ff, cuda_build, fake_cuda):
    """CUDA frames, and a library without CUDA or a driver that it cannot use: not copied to system memory unasked."""
    preload = ":".join(p for p in (ff.asan, str(fake_cuda), os.environ.get("LD_PRELOAD")) if p)
    upload = {"before_main": "hwupload", "before_ref": "hwupload"}
    for backend in ("auto", "cuda"):
        result = ff.score(SOURCE, SOURCE, f"backend={backend}", check=False, env={"LD_PRELOAD": preload, "FAKE_CUDA_LIBRARY": "real"},
                          args=["-loglevel", "level+info", "-init_hw_device", "cuda=c", "-filter_hw_device", "c"], **upload)
        sentence(result)


def test_no_device(ff, no_gpu, cuda_build, coded):
    """FFmpeg itself refuses to make the frames: no score comes of it."""
    main, ref = coded
    for args, m in ((["-init_hw_device", "cuda=c", "-filter_hw_device", "c"], main), ([], ["-hwaccel", "cuda", "-hwaccel_output_format", "cuda", *main])):
        result = ff.score(m, ref, before_main="hwupload" if args else "null", args=args, check=False)
        assert not result.has_summary and not result.records, str(result)
