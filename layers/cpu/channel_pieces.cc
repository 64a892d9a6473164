#include "layers/cpu/channel_pieces.h"

#include <cstring>
#include <numeric>

#include "core/cpu/channel_view.h"
#include "core/parallel.h"

namespace gf {

void ChannelPieces::Setup(int axis, const TensorDesc& model, TensorDesc* whole,
                          std::vector<TensorDesc>* parts) {
  if (axis != 1 || !SetupChannels(model, whole, parts)) {
    rows_ = whole->shape.count(0, axis);
    whole->layout = Layout();
    for (TensorDesc& part : *parts) part.layout = Layout();
  }
  bytes_.clear();
  for (const TensorDesc& part : *parts) {
    bytes_.push_back(static_cast<int64_t>(part.bytes()) / rows_);
  }
  row_bytes_ = std::accumulate(bytes_.begin(), bytes_.end(), int64_t{0});
}

// Every part except the last must fill its blocks.
bool ChannelPieces::SetupChannels(const TensorDesc& model, TensorDesc* whole,
                                  std::vector<TensorDesc>* parts) {
  ChannelView view;
  if (model.layout.plain() || !GetChannelView(model, &view)) return false;
  for (size_t i = 0; i + 1 < parts->size(); ++i) {
    if (!view.channels_last && (*parts)[i].shape[1] % view.block != 0) return false;
  }
  for (TensorDesc& part : *parts) part.layout = LayoutLike(view, part);
  whole->layout = LayoutLike(view, *whole);
  rows_ = view.channels_last ? view.n * view.spatial : view.n;
  return true;
}

template <typename Copy>
void ChannelPieces::ForPieces(const Copy& copy) const {
  const auto count = static_cast<int64_t>(bytes_.size());
  ParallelFor(rows_ * count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin / count; row * count < end; ++row) {
      int64_t at = row * row_bytes_;
      for (int64_t i = 0; i < count; at += bytes_[i++]) {
        const int64_t piece = row * count + i;
        if (piece >= begin && piece < end) copy(i, at, row * bytes_[i], bytes_[i]);
      }
    }
  });
}

void ChannelPieces::Join(const std::vector<const void*>& parts, void* whole) const {
  ForPieces([&](int64_t part, int64_t to, int64_t from, int64_t bytes) {
    if (parts[part] == nullptr) return;
    std::memcpy(static_cast<char*>(whole) + to, static_cast<const char*>(parts[part]) + from,
                bytes);
  });
}

void ChannelPieces::Split(const void* whole, const std::vector<void*>& parts) const {
  ForPieces([&](int64_t part, int64_t from, int64_t to, int64_t bytes) {
    if (parts[part] == nullptr) return;
    std::memcpy(static_cast<char*>(parts[part]) + to, static_cast<const char*>(whole) + from,
                bytes);
  });
}

}  // namespace gf
