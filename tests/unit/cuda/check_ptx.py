#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the arithmetic of PTX: every operation in binary32 and binary64 is rounded once, to nearest, with denormals, as written in the source.

    check_ptx.py KERNEL_LIST FILE...

KERNEL_LIST is kernels/gpu/kernel_list.h: each FILE has all of its entry points. A fused multiply-add is allowed in inline assembly only, where
somebody wrote it.
"""

import pathlib
import re
import sys

INLINE_BEGIN, INLINE_END = "// begin inline asm", "// end inline asm"
FLOAT = re.compile(r"\.(f16|f16x2|bf16|bf16x2|f32|f64)$")


def wrong(opcode, inline):
    """Says what is wrong with an instruction, or None."""
    name, *modifiers = opcode.split(".")
    if "ftz" in modifiers:
        return "flushes denormals"
    if "approx" in modifiers or "full" in modifiers:
        return "is not rounded correctly"
    if not FLOAT.search(opcode):
        return None
    if name in ("fma", "mad") and not inline:
        return "is contracted"
    # Without .rn the driver's compiler may contract, or round otherwise.
    if name in ("add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp") and "rn" not in modifiers:
        return "has no rounding to nearest"
    if name in ("sin", "cos", "ex2", "lg2", "tanh", "rsqrt"):
        return "is not rounded correctly"
    return None


def check(text, kernels=()):
    """Returns sentences."""
    found, inline = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if INLINE_BEGIN in line or INLINE_END in line:
            inline = INLINE_BEGIN in line
            continue
        code = line.split("//")[0]
        for statement in code.split(";"):
            match = re.match(r"\s*\{?\s*(?:@!?%\w+\s+)?([a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+)\s", statement + " ")
            reason = match and wrong(match[1], inline)
            if reason:
                found.append(f"line {number}: {match[1]} {reason}")
    for kernel in kernels:
        if f".entry exactvq_{kernel}(" not in text:
            found.append(f"no entry point exactvq_{kernel}")
    return found


def self_test():
    """What must be found is found, and nothing else."""
    good = ["mul.rn.f32 %f1, %f2, %f3;", "add.rn.f64 %fd1, %fd2, %fd3;", "div.rn.f32 %f1, %f2, %f3;", "sqrt.rn.f64 %fd1, %fd2;", "fma.lo.s32 %r1;",
            "mad.lo.s32 %r1, %r2, %r3, %r4;", "cvt.rzi.u32.f32 %r1, %f1;", "mul.wide.u32 %rd1, %r1, %r2;", "setp.lt.f32 %p1, %f1, %f2;",
            "mov.f32 %f1, %f2; // fma.rn.f32", f"{INLINE_BEGIN}\nfma.rn.f32 %f1, %f2, %f3, %f4;\n{INLINE_END}", "neg.f32 %f1, %f2;", "abs.f64 %fd1, %fd2;",
            ".reg .f32 %f<3>;", "st.global.f32 [%rd1], %f1;"]
    bad = ["fma.rn.f32 %f1, %f2, %f3, %f4;", "\t@%p1 fma.rn.f64 %fd1, %fd2, %fd3, %fd4;", "mul.f32 %f1, %f2, %f3;", "add.ftz.f32 %f1;", "mul.rn.ftz.f32 %f1;",
           "div.approx.f32 %f1;", "div.full.f32 %f1;", "sqrt.approx.ftz.f32 %f1;", "rsqrt.approx.f64 %fd1;", "mad.rn.f32 %f1;", "sub.f64 %fd1;",
           "add.rz.f32 %f1;", "{ ex2.approx.f32 %f1, %f2; }", "cvt.ftz.f64.f32 %fd1, %f1;", "mov.b32 %r1, %r2; fma.rn.f32 %f1;",
           f"{INLINE_BEGIN}\nmul.f32 %f1;\n{INLINE_END}", f"{INLINE_BEGIN}\n{INLINE_END}\nfma.rn.f32 %f1;"]
    return [f"found in '{line}': {check(line)}" for line in good if check(line)] + [f"not found: '{line}'" for line in bad if len(check(line)) != 1]


def main():
    kernels = re.findall(r"\bX\((\w+)\)", pathlib.Path(sys.argv[1]).read_text())
    failures = self_test()
    if not kernels:
        failures.append(f"{sys.argv[1]} lists no kernels")
    for path in sys.argv[2:]:
        failures += [f"{path}: {sentence}" for sentence in check(pathlib.Path(path).read_text(), kernels)]
    print("\n".join(failures[:50]) or f"{len(sys.argv) - 2} files, {len(kernels)} kernels: every operation is rounded as written")
    return 1 if failures else 0


sys.exit(main())
