# SPDX-License-Identifier: BSD-2-Clause
"""A sample of the sizes from 1x1 to 40x40; the whole square is swept below the filter, in the library's own tests."""

import random

import pytest

import oracle
from harness import refused

EDGES = (1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 31, 33, 40)


def noise(chroma, depth, width, height, frames, seed):
    """Uniform noise against a near copy."""
    rng = random.Random(f"{seed} {chroma} {depth} {width} {height}")
    top = (1 << depth) - 1
    ref = [[[rng.randint(0, top) for _ in range(w * h)] for w, h in oracle.plane_sizes(chroma, width, height)] for _ in range(frames)]
    main = [[[min(top, max(0, v + rng.choice((-9, -1, 0, 0, 1, 4)))) for v in p] for p in f] for f in ref]
    return oracle.Clip(chroma, depth, width, height, main), oracle.Clip(chroma, depth, width, height, ref)


def check(ff, rawfile, fmt, width, height, hvs):
    chroma, depth = oracle.FORMATS[fmt][:2]
    main, ref = noise(chroma, depth, width, height, 1, 1)
    metrics = "psnr+float_psnr" + ("+psnr_hvs" if hvs else "")
    result = ff.score(rawfile(main, fmt), rawfile(ref, fmt), f"metrics={metrics}:options=enable_mse=1:threads=2")
    want = {**oracle.psnr(main, ref, 0, mse=True), "float_psnr": oracle.float_psnr(main, ref, 0)}
    if hvs:
        want.update(oracle.psnr_hvs(main, ref, 0, chroma=chroma != "400"))
    got = {k: repr(float(v)) for k, v in result.records[0].scores.items()}
    assert got == {k: repr(v) for k, v in want.items()}, f"{width}x{height} {fmt}\n{result}"


def allowed(fmt, width, height):
    chroma, depth = oracle.FORMATS[fmt][:2]
    return depth <= 12 and all(min(size) >= 8 for size in oracle.plane_sizes(chroma, width, height))


def sweep(ff, rawfile, fmt, sizes):
    ff.many([lambda w=w, h=h: check(ff, rawfile, fmt, w, h, allowed(fmt, w, h)) for w, h in sizes])


@pytest.mark.parametrize("height", EDGES)
def test_edges(ff, rawfile, height):
    sweep(ff, rawfile, "yuv420p", [(w, height) for w in EDGES])


@pytest.mark.parametrize("fmt", ["gray", "yuv444p", "yuv422p10le", "nv12", "yuv420p12le", "gray16le"])
def test_sample(ff, rawfile, fmt):
    rng = random.Random(fmt)
    sweep(ff, rawfile, fmt, [(rng.randint(1, 40), rng.randint(1, 40)) for _ in range(8)])


@pytest.mark.parametrize("fmt,width,height", [("yuv420p", 962, 10), ("yuv420p", 10, 962), ("gray", 2051, 3), ("gray", 3, 2051), ("yuv444p", 352, 9), ("gray", 1, 4096),
                                              ("gray", 4096, 1)])
def test_long_sides(ff, rawfile, fmt, width, height):
    sweep(ff, rawfile, fmt, [(width, height)])


def test_refused_sizes_say_why(ff, rawfile):
    main, ref = noise("420", 8, 14, 40, 1, 1)
    refused(ff.score(rawfile(main, "yuv420p"), rawfile(ref, "yuv420p"), check=False), "psnr_hvs", "8")
