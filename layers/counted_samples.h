#pragma once

#include <algorithm>

#include "layers/class_axis.h"
#include "layers/kernel.h"

namespace gf {

// How many of the outer samples count: not the images that only fill up the batch.
inline int64_t CountedSamples(const KernelArgs& args, const ClassAxis& view) {
  if (args.batch == nullptr || args.batch->size() != view.outer) return view.outer;
  return std::max<int64_t>(0, view.outer - args.batch->padding);
}

}  // namespace gf
