#include "data/loader/batch_slot.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace gf {

void AllocateImages(const Shape& shape, Batch* batch) {
  constexpr size_t kAlignment = 64;
  const size_t bytes = (shape.count() + kAlignment - 1) / kAlignment * kAlignment;
  std::shared_ptr<void> memory(std::aligned_alloc(kAlignment, bytes), std::free);
  if (!memory) throw std::bad_alloc();
  batch->images = {{shape, DType::kUINT8, {}}, memory.get(), memory};
}

void SetNormalization(const DataConfig& config, Batch* batch) {
  const auto per_channel = [](const auto& values, float otherwise, int c) {
    return values.empty() ? otherwise : values.Get(values.size() == 1 ? 0 : c);
  };
  batch->mean.clear();
  batch->inverse_std.clear();
  for (int c = 0; c < config.channels(); ++c) {
    batch->mean.push_back(per_channel(config.mean(), 0, c));
    batch->inverse_std.push_back(1 / per_channel(config.std(), 1, c));
  }
}

std::vector<int64_t> BatchSlot::Compact() {
  std::vector<int64_t> samples;
  const int64_t batch_size = batch.images.desc.shape[0];
  const int64_t bytes = batch.images.desc.shape.count() / batch_size;
  auto* const images = batch.images.as<uint8_t>();
  int64_t kept = 0;
  for (int64_t i = 0; i < batch_size; ++i) {
    if (!good[i]) continue;
    samples.push_back(position + i);
    if (kept != i) {
      std::memcpy(images + kept * bytes, images + i * bytes, bytes);
      batch.labels[kept] = batch.labels[i];
    }
    ++kept;
  }
  std::memset(images + kept * bytes, 0, (batch_size - kept) * bytes);
  std::fill(batch.labels.begin() + kept, batch.labels.end(), 0);
  batch.padding = batch_size - kept;
  return samples;
}

}  // namespace gf
