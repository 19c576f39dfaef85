# SPDX-License-Identifier: BSD-2-Clause
"""What the filter itself does with CUDA frames, on any machine: fake_cuda.cpp stands in for the driver, the CPU for the GPU's arithmetic.

Whether a real GPU gives these scores is for tests/device.
"""

import pytest

from harness import complete, counts, filter_lines, refused

ALL = "metrics=psnr+psnr_hvs+adm+vif+motion"
DEVICE = ["-init_hw_device", "cuda=c", "-filter_hw_device", "c"]

# Formats of CUDA frames with the first release that has them.
FORMATS = {
    "nv12": (5, 1), "yuv420p": (5, 1), "yuv444p": (5, 1), "p010le": (5, 1), "p016le": (5, 1), "yuv444p16le": (5, 1),
    "nv16": (8, 1), "p210le": (8, 1), "p216le": (8, 1), "yuv422p": (8, 1), "yuv420p10le": (8, 1), "yuv422p10le": (8, 1),
    "yuv444p10le": (8, 1), "yuv444p10msble": (8, 1), "yuv444p12msble": (8, 1), "p012le": (9, 0), "p212le": (9, 0),
}
DEEP = ("p016le", "p216le", "yuv444p16le")  # psnr_hvs does not take 16 bits


def metrics(*formats):
    return "metrics=psnr+adm" if any(f in DEEP for f in formats) else ALL


def score(ff, main, ref, options, env, *, upload=("main", "ref"), args=(), **keywords):
    """Scores with the inputs named in `upload` in CUDA memory. The log must show no complaint of the fake driver, and no conversion that was not asked for."""
    before = {f"before_{side}": "hwupload" for side in upload}
    before.update(keywords)
    result = ff.score(main, ref, options, args=["-loglevel", "verbose", *DEVICE, *args], env=env, **before)
    assert "auto_scale" not in result.err or any("format=" in str(v) for v in keywords.values()), str(result)
    assert "fake_cuda: error" not in result.err, str(result)
    return result


def in_place(result):
    return "fake_cuda: session on CUDA frames, context alive" in result.err


@pytest.mark.parametrize("fmt", FORMATS)
def test_a03_layouts(ff, cuda, noise, fmt):
    """Frames in CUDA memory score as those in system memory, in place or copied, whole and cut to top bits."""
    if ff.version < FORMATS[fmt]:
        pytest.skip(f"FFmpeg {ff.version[0]}.{ff.version[1]} has no CUDA frames of {fmt}")
    main, ref = noise(fmt, 1), noise(fmt, 2)
    for options in [metrics(fmt)] + ([ALL + ":bits=12", "metrics=psnr:bits=10"] if fmt in DEEP else []):
        plain = ff.score(main, ref, options)
        device = score(ff, main, ref, options, cuda)
        assert in_place(device), str(device)
        assert device.out == plain.out and device.records, f"{device}\n{plain}"
        explicit = score(ff, main, ref, options + ":backend=cuda", cuda)
        assert in_place(explicit) and explicit.out == plain.out, str(explicit)
        copied = score(ff, main, ref, options + ":backend=cpu", cuda)
        assert not in_place(copied) and copied.out == plain.out, str(copied)
        for side in ("main", "reference"):
            said = [text for _, text in filter_lines(copied.err) if text.startswith(f"{side} is") and "copied to system memory" in text]
            assert len(said) == 1 and f"{fmt} in cuda frames" in said[0], str(copied)


@pytest.mark.parametrize("fmt,size", [("nv12", (64, 64)), ("nv12", (514, 34)), ("yuv420p", (34, 18)), ("p010le", (1026, 20)), ("yuv444p", (149, 89)), ("yuv444p", (33, 17))])
def test_sizes(ff, cuda, noise, fmt, size):
    sources = [noise(fmt, seed, size) for seed in (1, 2)]
    device = score(ff, *sources, "metrics=psnr+adm", cuda)
    assert in_place(device) and device.out == ff.score(*sources, "metrics=psnr+adm").out, str(device)


def test_layouts_may_differ(ff, cuda):
    main, ref = ("testsrc2=s=150x90:r=25:d=0.2,format=yuv420p" + more for more in (",noise=c0s=20:allf=t:c0_seed=1", ""))
    plain = ff.score(main, ref, ALL)
    for a, b in (("nv12", "yuv420p"), ("yuv420p", "nv12")):
        device = score(ff, main, ref, ALL, cuda, before_main=f"format={a},hwupload", before_ref=f"format={b},hwupload")
        assert in_place(device) and device.out == plain.out, str(device)


def test_many_frames(ff, cuda):
    """Buffers come from a pool and are used again: none that is still being read."""
    main, ref = ("testsrc2=s=640x360:r=25:d=4,format=yuv420p" + more for more in (",noise=c0s=20:allf=t:c0_seed=1", ""))
    for depth in (1, 4, 32):
        plain = ff.score(main, ref, f"metrics=psnr+adm:async_depth={depth}")
        for backend in ("auto", "cpu"):
            device = score(ff, main, ref, f"metrics=psnr+adm:async_depth={depth}:backend={backend}", cuda)
            counts(device, 100)
            assert device.out == plain.out


def test_output(ff, cuda, noise, tmp_path):
    """The output is main itself, still in CUDA memory, with its metadata."""
    main, ref = noise("nv12", 1), noise("nv12", 2)
    wanted = ff.dump(main)
    for backend in ("auto", "cpu"):
        result = score(ff, main, ref, f"metrics=psnr:backend={backend}", cuda, after="hwdownload,format=nv12", tail=("-f", "rawvideo", tmp_path / "out.raw"))
        complete(result, 6, ["psnr_y", "psnr_cb", "psnr_cr"])
        assert (tmp_path / "out.raw").read_bytes() == wanted


@pytest.mark.parametrize("options", [":enable='between(n,1,3)'", ":subsample=2"])
def test_frames_that_are_left_out(ff, cuda, noise, options):
    main, ref = noise("p010le", 1), noise("p010le", 2)
    plain = ff.score(main, ref, "metrics=psnr" + options)
    for backend in ("auto", "cpu"):
        assert score(ff, main, ref, f"metrics=psnr:backend={backend}{options}", cuda).out == plain.out


def test_early_end(ff, cuda, noise):
    """ffmpeg stops while frames are in flight. How many are sent on until then is not fixed, nor whether main gets one more than the reference before it ends."""
    main, ref = noise("p010le", 1), noise("p010le", 2)
    plain = ff.score(main, ref, "metrics=psnr")
    for backend in ("auto", "cpu"):
        device = score(ff, main, ref, f"metrics=psnr:backend={backend}", cuda, tail=("-frames:v", "2", "-f", "null", "-"))
        scored = [record for record in device.records if record.lines != ["lavfi.exactvq.paired=0"]]
        assert len(scored) >= 2 and scored == plain.records[:len(scored)] and device.records[:len(scored)] == scored, f"{device}\n{plain}"


def test_end_of_the_device(ff, cuda):
    """The context lives until the session is closed, whichever filter of the graph is freed first."""
    main = "testsrc2=s=640x360:r=25:d=2,format=nv12"
    graph = "[0:v]hwupload_cuda,split=3[m][r][s];[s]nullsink;[m][r]exactvq=metrics=psnr_hvs+adm:async_depth=32,metadata=print:file=-"
    for tail in ([], ["-frames:v", "1"]):
        result = ff.run("-f", "lavfi", "-i", main, "-filter_complex", graph, *tail, "-f", "null", "-", env=cuda)
        assert in_place(result) and "fake_cuda: error" not in result.err and result.records, str(result)


class TestRefused:
    @pytest.mark.parametrize("upload", ["main", "ref"])
    @pytest.mark.parametrize("backend", ["auto", "cuda"])
    def test_a06_f_mixed_memory(self, ff, cuda, noise, upload, backend):
        result = score(ff, noise("nv12", 1), noise("nv12", 2), f"metrics=psnr:backend={backend}", cuda, upload=[upload], check=False)
        refused(result, "main is 150x90 nv12", "reference is 150x90 nv12", "nv12 in cuda frames", "different memory", "hwupload", "hwdownload,format=nv12", "backend=cpu")

    @pytest.mark.parametrize("upload", ["main", "ref"])
    def test_mixed_memory_on_the_cpu(self, ff, cuda, noise, upload):
        main, ref = noise("nv12", 1), noise("nv12", 2)
        result = score(ff, main, ref, "metrics=psnr:backend=cpu", cuda, upload=[upload])
        assert result.out == ff.score(main, ref, "metrics=psnr").out

    def test_a06_g_two_contexts(self, ff, cuda, noise):
        main, ref = noise("nv12", 1), noise("nv12", 2)
        for devices in (("0", "0"), ("0", "1")):
            upload = {f"before_{side}": f"hwupload_cuda=device={d}" for side, d in zip(("main", "ref"), devices)}
            result = score(ff, main, ref, "metrics=psnr", cuda, check=False, **upload)
            refused(result, "main is 150x90 nv12 in cuda frames", "reference is 150x90 nv12 in cuda frames", "two devices", "-hwaccel_device", "backend=cpu")
            copied = score(ff, main, ref, "metrics=psnr:backend=cpu", cuda, **upload)
            assert copied.out == ff.score(main, ref, "metrics=psnr").out

    @pytest.mark.parametrize("main,ref", [("nv12", "p010le"), ("nv12", "yuv444p"), ("p010le", "p016le"), ("yuv444p", "yuv444p16le")])
    def test_a06_e_formats(self, ff, cuda, noise, main, ref):
        for a, b in ((main, ref), (ref, main)):
            for backend in ("auto", "cpu"):
                refused(score(ff, noise(a, 1), noise(b, 2), f"metrics=psnr:backend={backend}", cuda, check=False),
                        f"main is 150x90 {a} in cuda frames", f"reference is 150x90 {b} in cuda frames", "format")

    def test_sizes(self, ff, cuda, noise):
        refused(score(ff, noise("nv12", 1), noise("nv12", 2, (150, 88)), "metrics=psnr", cuda, check=False), "150x90 nv12 in cuda frames", "150x88 nv12 in cuda frames")

    @pytest.mark.parametrize("fmt,reason", [("bgr0", "RGB is not supported"), ("yuva420p", "an alpha plane is not supported")])
    def test_samples(self, ff, cuda, fmt, reason):
        for side in ("main", "ref"):
            before = {f"before_{s}": f"format={fmt if s == side else 'yuv420p'},hwupload" for s in ("main", "ref")}
            result = score(ff, "color=s=64x48:d=0.2", "color=s=64x48:d=0.2", "metrics=psnr", cuda, check=False, **before)
            refused(result, f"{'main' if side == 'main' else 'reference'} is 64x48 {fmt} in cuda frames", "cannot be scored", reason, f"hwdownload,format={fmt},format=")

    def test_bits(self, ff, cuda, noise):
        refused(score(ff, noise("p010le", 1), noise("p010le", 2), "metrics=psnr:bits=10", cuda, check=False), "bits", "p010le in cuda frames")
        refused(score(ff, noise("p016le", 1), noise("p016le", 2), "metrics=psnr:bits=8", cuda, check=False), "bits=8", "p016le in cuda frames")

    def test_ranges(self, ff, cuda, noise):
        before = {"before_main": "setparams=range=tv,hwupload", "before_ref": "setparams=range=pc,hwupload"}
        for backend in ("auto", "cpu"):
            refused(score(ff, noise("nv12", 1), noise("nv12", 2), f"metrics=psnr:backend={backend}", cuda, check=False, **before), "range tv", "range pc")
