# SPDX-License-Identifier: BSD-2-Clause
"""VAAPI frames and backend=hip, on any machine: fake_va.cpp stands in for libva, tests/hip/fake_hip.cpp for AMD's runtime, which imports its buffers."""

import os
import re

import pytest

from harness import run

DEVICE = ["-init_hw_device", "vaapi=v:/dev/null", "-filter_hw_device", "v"]
ALL = "metrics=psnr+psnr_hvs+adm+vif+motion:backend=hip"


@pytest.fixture
def vaapi(ff, hip, fake_va):
    """vaapi("modifier=1"): the environment of such a libva, and of an AMD GPU. Skips where this ffmpeg knows no VAAPI frames."""
    if "vaapi" not in run([ff.ffmpeg, "-hide_banner", "-loglevel", "error", "-init_hw_device", "list"]).out.decode().split():
        pytest.skip("this ffmpeg was built without libva and libdrm")
    preload = ":".join(p for p in (ff.asan, str(fake_va), os.environ.get("LD_PRELOAD")) if p)
    return lambda settings="", gpu="": {**hip(gpu), "LD_PRELOAD": preload, "EXACTVQ_FAKE_VA": settings}


def score(ff, main, ref, options, env, *, upload=("main", "ref"), args=("-loglevel", "verbose"), **keywords):
    before = {f"before_{side}": "hwupload" for side in upload}
    before.update(keywords)
    result = ff.score(main, ref, options, args=[*args, *DEVICE], env=env, **before)
    assert "fake_va: error" not in result.err and "auto_scale" not in result.err, str(result)
    return result


def uses(result):
    """(exports, reads) of surfaces."""
    return tuple(map(int, re.search(r"fake_va: (\d+) exports, (\d+) reads", result.err).groups()))


WARNING = re.compile(r"(main|reference) is [^\n]* in vaapi frames, which cannot be read in place: [^\n]*")


@pytest.mark.parametrize("fmt", ["nv12", "p010le", "yuv444p", "gray"])
@pytest.mark.parametrize("settings", ["", "objects=1", "size=0"])
def test_in_place(ff, vaapi, noise, fmt, settings):
    """Surfaces that cannot be read by the host at all score as system frames do."""
    main, ref = noise(fmt, 1), noise(fmt, 2)
    plain = ff.score(main, ref, ALL.replace(":backend=hip", ""))
    for descriptors in ("close", "late", "keep"):
        device = score(ff, main, ref, ALL, vaapi(f"read=0,{settings}", f"fd={descriptors}"))
        assert device.out == plain.out and len(device.records) == 6, f"{device}\n{plain}"
        assert uses(device) == (12, 0) and not WARNING.search(device.err), str(device)


@pytest.mark.parametrize("size", [(17, 17), (19, 70)], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("metric", ["float_psnr", "motion", "motion+float_psnr", "adm"])
def test_luma_alone(ff, vaapi, noise, metric, size):
    """Of a picture whose chroma, or whose main frame, nothing reads."""
    for fmt in ("nv12", "p010le"):
        main, ref = noise(fmt, 1, size), noise(fmt, 2, size)
        for settings in ("", "objects=1"):
            device = score(ff, main, ref, f"metrics={metric}:backend=hip", vaapi(f"read=0,{settings}"))
            assert device.out == ff.score(main, ref, f"metrics={metric}").out and uses(device) == (12, 0), str(device)


@pytest.mark.parametrize("settings", ["composed=1", "composed=1,objects=1"])
def test_one_layer(ff, vaapi, noise, settings):
    for fmt in ("nv12", "p010le", "yuv420p", "yuv444p"):
        main, ref = noise(fmt, 3), noise(fmt, 4)
        device = score(ff, main, ref, ALL, vaapi(f"read=0,{settings}"))
        assert device.out == ff.score(main, ref, ALL.replace(":backend=hip", "")).out and uses(device) == (12, 0), str(device)


@pytest.mark.parametrize("fmt,settings,gpu,words", [
    ("nv12", "modifier=2", "", "layout (DRM format modifier 0x0000000000000002) is not linear"),
    ("nv12", "swapped=1", "", "its DRM layers are not known to be those of its format"),
    ("yuv420p", "", "", "its DRM layers are not known to be those of its format"),
    ("nv12", "export=0", "", "it cannot be mapped to DRM PRIME"),
    ("nv12", "size=2", "", "the imported frame's dma-buf has "),
    ("nv12", "beyond=256", "", "of the imported frame reaches beyond its dma-buf of "),
    ("nv12", "", "hipImportExternalMemory=2", "the GPU (Fake GPU 0, gfx1030) does not take a dma-buf: hipImportExternalMemory failed: hipErrorOutOfMemory"),
    ("nv12", "", "hipExternalMemoryGetMappedBuffer=1", "hipExternalMemoryGetMappedBuffer failed: hipErrorInvalidValue"),
])
def test_copied(ff, vaapi, noise, fmt, settings, gpu, words):
    """What cannot be read in place is copied, with one warning for each input, and scores the same."""
    main, ref = noise(fmt, 1), noise(fmt, 2)
    result = score(ff, main, ref, ALL, vaapi(settings, gpu))
    assert result.out == ff.score(main, ref, ALL.replace(":backend=hip", "")).out and uses(result)[1] == 12, str(result)
    warnings = WARNING.findall(result.err)
    assert sorted(warnings) == ["main", "reference"] and words in result.err, str(result)


def test_layout_changes(ff, vaapi, noise):
    """Each frame is looked at: from the fifth export on the layout is not linear."""
    main, ref = noise("nv12", 1), noise("nv12", 2)
    result = score(ff, main, ref, ALL, vaapi("modifier=1,first=5"))
    assert result.out == ff.score(main, ref, ALL.replace(":backend=hip", "")).out and uses(result) == (12, 8), str(result)
    assert sorted(WARNING.findall(result.err)) == ["main", "reference"], str(result)


@pytest.mark.parametrize("upload", [("main",), ("ref",)])
def test_one_input_in_system_memory(ff, vaapi, noise, upload):
    for settings, expected in (("read=0", (6, 0)), ("modifier=1", (6, 6))):
        main, ref = noise("nv12", 1), noise("nv12", 2)
        result = score(ff, main, ref, ALL, vaapi(settings), upload=upload)
        assert result.out == ff.score(main, ref, ALL.replace(":backend=hip", "")).out and uses(result) == expected, str(result)


@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_other_backends_copy(ff, vaapi, noise, backend):
    main, ref = noise("nv12", 1), noise("nv12", 2)
    result = score(ff, main, ref, f"metrics=psnr:backend={backend}", vaapi())
    assert result.out == ff.score(main, ref, "metrics=psnr").out and uses(result) == (0, 12), str(result)
    assert "copied to system memory to be scored" in result.err, str(result)


def test_refused(ff, vaapi, noise, tmp_path):
    log = tmp_path / "log.json"
    main, ref = noise("nv12", 1), noise("nv12", 2)
    result = score(ff, main, ref, f"metrics=psnr:backend=hip:log_path={log}", vaapi("export=0,read=0"), check=False)
    assert result.rc != 0 and "a hardware frame of main cannot be copied to system memory" in result.err and "mean:" not in result.err and not log.exists(), str(result)


def test_many_frames_and_descriptors(ff, vaapi):
    """More frames than descriptors: an import a surface, and nothing is left open."""
    source = "testsrc2=s=64x48:r=25:d=12,format=nv12"
    other = source + ",hflip,format=nv12"
    plain = ff.score(source, other, "metrics=psnr")
    for descriptors in ("close", "late", "keep"):
        result = score(ff, source, other, "metrics=psnr:backend=hip", vaapi("read=0", f"fd={descriptors}"))
        assert result.out == plain.out and uses(result) == (600, 0), str(result)


def test_failure_in_the_middle(ff, vaapi, tmp_path):
    log = tmp_path / "log.json"
    source = "testsrc2=s=64x48:r=25:d=8,format=nv12"
    result = score(ff, source, source, f"metrics=psnr:backend=hip:log_path={log}", vaapi("read=0", "fail_at=500,result=719"), check=False)
    assert result.rc > 0 and "hipErrorLaunchFailure" in result.err and "mean:" not in result.err and not log.exists(), str(result)
