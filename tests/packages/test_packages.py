# SPDX-License-Identifier: BSD-2-Clause
"""What is in the library's Debian packages (EXACTVQ_PACKAGES, built by scripts/make-packages --only-library) and that a C program can use them. Nothing is installed: the packages
are unpacked into a folder, which is also what tells whether libexactvq.pc can be moved."""

import os
import pathlib
import re
import subprocess

import pytest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = pathlib.Path(os.environ["EXACTVQ_PACKAGES"])
TRIPLET = subprocess.run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"], capture_output=True, text=True, check=True).stdout.strip()
VERSION = re.search(r"^    version: '(.*)',$", (PROJECT / "meson.build").read_text(), re.M)[1]
NAMES = ["exactvq-tools", "libexactvq-dev", "libexactvq0"]


def run(*command, **environment):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def package(name):
    (path,) = PACKAGES.glob(f"{name}_*.deb")
    return path


def field(name, key):
    return run("dpkg-deb", "--field", package(name), key).strip()


def files(name):
    lines = run("dpkg-deb", "--contents", package(name)).splitlines()
    return sorted(line.split(" -> ")[0].split()[-1].removeprefix("./") for line in lines if not line.endswith("/"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The packages in a folder that they were not built for, moved once more."""
    folder = tmp_path_factory.mktemp("packages")
    for name in NAMES:
        run("dpkg-deb", "-x", package(name), folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


@pytest.fixture(scope="module")
def pkg_config(unpacked):
    def call(*arguments):
        # No other folder is searched: what the description needs, the packages must have.
        return run("pkg-config", *arguments, "libexactvq", PKG_CONFIG_LIBDIR=str(unpacked / f"usr/lib/{TRIPLET}/pkgconfig")).split()

    return call


def test_files():
    documents = {name: {f"usr/share/doc/{name}/changelog.Debian.gz", f"usr/share/doc/{name}/changelog.gz", f"usr/share/doc/{name}/copyright"} for name in NAMES}
    assert set(files("libexactvq0")) - documents["libexactvq0"] == {
        f"usr/lib/{TRIPLET}/libexactvq.so.0", f"usr/lib/{TRIPLET}/libexactvq.so.{VERSION}", "usr/share/doc/libexactvq0/NOTICE.md"}
    assert set(files("libexactvq-dev")) - documents["libexactvq-dev"] == {
        "usr/include/exactvq/exactvq.h", f"usr/lib/{TRIPLET}/libexactvq.so", f"usr/lib/{TRIPLET}/pkgconfig/libexactvq.pc"}
    assert set(files("exactvq-tools")) - documents["exactvq-tools"] == {"usr/bin/exactvq-fetch-models", "usr/share/man/man1/exactvq-fetch-models.1.gz"}
    for name in NAMES:
        assert documents[name] <= set(files(name)), name


def test_dependencies(unpacked):
    """Nothing of a GPU's vendor, in the package's fields or in the library."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", unpacked / f"usr/lib/{TRIPLET}/libexactvq.so.0"))
    assert set(needed) <= {"libhwy.so.1", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}, needed
    depends = {re.split(r"[ :]", entry.strip())[0] for entry in field("libexactvq0", "Depends").split(",")}
    assert depends == {"libc6", "libgcc-s1", "libhwy1", "libstdc++6"}
    assert field("libexactvq-dev", "Depends") == f"libexactvq0 (= {field('libexactvq0', 'Version')})"


def test_gpu_code_is_in_the_library(unpacked):
    """The backends are there, and say that this machine has no driver (or device), not that they were not built."""
    library = (unpacked / f"usr/lib/{TRIPLET}/libexactvq.so.0").read_bytes()
    assert b"libcuda.so.1" in library and b"libamdhip64.so" in library
    assert b".target sm_70" in library, "no PTX"
    assert b"amdgcn-amd-amdhsa" in library, "no code for AMD GPUs"


def test_version():
    assert re.fullmatch(rf"{re.escape(VERSION)}(~git[0-9]+\.[0-9a-f]+(\.modified)?)?-1", field("libexactvq0", "Version"))


def test_pkg_config_follows_the_move(unpacked, pkg_config):
    assert pkg_config("--modversion") == [VERSION]
    (include,) = [flag[2:] for flag in pkg_config("--cflags") if flag.startswith("-I")]
    (folder,) = [flag[2:] for flag in pkg_config("--libs") if flag.startswith("-L")]
    assert pathlib.Path(include).resolve() == unpacked / "usr/include"
    assert pathlib.Path(folder).resolve() == unpacked / f"usr/lib/{TRIPLET}"
    assert "-lexactvq" in pkg_config("--libs")


def test_c_program(unpacked, pkg_config, tmp_path):
    """Compiles as C99 against the packages, runs, and gets the score that two planes with a difference of one have."""
    program = tmp_path / "program"
    run("gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", PROJECT / "tests/packages/program.c", "-o", program, *pkg_config("--cflags", "--libs"))
    out = run(program, LD_LIBRARY_PATH=str(unpacked / f"usr/lib/{TRIPLET}"))
    assert out.split() == [VERSION, "psnr_y=48.1308036086791", "mse_y=1"]


def manual(page):
    """What man shows and what it warns of."""
    done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_manual_of_the_tools(unpacked):
    shown, warnings = manual(unpacked / "usr/share/man/man1/exactvq-fetch-models.1.gz")
    assert "EXACTVQ_MODEL_PATH" in shown and warnings == ""


def test_manual_of_the_filter(tmp_path):
    page = tmp_path / "exactvq.7"
    run(PROJECT / "scripts/make-manual", PROJECT / "build/source/ffmpeg-7.1", page)
    shown, warnings = manual(page)
    assert warnings == ""
    for word in ("SYNOPSIS", "metrics", "Examples", "-lavfi", "EXACTVQ_MODEL_PATH", "ffprobe-exactvq(1)"):
        assert word in shown, word
    assert VERSION in shown.splitlines()[-1]


def test_tools_say_how_to_be_called(unpacked):
    done = subprocess.run([unpacked / "usr/bin/exactvq-fetch-models"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: exactvq-fetch-models DIR\n")


def test_lintian():
    """Nothing but that the maintainer is nobody (who publishes packages says who it is: DEBEMAIL), and that no bug of Debian's asks for the package."""
    expected = "bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs"
    run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", expected, *[package(name) for name in NAMES])
