#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the machine code for AMD GPUs: every operation in binary32 and binary64 is rounded once, to nearest, with denormals, as written in the source.

    check_isa.py OBJDUMP READELF KERNEL_LIST FILE...

FILE is a code object with all kernels of KERNEL_LIST (kernels/gpu/kernel_list.h). Fused multiply-adds and approximations are counted: each kernel has exactly those that
belong to its divisions (LLVM's sequence from v_div_scale_f32 to v_div_fixup_f32, which rounds correctly), to its square roots and quotients in binary64
(kernels/common/amd_root.h and amd_quotient.h, which are tested with bad approximations) and to divisions of integers. So one that anything else made is noticed. The mode must
round to nearest and keep denormals. Registers that spill are named.
"""

import collections
import pathlib
import re
import struct
import subprocess
import sys

# What a sequence has of each: by the instruction that it has once.
SEQUENCES = {
    "div_fixup_f32": {"fma_f32": 5, "rcp_f32": 1, "div_fmas_f32": 1, "div_scale_f32": 2},
    "sqrt_f32": {"fma_f32": 2},            # repaired_root()
    "rsq_f64": {"fma_f64": 9},             # amd_root() of a double
    "rcp_f64": {"fma_f64": 7},             # amd_quotient()
    "rcp_iflag_f32": {},                   # division of 32-bit integers: no other floating-point instruction that rounds
}
COUNTED = {"fma_f32", "fma_f64", "rcp_f32", "div_fmas_f32", "div_scale_f32"}
ROUND_TO_NEAREST_KEEP_DENORMALS = 0b11110000  # binary32 and 64: 0 rounds to nearest, 3 keeps denormals of operands and results
# Of binary32 and binary64, and for binary16 and mixed operands, which no kernel has.
PLAIN_FUSED = re.compile(r"^(fma|fmac|fmaak|fmamk)_(f32|f64)$")
OTHER_FUSED = re.compile(r"^(pk_)?(fma|fmac|fmaak|fmamk|mad|mac|madak|madmk)(_mix|_mixlo|_mixhi|_legacy)?_(f16|f32|f64|bf16)$|^dot\d\w*_b?f(16|32)")
APPROXIMATE = re.compile(r"^(rcp|rsq|sqrt|log|exp|sin|cos)(_legacy|_clamp)?_(f16|f32|f64)$|^div_(scale|fmas|fixup)_(f16|f64)$")


def operations(text):
    """{kernel: Counter of operations}; dual instructions count as two; fused ones of binary32 and binary64 go by the names fma_f32 and fma_f64."""
    kernels, counts = {}, None
    for line in text.splitlines():
        entry = re.match(r"^(?:[0-9a-f]+ )?<(\w+)>:", line)
        if entry:
            counts = kernels.setdefault(entry[1], collections.Counter())
            continue
        if counts is None or not line[:1].isspace():
            continue
        for part in line.split("//")[0].split("::"):
            name = re.match(r"\s*(?:v|s)_(?:dual_)?([a-z0-9_]+?)(?:_e32|_e64|_dpp|_sdwa)?\s", part + " ")
            if not name:
                continue
            fused = PLAIN_FUSED.match(name[1])
            operation = f"fma_{fused[2]}" if fused else name[1]
            counts[operation] += 1
    return kernels


def wrong(counts):
    """Sentences about one kernel."""
    found = []
    allowed = collections.Counter()
    for anchor, parts in SEQUENCES.items():
        for part, number in parts.items():
            allowed[part] += number * counts[anchor]
    for name in sorted(COUNTED):
        if counts[name] != allowed[name]:
            found.append(f"{counts[name]} {name} where its divisions and roots have {allowed[name]}")
    for name, number in sorted(counts.items()):
        if name in COUNTED or name in SEQUENCES:
            continue
        if OTHER_FUSED.match(name) or APPROXIMATE.match(name):
            found.append(f"{number} {name}")
    return found


def resources(notes):
    """{kernel: {key: number}} of the metadata."""
    kernels = {}
    for block in re.split(r"\n  - (?=\.a)", notes):
        symbol = re.search(r"\.symbol:\s+'?([^\s']+)\.kd", block)
        if symbol:
            kernels[symbol[1]] = {key: int(value) for key, value in re.findall(r"\.(\w+):\s+(\d+)", block)}
    return kernels


def modes(elf):
    """{kernel: floating-point mode} of the kernel descriptors of a code object, from compute_pgm_rsrc1."""
    sections = []
    offset, size, count = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HH", elf, 58)
    for i in range(count):
        _, kind, _, address, begin, length, link = struct.unpack_from("<IIQQQQI", elf, offset + i * size)
        sections.append((kind, address, begin, length, link))
    kernels = {}
    for kind, _, begin, length, link in sections:
        if kind != 11:  # dynamic symbols
            continue
        names = sections[link][2]
        for at in range(begin, begin + length, 24):
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
            text = elf[names + name:elf.index(b"\0", names + name)].decode()
            if text.endswith(".kd"):
                _, address, place, _, _ = sections[section]
                kernels[text[:-3]] = struct.unpack_from("<I", elf, place + value - address + 48)[0] >> 12 & 0xff
    return kernels


def self_test():
    """What must be found is found, and nothing else."""
    division = ["v_div_scale_f32 v1, s[0:1], v2, v3, v4", "v_div_scale_f32 v1, vcc, v2, v3, v4", "v_rcp_f32_e32 v1, v2", "v_fma_f32 v1, -v2, v3, 1.0", "v_fmac_f32_e32 v1, v2, v3",
                "v_fma_f32 v1, v2, v3, v4", "v_fmac_f32_e32 v1, v2, v3", "v_fma_f32 v1, v2, v3, v4", "v_div_fmas_f32 v1, v2, v3, v4", "v_div_fixup_f32 v1, v2, v3, v4"]
    root = ["v_sqrt_f32_e32 v1, v2", "v_fma_f32 v1, v2, v3, v4", "v_fma_f32 v1, v2, v3, v4"]
    plain = ["v_mul_f32_e32 v1, v2, v3", "v_dual_add_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5", "v_mad_u32_u24 v1, v2, v3, v4", "v_mad_u64_u32 v[0:1], s[0:1], v2, v3, v[4:5]", "s_mul_i32 s0, s1, s2",
             "v_rcp_iflag_f32_e32 v1, v2", "v_add_f64 v[0:1], v[2:3], v[4:5]", "v_dot4_u32_u8 v1, v2, v3, v4"]
    quotient = ["v_rcp_f64_e32 v[0:1], v[2:3]"] + ["v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]"] * 6 + ["v_fmac_f64_e32 v[0:1], v[2:3], v[4:5]"]
    good = [plain, division, division + root, division * 3 + root * 2, quotient * 2 + plain]
    bad = [["v_fma_f32 v1, v2, v3, v4"], division + ["v_fmac_f32_e32 v1, v2, v3"], ["v_dual_fmac_f32 v1, v2, v3 :: v_dual_mov_b32 v4, v5"], ["v_mac_f32_e32 v1, v2, v3"], ["v_mad_f32 v1, v2, v3, v4"],
           ["v_rcp_f32_e32 v1, v2"], ["v_sqrt_f32_e32 v1, v2"], ["v_rsq_f32_e32 v1, v2"], ["v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]"], ["v_rcp_f64_e32 v[0:1], v[2:3]"], ["v_sqrt_f64_e32 v[0:1], v[2:3]"],
           ["v_div_fixup_f64 v[0:1], v[2:3], v[4:5], v[6:7]"], ["v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]"], ["v_fmamk_f32 v1, v2, 0x3f, v3"], ["v_exp_f32_e32 v1, v2"], ["v_fma_mix_f32 v1, v2, v3, v4"],
           division[:-1], root[:-1], quotient[:-1], quotient[1:], quotient + ["v_fmac_f64_e32 v[0:1], v[2:3], v[4:5]"]]
    text = lambda lines: "<kernel>:\n" + "".join(f"\t{line}\n" for line in lines)
    return [f"found in {lines}: {wrong(operations(text(lines))['kernel'])}" for lines in good if wrong(operations(text(lines))["kernel"])] + \
           [f"not found: {lines}" for lines in bad if not wrong(operations(text(lines))["kernel"])]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    objdump, readelf, kernel_list, *files = sys.argv[1:]
    kernels = [f"exactvq_{name}" for name in re.findall(r"\bX\((\w+)\)", pathlib.Path(kernel_list).read_text())]
    failures = self_test()
    if not kernels or not files:
        failures.append("there is nothing to check")
    for path in files:
        counts = operations(run(objdump, "-d", "--no-show-raw-insn", "--no-leading-addr", path))
        metadata, mode = resources(run(readelf, "--notes", path)), modes(pathlib.Path(path).read_bytes())
        for kernel in kernels:
            if kernel not in counts or sum(counts[kernel].values()) < 20:
                failures.append(f"{path}: no kernel {kernel}")
                continue
            sentences = wrong(counts[kernel])
            spills = metadata.get(kernel, {}).get("vgpr_spill_count", -1) + metadata.get(kernel, {}).get("sgpr_spill_count", -1)
            if spills:  # costs time, not bits
                print(f"{path}: {kernel}: {spills} registers spill")
            if mode.get(kernel) != ROUND_TO_NEAREST_KEEP_DENORMALS:
                sentences.append(f"its floating-point mode is {mode.get(kernel)}, not {ROUND_TO_NEAREST_KEEP_DENORMALS}")
            failures += [f"{path}: {kernel}: {sentence}" for sentence in sentences]
    print("\n".join(failures[:60]) or f"{len(files)} files, {len(kernels)} kernels: every operation is rounded as written")
    return 1 if failures else 0


sys.exit(main())
