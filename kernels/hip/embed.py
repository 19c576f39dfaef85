#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the sources that carry the kernels' code as data.

    embed.py ASSEMBLY SOURCE FILE...

FILE is a code object named after its architecture: kernels.gfx90a.co.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gpu"))
import images_as_data  # noqa: E402

AMD_GPU = 224  # e_machine of an ELF file


def main():
    images = []
    for path in map(pathlib.Path, sys.argv[3:]):
        name = re.fullmatch(r"kernels\.(gfx[0-9a-f]+|gfx[0-9-]+-generic)\.co", path.name)
        head = path.read_bytes()[:20]
        if not name or head[:4] != b"\x7fELF" or int.from_bytes(head[18:20], "little") != AMD_GPU:
            raise SystemExit(f"embed.py: {path} is not a code object for an AMD GPU")
        images.append((path, f"\"{name[1]}\""))
    images_as_data.write(sys.argv[1], sys.argv[2], "hip", images)


main()
