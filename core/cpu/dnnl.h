#pragma once

#include <cstdint>
#include <dnnl.hpp>

#include "core/tensor.h"

namespace gf {

// The process's oneDNN engine and stream. Primitives run on the compute threads and are done
// when Run returns.
dnnl::engine& DnnlEngine();
dnnl::stream& DnnlStream();

dnnl::memory::data_type ToDnnl(DType type);

// oneDNN's description of a tensor.
dnnl::memory::desc ToDnnl(const TensorDesc& desc);
// The plain (row-major) description of a shape.
dnnl::memory::desc PlainDesc(const Shape& shape, DType type);
// A description with format "any": oneDNN may choose.
dnnl::memory::desc AnyDesc(const Shape& shape, DType type);
// The layout that a oneDNN description has; plain if it is row-major.
Layout FromDnnl(const dnnl::memory::desc& desc);

// Whether BF16 numbers are multiplied at least as fast as FP32 ones on this processor: measured
// once in processor time, on one thread (about 20 ms). False where oneDNN has no BF16 at all.
bool BF16IsFast();

// Memory at an address, for one call of a primitive.
inline dnnl::memory DnnlMemory(const dnnl::memory::desc& desc, const void* data) {
  return dnnl::memory(desc, DnnlEngine(), const_cast<void*>(data));
}

// An image tensor (N, C and one or two spatial axes, or N, C alone) seen as
// [n][blocks][spatial][block]: channel c lies in block c / block at c % block.
// Plain: block = 1; NHWC: blocks = 1; nChw16c: block = 16. channels <= blocks * block;
// the rest is padding that must stay zero.
struct ChannelView {
  int64_t n = 0, channels = 0, blocks = 0, spatial = 0, block = 0;
  int64_t padded_channels() const { return blocks * block; }
};

// Whether the tensor has that form, and the view.
bool GetChannelView(const TensorDesc& desc, ChannelView* view);

}  // namespace gf
