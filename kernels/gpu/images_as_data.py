# SPDX-License-Identifier: BSD-2-Clause
"""Files as data of the library: an assembler file with their bytes and a C++ file with the list of images that kernels/<backend>/images.h declares."""

import pathlib


def write(assembly, source, backend, images):
    """images: (path, text of the members of Image after data and size), in order."""
    code = "    .section .rodata\n"
    declarations = entries = ""
    for i, (path, members) in enumerate(images):
        path = pathlib.Path(path).resolve()
        name = f"exactvq_{backend}_image_{i}"
        # The zero at the end closes text.
        code += (f"    .balign 4096\n    .globl {name}\n    .hidden {name}\n    .type {name}, %object\n{name}:\n"
                 f"    .incbin \"{path}\"\n    .byte 0\n    .size {name}, . - {name}\n")
        declarations += f"extern \"C\" __attribute__((visibility(\"hidden\"))) const char {name}[];\n"
        entries += f"    {{{name}, {path.stat().st_size}, {members}}},\n"
    code += "    .section .note.GNU-stack, \"\", %progbits\n"
    pathlib.Path(assembly).write_text(code)
    pathlib.Path(source).write_text(
        f"#include \"kernels/{backend}/images.h\"\n\n{declarations}\nnamespace exactvq::{backend} {{\n\n"
        f"static const Image kImages[] = {{\n{entries}}};\n\nstd::span<const Image> images() {{ return kImages; }}\n\n}}  // namespace exactvq::{backend}\n")
