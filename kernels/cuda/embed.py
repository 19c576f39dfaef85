#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the sources that carry the kernels' code as data: an assembler file with the bytes and a C++ file with the list (images.h).

    embed.py ASSEMBLY SOURCE [--fatbin FILE CUDA ARCHITECTURES] [--ptx FILE]

CUDA is the toolkit's version ("13.0"), ARCHITECTURES the fat binary's machine code ("sm_75,sm_80"); it also has PTX of the first of them.
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gpu"))
import images_as_data  # noqa: E402

# Version of CUDA whose driver first takes a version of PTX, where it is not (major + 4).minor.
FIRST_CUDA = {"6.0": "9.0", "6.1": "9.1", "6.2": "9.2", "6.3": "10.0", "6.4": "10.1", "6.5": "10.2"}


def number(version):
    major, minor = version.split(".")[:2]
    return 1000 * int(major) + 10 * int(minor)


def capability(architecture):
    found = re.fullmatch(r"sm_(\d+)", architecture)
    if not found:
        raise SystemExit(f"embed.py: '{architecture}' is not an architecture such as sm_75")
    return int(found[1])


def fatbin(path, cuda, architectures):
    names = sorted(architectures.split(","), key=capability)
    listed = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    return path, number(cuda), capability(names[0]), f"machine code for {listed}, PTX for {names[0]} and later"


def ptx(path):
    text = pathlib.Path(path).read_text()
    version, target = re.search(r"^\.version (\d+\.\d+)$", text, re.M), re.search(r"^\.target (sm_\d+)", text, re.M)
    if not version or not target:
        raise SystemExit(f"embed.py: {path} is not PTX")
    major, minor = version[1].split(".")
    return path, number(FIRST_CUDA.get(version[1], f"{int(major) + 4}.{minor}")), capability(target[1]), f"PTX for {target[1]} and later"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assembly")
    parser.add_argument("source")
    parser.add_argument("--fatbin", nargs=3)
    parser.add_argument("--ptx")
    arguments = parser.parse_args()
    images = ([fatbin(*arguments.fatbin)] if arguments.fatbin else []) + ([ptx(arguments.ptx)] if arguments.ptx else [])
    if not images:
        parser.error("there is no code to embed")

    images_as_data.write(arguments.assembly, arguments.source, "cuda", [(path, f"{cuda}, {lowest}, \"{code}\"") for path, cuda, lowest, code in images])


main()
