#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "core/cpu/dnnl_api.h"
#include "core/tensor.h"

namespace gf {

// The oneDNN stream of this process. Primitives run on the compute threads and are complete when
// Run returns.
dnnl::stream& DnnlStream();

dnnl::memory::data_type ToDnnl(DType type);

// oneDNN's description of a tensor.
dnnl::memory::desc ToDnnl(const TensorDesc& desc);
// The plain (row-major) description of a shape.
dnnl::memory::desc PlainDesc(const Shape& shape, DType type);
// A description with format "any": oneDNN chooses the layout.
dnnl::memory::desc AnyDesc(const Shape& shape, DType type);
// The layout of a oneDNN description; plain if it is row-major.
Layout FromDnnl(const dnnl::memory::desc& desc);

// Whether this processor multiplies BF16 at least as fast as FP32. Measured once in CPU time on one
// thread (about 20 ms). False if oneDNN does not support BF16 at all.
bool BF16IsFast();

// Wraps an address for one call of a primitive.
inline dnnl::memory DnnlMemory(const dnnl::memory::desc& desc, const void* data) {
  return dnnl::memory(desc, DnnlEngine(), const_cast<void*>(data));
}

}  // namespace gf
