"""simd_library: one source compiled for several instruction sets, chosen at run time.

Each source is compiled once per variant with GF_SIMD_VARIANT defined to its name (core/simd.h).
It keeps its functions in an anonymous namespace and includes nothing but headers of declarations
and static functions, so that no inline function of a header is compiled for instructions that
the machine may lack.
"""

VARIANTS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}

def simd_library(name, srcs, hdrs, deps = [], copts = [], **kwargs):
    for variant, flags in VARIANTS.items():
        native.cc_library(
            name = name + "_" + variant,
            srcs = srcs,
            hdrs = hdrs,
            copts = flags + ["-O3", "-ffast-math", "-fno-finite-math-only", "-fno-associative-math", "-Wno-psabi", "-DGF_SIMD_VARIANT=" + variant] + copts,
            deps = deps + ["//core:simd"],
            visibility = ["//visibility:private"],
        )
    native.cc_library(
        name = name,
        hdrs = hdrs,
        deps = deps + ["//core:simd"] + [":" + name + "_" + variant for variant in VARIANTS],
        **kwargs
    )
