#pragma once

#include <vector>

#include "layers/estimate/kernel.h"

namespace gf {

// The estimate of a kernel that copies the parts of a tensor along an axis (PieceMover).
class PieceEstimate : public EstimateKernel {
 protected:
  using EstimateKernel::EstimateKernel;

  static void AgreeOnPieces(int axis, TensorDesc* whole, std::vector<TensorDesc>* parts);
  // Records the launches for the parts; `moved[i]`: whether part i is copied.
  void MovePieces(const std::vector<TensorDesc>& parts, const std::vector<bool>& moved) const;
};

}  // namespace gf
