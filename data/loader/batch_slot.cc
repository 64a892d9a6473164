#include "data/loader/batch_slot.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace gf {

void AllocateImages(const Shape& shape, DType type, Batch* batch) {
  constexpr size_t kAlignment = 64;
  const TensorDesc desc = {shape, type, {}};
  const size_t bytes = (desc.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  std::shared_ptr<void> memory(std::aligned_alloc(kAlignment, bytes), std::free);
  if (!memory) throw std::bad_alloc();
  batch->images = {desc, memory.get(), memory};
}

std::vector<int64_t> BatchSlot::Compact() {
  std::vector<int64_t> samples;
  const int64_t batch_size = batch.images.desc.shape[0];
  const int64_t bytes = static_cast<int64_t>(batch.images.desc.bytes()) / batch_size;
  auto* const images = batch.images.as<uint8_t>();
  std::vector<float>& values = batch.label_values;
  const int64_t count = static_cast<int64_t>(values.size()) / batch_size;
  int64_t kept = 0;
  for (int64_t i = 0; i < batch_size; ++i) {
    if (!good[i]) continue;
    samples.push_back(position + i);
    if (kept != i) {
      std::memcpy(images + kept * bytes, images + i * bytes, bytes);
      batch.labels[kept] = batch.labels[i];
      std::copy_n(values.begin() + i * count, count, values.begin() + kept * count);
    }
    ++kept;
  }
  std::memset(images + kept * bytes, 0, (batch_size - kept) * bytes);
  std::fill(batch.labels.begin() + kept, batch.labels.end(), 0);
  std::fill(values.begin() + kept * count, values.end(), 0.f);
  batch.padding = batch_size - kept;
  return samples;
}

}  // namespace gf
