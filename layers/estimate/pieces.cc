#include "layers/estimate/pieces.h"

#include <algorithm>

namespace gf {

void PieceEstimate::AgreeOnPieces(int axis, TensorDesc* whole, std::vector<TensorDesc>* parts) {
  const auto set = [&](TensorDesc* desc) {
    desc->layout = axis == 1 ? WantedLayout(desc->shape) : Layout();
  };
  set(whole);
  for (TensorDesc& part : *parts) set(&part);
}

void PieceEstimate::MovePieces(const std::vector<TensorDesc>& parts,
                               const std::vector<bool>& moved) const {
  constexpr size_t kPartsOfLaunch = 16;
  for (size_t begin = 0; begin < parts.size(); begin += kPartsOfLaunch) {
    int64_t bytes = 0;
    for (size_t i = begin; i < std::min(begin + kPartsOfLaunch, parts.size()); ++i) {
      if (moved[i]) bytes += 2 * static_cast<int64_t>(parts[i].bytes());
    }
    if (bytes > 0) Move(OperationKind::kOther, bytes);
  }
}

}  // namespace gf
