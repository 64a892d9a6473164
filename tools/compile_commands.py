#!/usr/bin/env python3
"""Writes compile_commands.json for clangd from what Bazel would run (no network, no build).

Usage: tools/compile_commands.py [bazel build flags, e.g. --config=cuda]
BAZEL_STARTUP may hold startup flags (--output_user_root=...).
"""
import json
import os
import shlex
import subprocess
import sys

bazel = ["bazel"] + shlex.split(os.environ.get("BAZEL_STARTUP", ""))
root = subprocess.check_output(bazel + ["info", "workspace"], text=True).strip()
base = subprocess.check_output(bazel + ["info", "output_base"], text=True).strip()
flags = sys.argv[1:]
query = 'mnemonic("CppCompile|CudaCompile", //...)'
graph = json.loads(subprocess.check_output(
    bazel + ["aquery", query, "--output=jsonproto"] + flags, cwd=root))


def absolute(arg):
    """external/ and bazel-out/ exist in Bazel's execution root only."""
    for prefix in ("", "-I", "-isystem", "-iquote"):
        for top in ("external/", "bazel-out/"):
            if arg.startswith(prefix + top):
                at = base if top == "external/" else base + "/execroot/gradientflow"
                return prefix + at + "/" + arg[len(prefix):]
    return arg


entries = {}
for action in graph.get("actions", []):
    args = action["arguments"]
    source = args[args.index("-c") + 1]
    if source.startswith(("external/", "bazel-out/")):
        continue
    args = [absolute(a) for a in args if a != "-fno-canonical-system-headers"]
    if source.endswith(".cu"):
        # clangd parses CUDA with clang: keep what clang understands.
        keep, i = [], 1
        while i < len(args):
            if args[i] in ("-ccbin", "-Xcompiler"):
                i += 1
            elif not args[i].startswith(("-gencode", "--expt")):
                keep.append(args[i])
            i += 1
        args = ["clang++", "-x", "cuda", "--cuda-path=/usr/local/cuda", "-nocudalib"] + keep
    entries[source] = {"directory": root, "file": os.path.join(root, source), "arguments": args}

with open(os.path.join(root, "compile_commands.json"), "w") as f:
    json.dump(list(entries.values()), f, indent=1)
print("%d entries" % len(entries))
