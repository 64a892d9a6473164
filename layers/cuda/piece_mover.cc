#include "layers/cuda/piece_mover.h"

namespace gf {

void PieceMover::Setup(int axis, TensorDesc* whole, std::vector<TensorDesc>* parts) {
  const auto set = [&](TensorDesc* desc) {
    desc->layout = axis == 1 ? WantedLayout(desc->shape) : Layout();
  };
  set(whole);
  rows_ =
      !whole->layout.plain() ? whole->shape.count() / whole->shape[1] : whole->shape.count(0, axis);
  row_bytes_ = static_cast<int64_t>(whole->bytes()) / rows_;
  piece_bytes_.clear();
  for (TensorDesc& part : *parts) {
    set(&part);
    piece_bytes_.push_back(static_cast<int64_t>(part.bytes()) / rows_);
  }
}

void PieceMover::Join(const std::vector<const void*>& parts, void* whole) const {
  ForPieces(parts, [&](const RowPieces& pieces) { JoinRows(pieces, whole, StreamOf(context_)); });
}

void PieceMover::Split(const void* whole, const std::vector<void*>& parts) const {
  ForPieces(parts, [&](const RowPieces& pieces) { SplitRows(pieces, whole, StreamOf(context_)); });
}

template <typename Pointer, typename F>
void PieceMover::ForPieces(const std::vector<Pointer>& parts, const F& move) const {
  int64_t begin = 0;
  for (size_t i = 0; i < parts.size();) {
    RowPieces pieces;
    pieces.rows = rows_;
    pieces.row_bytes = row_bytes_;
    for (; i < parts.size() && pieces.count < RowPieces::kMost; begin += piece_bytes_[i++]) {
      pieces.pieces[pieces.count++] = {const_cast<void*>(static_cast<const void*>(parts[i])), begin,
                                       piece_bytes_[i]};
    }
    move(pieces);
  }
}

}  // namespace gf
