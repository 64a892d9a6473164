#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace gf {

// A tensor of rows, and parts of it along an axis: each part holds a piece of every row.
class ChannelPieces {
 public:
  // Sets the layouts of all tensors. They get the layout of `model`, which is one of them, if whole
  // blocks of channels can be copied, and the plain layout otherwise.
  void Setup(int axis, const TensorDesc& model, TensorDesc* whole, std::vector<TensorDesc>* parts);

  int64_t rows() const { return rows_; }

  // Copies the parts into the whole tensor, or out of it. A null part is left out.
  void Join(const std::vector<const void*>& parts, void* whole) const;
  void Split(const void* whole, const std::vector<void*>& parts) const;

 private:
  bool SetupChannels(const TensorDesc& model, TensorDesc* whole, std::vector<TensorDesc>* parts);

  // Calls copy(part, offset in the whole tensor, offset in the part, bytes) for each piece.
  template <typename Copy>
  void ForPieces(const Copy& copy) const;

  int64_t rows_ = 0, row_bytes_ = 0;
  std::vector<int64_t> bytes_;  // of each part in a row
};

}  // namespace gf
