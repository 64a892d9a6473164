#include "tools/gfbench/synthetic.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

#include "core/error.h"
#include "core/parallel.h"
#include "core/random.h"
#include "core/random_words.h"

namespace gf {

Shape ParseImageShape(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream in(text);
  std::string part;
  while (std::getline(in, part, 'x')) {
    char* end = nullptr;
    dims.push_back(std::strtol(part.c_str(), &end, 10));
    if (*end != 0 || dims.back() <= 0) ThrowUserError("--input=", text, ": expected e.g. 3x32x32");
  }
  if (!dims.empty() && dims.size() != 3)
    ThrowUserError("--input=", text, ": expected e.g. 3x32x32");
  return Shape(dims);
}

Batch SyntheticBatch(const Net& net) {
  Batch batch;
  batch.images.desc = {net.input_shape(), DType::kUINT8, Layout()};
  const int64_t count = net.input_shape().count();
  auto pixels = std::make_shared<std::vector<uint8_t>>(count);
  constexpr int64_t kChunk = 1024;
  ParallelFor(count, kChunk, [&](int64_t begin, int64_t end) {
    uint32_t words[kChunk];
    for (int64_t at = begin; at < end; at += kChunk) {
      const int64_t some = std::min(end - at, kChunk);
      RandomWords().fill(1, StreamId(RandomUse::kDraw, 0), at, some, words);
      for (int64_t i = 0; i < some; ++i) (*pixels)[at + i] = words[i] >> 24;
    }
  });
  batch.images.data = pixels->data();
  batch.images.owner = pixels;
  const int64_t channels = net.input_shape()[1];
  batch.mean.assign(channels, 127.f);
  batch.inverse_std.assign(channels, 1 / 64.f);
  Random random(1, StreamId(RandomUse::kDraw, 1));
  for (int64_t i = 0; i < net.input_shape()[0]; ++i) {
    batch.labels.push_back(random.Below(std::max<int64_t>(net.classes(), 1)));
  }
  return batch;
}

}  // namespace gf
