#pragma once

#include <vector>

#include "layers/cuda/concat_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {

// A tensor of rows, and parts of it along an axis: each part holds a piece of every row. Along the
// channels, a row is a pixel; along another axis, there is a row for each index of the axes before
// that axis.
class PieceMover {
 public:
  explicit PieceMover(const KernelContext& context) : context_(context) {}

  // Sets the layouts of all tensors.
  void Setup(int axis, TensorDesc* whole, std::vector<TensorDesc>* parts);

  int64_t rows() const { return rows_; }

  // Copies the parts into the whole tensor, or out of it. A null part is left out.
  void Join(const std::vector<const void*>& parts, void* whole) const;
  void Split(const void* whole, const std::vector<void*>& parts) const;

 private:
  // Calls move for groups of pieces, as many as one launch takes.
  template <typename Pointer, typename F>
  void ForPieces(const std::vector<Pointer>& parts, const F& move) const;

  const KernelContext context_;
  int64_t rows_ = 0, row_bytes_ = 0;
  std::vector<int64_t> piece_bytes_;  // bytes of each part in a row
};

}  // namespace gf
