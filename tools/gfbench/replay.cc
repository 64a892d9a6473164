#include "tools/gfbench/replay.h"

#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "core/random.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

// Odd, so that windows of an entry's rows begin at different places: 1 MiB in FP32.
constexpr int64_t kTableSize = (int64_t{1} << 18) + 1;
// Standard deviation of the gradients.
constexpr float kScale = 1e-3f;

Clock::duration ToDuration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Tensor NewVector(Device* device, DType dtype) {
  Tensor vector;
  vector.desc = {Shape{kTableSize}, dtype, Layout()};
  vector.owner = device->Allocate(vector.desc.bytes());
  vector.data = vector.owner.get();
  return vector;
}

Tensor DrawTable(Device* device, DType dtype, int rank) {
  const Tensor drawn = NewVector(device, DType::kFP32), table = NewVector(device, dtype);
  Random random(rank, StreamId(RandomUse::kDraw, 2));
  for (int64_t i = 0; i < kTableSize; ++i) drawn.as<float>()[i] = kScale * random.Gaussian();
  device->Convert(drawn, table, device->compute_stream());
  return table;
}

}  // namespace

Replay::Replay(NetModel net, ComputeTimes times, DType compute, Device* device, int rank)
    : net_(std::move(net)),
      times_(std::move(times)),
      rank_(rank),
      store_(std::make_shared<ParameterStore>(device, net_.layout, PoolLayout(), compute, true)),
      table_(DrawTable(device, compute, rank)) {
  CHECK(device->shares_host_memory());
}

void Replay::Forward(int64_t step) {
  step_ = step;
  const double seconds = std::accumulate(times_.forward.begin(), times_.forward.end(), 0.0);
  std::this_thread::sleep_until(Clock::now() + ToDuration(seconds));
}

void Replay::Backward(const std::function<void(const std::vector<int>&)>& done) {
  Clock::time_point due = Clock::now();
  for (size_t k = net_.layers.size(); k-- > 0;) {
    const std::vector<int>& entries = net_.layers[k].entries;
    due += ToDuration(times_.backward[k]);
    for (int entry : entries) Write(entry);
    std::this_thread::sleep_until(due);
    if (entries.empty() || !done) continue;
    const Clock::time_point start = Clock::now();
    done(entries);
    due += Clock::now() - start;
  }
}

void Replay::Write(int entry) {
  const PoolEntry& place = store_->layout().entries()[entry];
  const Tensor& pool = store_->gradient();
  const auto size = static_cast<int64_t>(SizeOf(pool.desc.dtype));
  int64_t from = Philox(rank_, StreamId(RandomUse::kDraw, 3, entry), step_)[0] % kTableSize;
  for (int64_t at = 0; at < place.count;) {
    const int64_t some = std::min(place.count - at, kTableSize - from);
    std::memcpy(pool.as<char>() + (place.offset + at) * size, table_.as<char>() + from * size,
                some * size);
    at += some;
    from = 0;
  }
}

}  // namespace gf
