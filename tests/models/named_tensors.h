#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace gf {

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

// Writes a safetensors file, with the labels, if there are any, as the I64 tensor "label".
void WriteTensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                  const std::vector<int64_t>& labels = {});

}  // namespace gf
