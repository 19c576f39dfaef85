# SPDX-License-Identifier: BSD-2-Clause
"""What cannot be scored is refused before the first frame: a sentence, a non-zero exit status, no score, no file."""

import os

import pytest

import oracle
from harness import complete, counts, raw, refused, source

HVS = ["psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]


def blank(pix_fmt, size="64x48", frames=5):
    """Frames in any format, all bytes zero, straight from the raw decoder: nothing has converted them."""
    return ["-f", "rawvideo", "-pix_fmt", pix_fmt, "-s", size, "-framerate", "25", "-i", "/dev/zero"], frames


def run(ff, main, ref, options="", *, main_size="64x48", ref_size="64x48", check=False, args=(), **keywords):
    """Scores five blank frames; the verbose log must show no conversion."""
    limit = "trim=end_frame=5"
    before = {side: limit + ("," + keywords.pop(side) if side in keywords else "") for side in ("before_main", "before_ref")}
    result = ff.score(blank(main, main_size)[0], blank(ref, ref_size)[0], options, check=check, args=["-loglevel", "verbose", *args], **before, **keywords)
    assert "auto_scale" not in result.err, f"FFmpeg inserted a conversion\n{result}"
    return result


class TestOptionTexts:
    @pytest.mark.parametrize("options,words", [
        ("metrics=psnr+sharpness", ["sharpness"]),
        ("metrics=PSNR", ["PSNR"]),
        ("metrics=psnr+", []),
        ("metrics=", []),
        ("metrics=psnr@A", ["A"]),
        ("metrics=psnr@1a", ["1a"]),
        ("metrics=psnr@" + "a" * 33, ["a" * 33]),
        ("metrics=psnr+psnr", ["psnr_y", "twice"]), ("metrics=psnr@a+float_psnr+psnr@a", ["a.psnr_y", "twice"]),
        ("options=enabel_mse=1", ["enabel_mse"]),
        ("options=psnr.enabel_mse=1", ["enabel_mse"]),
        ("options=nobody.enable_mse=1", ["nobody"]),
        ("options=float_psnr.uncapped=1", ["float_psnr"]),
        ("metrics=float_psnr:options=enable_mse=1", ["enable_mse"]),
        ("options=enable_mse=perhaps", ["enable_mse", "perhaps"]),
        ("options=enable_mse", ["enable_mse"]),
        ("options=min_sse=-1", ["min_sse", "-1"]),
        ("options=min_sse=much", ["min_sse", "much"]),
        ("options=psnr_hvs_mask=f16", ["psnr_hvs_mask", "f16"]),
    ], ids=lambda v: v.split("=", 1)[1][:30] if isinstance(v, str) else "")
    def test_metrics_and_options(self, ff, options, words):
        refused(run(ff, "yuv420p", "yuv420p", options), *words)

    @pytest.mark.parametrize("options,words", [
        ("metrcs=psnr", ["metrcs"]),
        ("async_depth=0", ["async_depth"]), ("async_depth=257", ["async_depth"]),
        ("threads=-1", ["threads"]), ("threads=1025", ["threads"]),
        ("subsample=0", ["subsample"]), ("n_subsample=0", ["subsample"]),
        ("bits=17", ["bits"]), ("bits=-1", ["bits"]), ("bits=7", ["bits"]),
        ("pool=median", ["pool"]), ("log_fmt=yaml", ["log_fmt"]), ("range=maybe", ["range"]), ("pairing=random", ["pairing"]),
        ("backend=vulkan", ["backend"]), ("eof_action=stop", ["eof_action"]), ("shortest=2", ["shortest"]),
    ], ids=lambda v: v if isinstance(v, str) else "")
    def test_filter_options(self, ff, options, words):
        refused(run(ff, "yuv420p", "yuv420p", options), *words, own=False)

    def test_repeat(self, ff):
        """FFmpeg's usual end action is known and refused, with the reason."""
        refused(run(ff, "yuv420p", "yuv420p", "eof_action=repeat"), "eof_action=repeat", "frozen", "pass", "endall")

    def test_backend_that_is_not_there(self, ff):
        """cuda: test_cuda_refusals.py."""
        refused(run(ff, "yuv420p", "yuv420p", "backend=hip"), "hip")

    @pytest.mark.parametrize("backend", ["cpu", "auto"])
    def test_backends_that_are(self, ff, backend):
        assert "cpu" in run(ff, "yuv420p", "yuv420p", f"backend={backend}", check=True).err

    def test_limits_are_accepted(self, ff):
        label = "a" * 32
        for options in ("async_depth=1", "async_depth=256", "threads=1024", "subsample=1000", f"metrics=psnr@{label}", "threads=0", "bits=0"):
            assert run(ff, "yuv420p", "yuv420p", options, check=True).records[0].scores


class TestDifferentInputs:
    """Both sides are named."""

    @pytest.mark.parametrize("main,ref", [
        ("yuv420p", "yuv420p10le"), ("nv12", "p010le"), ("yuv420p10le", "yuv420p12le"), ("gray", "gray10le"), ("p010le", "p016le"),
        ("yuv420p", "yuv444p"), ("yuv422p", "yuv420p"), ("nv12", "nv16"), ("yuv440p", "yuv422p"), ("yuv411p", "yuv420p"), ("yuv420p10le", "yuv444p10le"),
        ("gray", "yuv420p"), ("yuv444p", "gray"), ("gray10le", "p010le"),
    ])
    def test_formats(self, ff, need_format, main, ref):
        need_format(main, ref)
        for a, b in ((main, ref), (ref, main)):
            refused(run(ff, a, b, "metrics=psnr"), "main is", "reference is", a, b)

    @pytest.mark.parametrize("main,ref", [("64x48", "66x48"), ("64x48", "64x46"), ("64x48", "48x64"), ("64x48", "63x48")])
    def test_sizes(self, ff, main, ref):
        result = run(ff, "yuv420p", "yuv420p", main_size=main, ref_size=ref)
        refused(result, "main is", "reference is", main, ref)

    def test_ranges(self, ff):
        tv, pc = "setparams=range=tv", "setparams=range=pc"
        for fmt in ("yuv420p", "gray", "nv12", "yuv420p10le"):
            for a, b in ((tv, pc), (pc, tv)):
                result = run(ff, fmt, fmt, "metrics=psnr", before_main=a, before_ref=b)
                refused(result, "main", "reference", "range")
                complete(run(ff, fmt, fmt, "metrics=psnr:range=ignore", before_main=a, before_ref=b, check=True), 5,
                         ["psnr_y"] if fmt == "gray" else ["psnr_y", "psnr_cb", "psnr_cr"])
            complete(run(ff, fmt, fmt, "metrics=float_psnr", before_main=pc, before_ref=pc, check=True), 5, ["float_psnr"])

    @pytest.mark.parametrize("full,limited", [("yuvj420p", "yuv420p"), ("yuvj422p", "yuv422p"), ("yuvj444p", "yuv444p")])
    def test_full_range_formats(self, ff, need_format, full, limited):
        need_format(full)
        for a, b in ((full, limited), (limited, full)):
            refused(run(ff, a, b), "main", "reference", "range")
            complete(run(ff, a, b, "metrics=psnr:range=ignore", check=True), 5, ["psnr_y", "psnr_cb", "psnr_cr"])
        complete(run(ff, full, full, "metrics=psnr", check=True), 5, ["psnr_y", "psnr_cb", "psnr_cr"])
        result = run(ff, full, limited, "metrics=psnr", before_ref="setparams=range=pc", check=True)
        complete(result, 5, ["psnr_y", "psnr_cb", "psnr_cr"])

    @pytest.mark.parametrize("tag", ["tv", "pc"])
    def test_one_unknown_range_is_a_warning(self, ff, tag):
        for side in ("before_main", "before_ref"):
            if (tag, side) == ("tv", "before_ref") and ff.version >= (7, 0):
                continue  # from 7.0 on FFmpeg itself takes an untagged main video for tv: nothing is unknown then
            result = run(ff, "yuv420p", "yuv420p", "metrics=psnr", check=True, args=["-loglevel", "level+repeat+verbose"], **{side: f"setparams=range={tag}"})
            warnings = [line for line in result.err.splitlines() if "exactvq" in line and "[warning]" in line]
            assert len(warnings) == 1 and "range" in warnings[0], str(result)
            counts(result, 5)

    def test_no_warning_for_equal_ranges(self, ff):
        for before in ("null", "setparams=range=tv", "setparams=range=pc"):
            result = run(ff, "yuv420p", "yuv420p", "metrics=psnr", check=True, args=["-loglevel", "level+verbose"], before_main=before, before_ref=before)
            assert not [line for line in result.err.splitlines() if "exactvq" in line and "[warning]" in line], str(result)


class TestFormats:
    @pytest.mark.parametrize("fmt", ["rgb24", "bgr0", "rgba", "gbrp", "gbrp10le", "gbrap", "rgb48le", "pal8", "monow", "yuyv422", "uyvy422", "uyyvyy411", "yvyu422",
                                     "yuva420p", "yuva444p10le", "ya8", "ya16le", "grayf32le", "gbrpf32le", "xyz12le", "y210le", "x2rgb10le",
                                     "yuv420p10be", "yuv444p16be", "gray10be", "gray16be", "p010be", "nv20be", "bayer_bggr8", "rgb565le", "v30xle", "vuyx", "xv36le"])
    def test_format_that_cannot_be_scored(self, ff, fmt, need_format):
        need_format(fmt)
        refused(run(ff, fmt, fmt, "metrics=psnr"), "main is", fmt)
        refused(run(ff, fmt, "yuv420p", "metrics=psnr"), "main is", fmt)
        refused(run(ff, "yuv420p", fmt, "metrics=psnr"), "reference is", fmt)

    def test_conversion_before_the_filter_is_the_users(self, ff):
        """What the sentence asks for helps."""
        result = ff.score(blank("rgb24")[0], blank("yuyv422")[0], "metrics=psnr", before_main="trim=end_frame=5,format=yuv422p", before_ref="trim=end_frame=5,format=yuv422p")
        complete(result, 5, ["psnr_y", "psnr_cb", "psnr_cr"])


class TestPsnrHvs:
    @pytest.mark.parametrize("fmt", ["yuv420p16le", "yuv444p16le", "gray16le", "p016le", "yuv420p14le", "gray14le"])
    def test_a11_deep(self, ff, fmt, need_format):
        need_format(fmt)
        refused(run(ff, fmt, fmt), "psnr_hvs")
        run(ff, fmt, fmt, "metrics=psnr", check=True)

    @pytest.mark.parametrize("fmt,size", [("yuv420p", "14x14"), ("yuv420p", "8x8"), ("yuv420p", "64x14"), ("yuv420p", "14x64"), ("yuv420p", "1x1"),
                                          ("yuv444p", "7x8"), ("yuv444p", "8x7"), ("gray", "7x40"), ("gray", "40x7"), ("yuv422p", "14x8"),
                                          ("yuv410p", "28x64"), ("nv12", "14x14")])
    def test_too_small(self, ff, fmt, size):
        refused(run(ff, fmt, fmt, main_size=size, ref_size=size), "psnr_hvs")
        run(ff, fmt, fmt, "metrics=psnr", main_size=size, ref_size=size, check=True)

    @pytest.mark.parametrize("fmt,size,options", [
        ("yuv420p", "16x16", ""), ("yuv420p", "15x15", ""), ("yuv444p", "8x8", ""), ("gray", "8x8", ""), ("yuv422p", "16x8", ""), ("yuv422p", "15x8", ""),
        ("yuv420p", "8x8", ":options=psnr_hvs.enable_chroma=0"), ("yuv410p", "29x29", ""), ("p010le", "16x16", ""),
    ])
    def test_just_large_enough(self, ff, fmt, size, options):
        luma_only = fmt == "gray" or "enable_chroma" in options
        complete(run(ff, fmt, fmt, "metrics=psnr_hvs" + options, main_size=size, ref_size=size, check=True), 5,
                 ["psnr_hvs_y", "psnr_hvs"] if luma_only else HVS)

    def test_labelled(self, ff):
        refused(run(ff, "gray16le", "gray16le", "metrics=psnr+psnr_hvs@deep"), "psnr_hvs")


class TestAdm:
    """Only what depends on the pictures; its options are in test_adm.py."""

    @pytest.mark.parametrize("fmt", ["yuv420p16le", "gray16le", "p016le", "yuv444p14le", "gray9le", "yuv410p", "yuv440p12le"])
    def test_every_depth_and_chroma(self, ff, fmt, need_format):
        need_format(fmt)
        assert "adm2" in run(ff, fmt, fmt, "metrics=adm", check=True).records[0].scores

    def test_too_small_in_company(self, ff):
        """A run that asks for adm has it, or fails."""
        for metrics in ("psnr+adm", "adm+psnr", "psnr+adm@label", "adm+adm@label"):
            refused(run(ff, "yuv420p", "yuv420p", f"metrics={metrics}", main_size="48x16", ref_size="48x16"), "adm", "17x17", "48x16")
        refused(run(ff, "yuv420p", "yuv420p", "metrics=adm", main_size="48x16", ref_size="48x18"), "main is", "reference is", "48x16", "48x18")


class TestBits:
    @pytest.mark.parametrize("main,ref,bits", [
        ("yuv420p", "yuv420p", 10), ("yuv420p10le", "yuv420p10le", 10), ("p010le", "p010le", 10), ("p010le", "yuv420p10le", 12),
        ("gray", "gray", 8), ("yuv420p12le", "yuv420p12le", 12),
    ])
    def test_no_16_bit_container(self, ff, main, ref, bits):
        refused(run(ff, main, ref, f"metrics=psnr:bits={bits}"), "bits")

    @pytest.mark.parametrize("main,ref,bits", [
        ("p016le", "yuv420p10le", 12), ("yuv420p10le", "p016le", 12), ("p016le", "yuv420p12le", 10), ("p016le", "yuv420p", 16), ("p016le", "nv12", 10),
    ])
    def test_depths_still_differ(self, ff, main, ref, bits):
        refused(run(ff, main, ref, f"metrics=psnr:bits={bits}"), "main is", "reference is", main, ref)

    @pytest.mark.parametrize("main,ref,bits", [
        ("p016le", "p016le", 12), ("p016le", "yuv420p12le", 12), ("yuv420p12le", "p016le", 12), ("yuv420p16le", "p016le", 10), ("p016le", "p010le", 10),
        ("yuv420p16le", "yuv420p", 8), ("gray16le", "gray", 8), ("yuv444p16le", "yuv444p9le", 9), ("p016le", "p016le", 16), ("p016le", "p016le", 11),
    ])
    def test_accepted(self, ff, need_format, main, ref, bits):
        need_format(main, ref)
        assert run(ff, main, ref, f"metrics=psnr:bits={bits}", check=True).records[0].scores

    def test_8_bits_of_semi_planar_words(self, ff):
        """The one case that cannot be read in place is refused."""
        refused(run(ff, "p016le", "yuv420p", "metrics=psnr:bits=8"), "bits=8", "p016le")

    def test_psnr_hvs_of_a_16_bit_container(self, ff):
        complete(run(ff, "p016le", "p016le", "metrics=psnr_hvs:bits=12", check=True), 5, HVS)

    def test_empty_low_bits_are_reported(self, ff, rawfile, need_format):
        """12 bits in a 16-bit container without bits=12: scored as 16 bits, with one warning a side."""
        need_format("p016le")
        main, ref = oracle.pictures("420", 12, 32, 32, 3)
        wide = [oracle.Clip("420", 16, 32, 32, [[[v << 4 for v in p] for p in f] for f in c.frames]) for c in (main, ref)]
        result = ff.score(rawfile(wide[0], "p016le"), rawfile(wide[1], "p016le"), "metrics=psnr", args=["-loglevel", "level+repeat+info"])
        warnings = [line for line in result.err.splitlines() if "exactvq" in line and "[warning]" in line]
        assert 1 <= len(warnings) <= 2 and all("bits=12" in w for w in warnings), str(result)
        assert sum("main" in w for w in warnings) <= 1 and sum("reference" in w for w in warnings) <= 1, str(result)


class TestLogPath:
    """An unwritable log is an error before the first frame."""

    @pytest.mark.parametrize("fmt", ["json", "xml", "csv", "sub"])
    def test_no_folder(self, ff, tmp_path, fmt):
        path = tmp_path / "nowhere" / "log.txt"
        refused(run(ff, "yuv420p", "yuv420p", f"log_path={path}:log_fmt={fmt}"), "nowhere", outputs=[path, path.parent])

    def test_a_folder(self, ff, tmp_path):
        (tmp_path / "folder").mkdir()
        refused(run(ff, "yuv420p", "yuv420p", f"log_path={tmp_path / 'folder'}"), "folder")
        assert os.listdir(tmp_path) == ["folder"] and not os.listdir(tmp_path / "folder")

    def test_under_a_file(self, ff, tmp_path):
        (tmp_path / "file").write_text("here")
        refused(run(ff, "yuv420p", "yuv420p", f"log_path={tmp_path / 'file' / 'log.json'}"), "file")
        assert (tmp_path / "file").read_text() == "here"

    def test_other_refusals_leave_no_file(self, ff, tmp_path):
        path = tmp_path / "log.json"
        for fmt, options in (("rgb24", ""), ("yuv420p16le", ":metrics=psnr_hvs"), ("yuv420p", ":metrics=nothing"), ("yuv420p10le", ":bits=12")):
            refused(run(ff, "yuv420p", fmt, f"log_path={path}{options}"))
            assert not os.listdir(tmp_path)

    def test_a_refused_run_keeps_the_old_log(self, ff, tmp_path):
        path = tmp_path / "log.json"
        path.write_text("of yesterday")
        refused(run(ff, "yuv420p", "yuv444p", f"log_path={path}"))
        refused(run(ff, "yuv420p", "yuv420p", f"log_path={path}", before_ref="setpts=PTS+9/TB"))
        assert path.read_text() == "of yesterday" and os.listdir(tmp_path) == ["log.json"]


def test_unreadable_input(ff, tmp_path):
    """Not ours, but the exit status and the silence are."""
    (tmp_path / "broken.mkv").write_bytes(b"nothing")
    result = ff.run("-i", tmp_path / "broken.mkv", *source("color=d=1"), "-lavfi", "[0:v][1:v]exactvq", "-f", "null", "-", check=False)
    assert not result.has_summary


def test_input_that_breaks_off(ff, tmp_path, rawfile):
    """A reference cut within a frame: what is there is scored."""
    main, ref = oracle.pictures("420", 8, 32, 32, 4)
    args = rawfile(ref, "yuv420p")
    cut = tmp_path / "cut.raw"
    cut.write_bytes(open(args[-1], "rb").read()[:-700])
    result = ff.score(rawfile(main, "yuv420p"), raw(cut, "yuv420p", 32, 32), "metrics=psnr", check=None)
    assert not result.has_summary or result.summary.counts["paired"] == 3
