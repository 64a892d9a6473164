#pragma once

// Kernels are compiled for several instruction sets (bazel/simd.bzl) and selected at run time.
//
// The header of a kernel file declares a struct of function pointers and
//   GF_SIMD_DECLARE(ReluKernels, Relu)
// which defines `const ReluKernels& Relu()`, the table for this machine. The source file defines
// the functions and
//   GF_SIMD_DEFINE(ReluKernels, Relu) = {&Forward, &Backward};

#include <cstdlib>
#include <cstring>

namespace gf {

enum class Isa { kBaseline, kAvx2, kAvx512 };

// The best instruction set of this processor. The environment variable GF_MAX_ISA limits it to
// "avx2" or "baseline" (oneDNN reads ONEDNN_MAX_CPU_ISA instead).
inline Isa BestIsa() {
  static const Isa isa = [] {
    const char* limit = std::getenv("GF_MAX_ISA");
    const bool avx2_only = limit != nullptr && std::strcmp(limit, "avx2") == 0;
    if (limit != nullptr && std::strcmp(limit, "baseline") == 0) return Isa::kBaseline;
    if (!avx2_only && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      return Isa::kAvx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("f16c")) {
      return Isa::kAvx2;
    }
    return Isa::kBaseline;
  }();
  return isa;
}

#define GF_SIMD_DECLARE(Type, name)  \
  extern const Type name##_baseline; \
  extern const Type name##_avx2;     \
  extern const Type name##_avx512;   \
  inline const Type& name() {        \
    switch (::gf::BestIsa()) {       \
      case ::gf::Isa::kAvx512:       \
        return name##_avx512;        \
      case ::gf::Isa::kAvx2:         \
        return name##_avx2;          \
      case ::gf::Isa::kBaseline:     \
        break;                       \
    }                                \
    return name##_baseline;          \
  }

#define GF_SIMD_CONCAT_INNER(a, b) a##_##b
#define GF_SIMD_CONCAT(a, b) GF_SIMD_CONCAT_INNER(a, b)
#define GF_SIMD_DEFINE(Type, name) extern const Type GF_SIMD_CONCAT(name, GF_SIMD_VARIANT)

}  // namespace gf
