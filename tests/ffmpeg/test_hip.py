# SPDX-License-Identifier: BSD-2-Clause
"""backend=hip on a stand-in for AMD's runtime that runs the kernels on the CPU (tests/hip/fake_hip.cpp), and where there is none."""

import re
from pathlib import Path

import pytest

from harness import refused

SOURCE = "testsrc2=s=64x48:r=25:d=0.2,format=yuv420p"
METRICS = "metrics=psnr+float_psnr+psnr_hvs+adm+vif+motion"
ALL_BUT_PSNR_HVS = "metrics=psnr+float_psnr+adm+vif+motion"


def on_hip(result, architecture="gfx1030"):
    assert re.search(rf" on hip \(Fake GPU \d, {architecture}\)", result.err), str(result)
    return result


@pytest.mark.parametrize("pix_fmt,metrics", [("yuv420p", METRICS), ("nv12", METRICS), ("yuv444p10le", METRICS), ("p010le", METRICS), ("yuv422p12le", METRICS),
                                             ("gray16le", ALL_BUT_PSNR_HVS)])
@pytest.mark.parametrize("architecture", ["gfx1030", "gfx90a"])
def test_same_bytes(ff, hip, coded, pix_fmt, metrics, architecture):
    main, ref = coded
    options = {"before_main": f"format={pix_fmt}", "before_ref": f"format={pix_fmt}", "args": ["-loglevel", "verbose"], "tail": ("-frames:v", "6", "-f", "null", "-")}
    device = on_hip(ff.score(main, ref, f"{metrics}:backend=hip", env=hip(f"arch={architecture}"), **options), architecture)
    cpu = ff.score(main, ref, f"{metrics}:backend=cpu", **options)
    assert len(cpu.records) >= 6 and device.records[:6] == cpu.records[:6], f"{device}\n{cpu}"


@pytest.mark.parametrize("options", ["threads=1:async_depth=1", "threads=3:async_depth=8", "device=1"])
def test_options(ff, hip, options):
    device = on_hip(ff.score(SOURCE, SOURCE + ",negate", f"metrics=psnr:backend=hip:{options}", args=["-loglevel", "verbose"], env=hip("devices=2")))
    assert device.out == ff.score(SOURCE, SOURCE + ",negate", "metrics=psnr").out


@pytest.mark.parametrize("settings,words", [
    ("devices=0", ["no AMD GPU that this process may use"]),
    ("arch=gfx1299", ["no code for the GPU (Fake GPU 0, gfx1299)", "gfx1030"]),
    ("hipMalloc=2", ["out of memory on the GPU (Fake GPU 0, gfx1030)"]),
    ("hipInit=999", ["hipInit failed: hipErrorUnknown"]),
])
def test_a13_refused_at_the_start(ff, hip, settings, words, tmp_path):
    log = tmp_path / "log.json"
    refused(ff.score(SOURCE, SOURCE, f"metrics=psnr:backend=hip:log_path={log}", check=False, env=hip(settings)), *words, outputs=[log])


@pytest.mark.parametrize("settings,words", [("wrong=1", "the GPU computes wrong numbers"), ("lose=1", "the driver lost a launch")])
def test_a15_self_check_at_the_start(ff, hip, settings, words, tmp_path):
    log = tmp_path / "log.json"
    refused(ff.score(SOURCE, SOURCE, f"metrics=psnr:backend=hip:log_path={log}", check=False, env=hip(settings)), words, outputs=[log])


def test_no_such_device(ff, hip):
    refused(ff.score(SOURCE, SOURCE, "metrics=psnr:backend=hip:device=1", check=False, env=hip()), "there is no AMD GPU 1: this process may use 1, which is 0")


def test_a15_lost_launch_of_a_later_frame(ff, hip, tmp_path):
    """A launch of a later frame is lost, or fails: no score for it, an error, no log."""
    log = tmp_path / "log.json"
    source = "testsrc2=s=64x48:r=25:d=8,format=yuv420p"
    for settings, words in (("lose=34", "the driver lost a launch"), ("fail_at=400,result=719", "hipErrorLaunchFailure")):  # long after the self-check
        result = ff.score(source, source, f"metrics=psnr:backend=hip:log_path={log}", check=False, env=hip(settings))
        assert words in result.err and "mean:" not in result.err and not log.exists(), str(result)


def test_a13_no_runtime(ff, tmp_path):
    if any((Path(folder) / f"libamdhip64.so.{n}").exists() for folder in ("/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu") for n in (5, 6, 7)):
        pytest.skip("this machine has a HIP runtime")
    refused(ff.score(SOURCE, SOURCE, "metrics=psnr:backend=hip", check=False), "there is no HIP runtime (libamdhip64.so.7: ", "use the CPU backend")
    (tmp_path / "libamdhip64.so.7").write_text("no library\n")
    refused(ff.score(SOURCE, SOURCE, "metrics=psnr:backend=hip", check=False, env={"LD_LIBRARY_PATH": str(tmp_path)}), "there is no HIP runtime")
