#pragma once

#include <vector>

#include "layers/cuda/kernel_context.h"
#include "layers/labels.h"

namespace gf {

// The labels of a call on the host, one per prediction: the labels of the batch, which need no wait
// for the GPU, or else a copy of `labels` (device memory).
std::vector<int64_t> HostLabels(const KernelArgs& args, const void* labels, const ClassAxis& view,
                                const KernelContext& context);

}  // namespace gf
