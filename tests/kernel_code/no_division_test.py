#!/usr/bin/env python3
"""Kernels for GPUs divide integers by multiplication (core/cuda/fast_divide_inline.h): a GPU has no
instruction that divides, and a division of 64 bits takes about 100. Compiles kernels to PTX and
counts div and rem of integers. Needs nvcc, no GPU.

    no_division_test.py [--nvcc=PATH] [ROOT]"""

import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

NONE = [
    "comm/nccl/add_kernels.cu",
    "comm/sparse/cuda/chunk_kernels.cu",
    "core/cuda/convert_kernels.cu",
    "layers/cuda/average_pooling_kernels.cu",
    "layers/cuda/concat_kernels.cu",
    "layers/cuda/dropout_kernels.cu",
    "layers/cuda/eltwise_kernels.cu",
    "layers/cuda/input_kernels.cu",
    "layers/cuda/lrn_kernels.cu",
    "layers/cuda/max_pooling_kernels.cu",
    "layers/cuda/relu_kernels.cu",
    "layers/cuda/scale_kernels.cu",
    "solvers/cuda/pool_kernels.cu",
    "solvers/cuda/update_kernels.cu",
]

# File -> [(pattern of a kernel's mangled name, divisions allowed)]: the first that fits counts.
SOME = {
    # Where a prediction lies, once per block, and only where predictions have places.
    "layers/cuda/softmax_kernels.cu": [
        (r"LossBackward|SumLosses|SharesKernel", 0),
        (r".", 4),
    ],
}

ENTRY = re.compile(r"\.entry\s+([\w$]+)")
DIVISION = re.compile(r"^\s*(?:@!?%p\d+\s+)?(?:div|rem)\.[su](?:16|32|64)\b")


def divisions(ptx):
    """Kernel's name -> integer divisions in its code."""
    counts = collections.Counter()
    kernel = None
    for line in ptx.splitlines():
        entry = ENTRY.search(line)
        if entry:
            kernel = entry.group(1)
            counts[kernel] = 0
        elif DIVISION.match(line):
            counts[kernel] += 1
    return counts


def compile_ptx(nvcc, root, source, folder):
    ptx = os.path.join(folder, source.replace("/", "_") + ".ptx")
    subprocess.run([nvcc, "-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-arch=sm_90",
                    "-I", root, "-ptx", os.path.join(root, source), "-o", ptx], check=True)
    with open(ptx, encoding="utf-8") as file:
        return file.read()


def check_counting():
    """The counts of a known text."""
    text = """.visible .entry one(
        div.s64 %rd1, %rd2, %rd3;
        @%p1 rem.u32 %r1, %r2, 7;
        div.rn.f32 %f1, %f2, %f3;
        .visible .entry two(
        mul.hi.u32 %r1, %r2, %r3;"""
    found = divisions(text)
    if dict(found) != {"one": 2, "two": 0}:
        sys.exit(f"miscounted: {dict(found)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("root", nargs="?", default=".")
    args = parser.parse_args()
    check_counting()
    if not os.path.exists(args.nvcc):
        print("NOT TESTED: there is no nvcc")
        return
    sources = NONE + list(SOME)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(lambda s: compile_ptx(args.nvcc, args.root, s, folder), sources))
    bad = 0
    for source, text in zip(sources, texts):
        counts = divisions(text)
        if not counts:
            sys.exit(f"{source}: no kernels")
        for kernel, count in counts.items():
            rules = SOME.get(source, [(r".", 0)])
            allowed = next(n for pattern, n in rules if re.search(pattern, kernel))
            if count > allowed:
                print(f"{source}: {kernel}: {count} integer divisions, allowed are {allowed}")
                bad += 1
        print(f"{source}: {len(counts)} kernels, {sum(counts.values())} integer divisions")
    if bad:
        sys.exit(f"{bad} kernels divide integers")


if __name__ == "__main__":
    main()
