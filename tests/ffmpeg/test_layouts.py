# SPDX-License-Identifier: BSD-2-Clause
"""How samples lie in memory does not change a bit of a score."""

import pytest

import oracle
from harness import same

ALL = "metrics=psnr+float_psnr+psnr_hvs+adm:options=enable_mse=1"
DEEP = "metrics=psnr+float_psnr+adm:options=enable_mse=1"  # above 12 bits

# the first of each family is the planar layout that test_scores.py compares with the oracle
FAMILIES = [
    ["yuv420p", "nv12", "nv21"],
    ["yuv422p", "nv16"],
    ["yuv444p", "nv24", "nv42"],
    ["yuv420p10le", "p010le"],
    ["yuv422p10le", "p210le", "nv20le"],
    ["yuv444p10le", "p410le"],
    ["yuv444p10le", "yuv444p10msble"],
    ["yuv420p12le", "p012le"],
    ["yuv422p12le", "p212le"],
    ["yuv444p12le", "p412le"],
    ["yuv444p12le", "yuv444p12msble"],
    ["yuv420p16le", "p016le"],
    ["yuv422p16le", "p216le"],
    ["yuv444p16le", "p416le"],
]


@pytest.mark.parametrize("size", [(48, 40), (37, 35)], ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f[-1])
def test_layouts_of_equal_samples(ff, rawfile, need_format, family, size):
    need_format(*family)
    chroma, depth = oracle.FORMATS[family[0]][:2]
    main, ref = oracle.pictures(chroma, depth, *size, 2)
    options = ALL if depth <= 12 else DEEP
    runs = [(a, b) for a in family for b in family]
    results = ff.many([lambda a=a, b=b: ff.score(rawfile(main, a), rawfile(ref, b), options) for a, b in runs])
    same(results)
    for n, record in enumerate(results[0].records):
        want = oracle.psnr(main, ref, n, mse=True)
        assert {k: repr(record.value(k)) for k in want} == {k: repr(v) for k, v in want.items()}


@pytest.mark.parametrize("fmt", ["yuv420p", "nv12", "yuv422p", "yuv444p", "gray", "yuv411p", "yuv410p", "yuv440p",
                                 "yuv420p10le", "p010le", "gray10le", "yuv444p16le"])
class TestMemory:
    """Against the same frames copied into buffers of their own."""

    SIZE = 45, 39

    @pytest.fixture
    def pair(self, rawfile, fmt):
        chroma, depth = oracle.FORMATS[fmt][:2]
        main, ref = oracle.pictures(chroma, depth, *self.SIZE, 2)
        return rawfile(main, fmt), rawfile(ref, fmt)

    @pytest.fixture
    def options(self, fmt):
        if "16" in fmt:
            return DEEP
        # the smallest chroma plane is under 8x8 there
        return ALL + "|psnr_hvs.enable_chroma=0" if fmt in ("yuv410p", "yuv411p") else ALL

    def test_padded_rows(self, ff, pair, options):
        """Frames of the raw decoder have rows without padding, copies have aligned ones."""
        same(ff.many([lambda a=a, b=b: ff.score(*pair, options, before_main=a, before_ref=b)
                      for a, b in (("", ""), ("copy", ""), ("", "copy"), ("copy", "copy"))]))

    def test_bottom_up(self, ff, pair, options):
        """vflip turns the line size negative."""
        same(ff.many([lambda a=a, b=b: ff.score(*pair, options, before_main=a, before_ref=b)
                      for a, b in (("vflip,copy", "vflip,copy"), ("vflip", "vflip"), ("vflip,copy", "vflip"), ("vflip", "vflip,copy"))]))

    @pytest.mark.parametrize("crop", ["37:35:1:1", "33:34:3:5", "32:32:13:7"])
    def test_cropped(self, ff, pair, options, crop):
        """crop moves the pointers and leaves the rest of the row behind."""
        c = f"crop={crop}:exact=1"
        same(ff.many([lambda a=a, b=b: ff.score(*pair, options, before_main=a, before_ref=b)
                      for a, b in ((c + ",copy", c + ",copy"), (c, c), (c, c + ",copy"), (c + ",copy", c))]))

    def test_cropped_bottom_up(self, ff, pair, options):
        c = "vflip,crop=33:25:5:3:exact=1"
        same(ff.many([lambda a=a, b=b: ff.score(*pair, options, before_main=a, before_ref=b)
                      for a, b in ((c + ",copy", c + ",copy"), (c, c), (c, c + ",copy"), (c + ",copy", c))]))


def test_bits_of_a_16_bit_container(ff, rawfile, need_format):
    """bits=N scores the top N bits, of either input or both; decoders before FFmpeg 9.0 deliver 12 bits as p016."""
    need_format("p016le", "yuv420p12le", "yuv444p16le")
    for depth, planar, chroma, container in ((12, "yuv420p12le", "420", "p016le"), (10, "yuv420p10le", "420", "p016le"),
                                             (12, "yuv444p12le", "444", "yuv444p16le"), (10, "gray10le", "400", "gray16le")):
        main, ref = oracle.pictures(chroma, depth, 40, 40, 2)
        wide = [oracle.Clip(chroma, 16, 40, 40, [[[v << (16 - depth) for v in p] for p in f] for f in c.frames]) for c in (main, ref)]
        plain = ff.score(rawfile(main, planar), rawfile(ref, planar), ALL)
        assert plain.records[0].scores
        options = f"{ALL}:bits={depth}"
        same([plain] + ff.many([
            lambda: ff.score(rawfile(wide[0], container), rawfile(wide[1], container), options),
            lambda: ff.score(rawfile(wide[0], container), rawfile(ref, planar), options),
            lambda: ff.score(rawfile(main, planar), rawfile(wide[1], container), options),
        ]))


def test_bits_drops_the_low_bits(ff, rawfile):
    """What is below the top N bits does not count."""
    main, ref = oracle.pictures("400", 10, 40, 40, 1)
    plain = ff.score(rawfile(main, "gray10le"), rawfile(ref, "gray10le"), ALL)
    noisy = [oracle.Clip("400", 16, 40, 40, [[[(v << 6) + (i * 37 + k) % 64 for i, v in enumerate(p)] for p in f] for f in c.frames])
             for k, c in enumerate((main, ref))]
    same([plain, ff.score(rawfile(noisy[0], "gray16le"), rawfile(noisy[1], "gray16le"), ALL + ":bits=10")])
    full = ff.score(rawfile(noisy[0], "gray16le"), rawfile(noisy[1], "gray16le"), DEEP + ":bits=16")
    zero = ff.score(rawfile(noisy[0], "gray16le"), rawfile(noisy[1], "gray16le"), DEEP + ":bits=0")
    same([full, zero])


def test_no_conversion_filter_is_needed(ff, rawfile):
    """Mixed layouts with FFmpeg's automatic conversions forbidden."""
    main, ref = oracle.pictures("420", 8, 32, 32, 1)
    results = ff.many([lambda a=a, b=b: ff.score(rawfile(main, a), rawfile(ref, b), ALL, args=["-noauto_conversion_filters"])
                       for a, b in (("yuv420p", "yuv420p"), ("nv12", "yuv420p"), ("yuv420p", "nv21"))])
    same(results)
