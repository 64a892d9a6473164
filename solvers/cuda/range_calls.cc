#include "solvers/cuda/range_calls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/cuda/error.h"

namespace gf {

void RangeCalls::Run(const std::vector<ElementRange>& ranges, bool record, const Enqueue& enqueue) {
  if (next_ == calls_.size()) calls_.push_back(std::make_unique<Call>());
  Call& call = *calls_[next_++];
  if (call.gpu == nullptr || call.ranges != ranges) Put(&call, ranges);
  const bool first = !std::exchange(call.warm, true);  // kernels may not be loaded yet
  if (record && !first && !call.plain && call.recording == nullptr) {
    call.recording = device_->Record([&] { enqueue(call.list); });
    call.plain = call.recording == nullptr;
  }
  if (record && call.recording != nullptr) {
    call.recording->Replay();
  } else {
    enqueue(call.list);
  }
}

void RangeCalls::Put(Call* call, const std::vector<ElementRange>& ranges) {
  RangeList list;
  list.first_piece = 0;
  list.last_piece = static_cast<int>(pieces_->size());
  if (call->gpu == nullptr && !ranges.empty()) {
    // The list may never change, so only the pieces that it touches are launched.
    const int64_t begin = ranges.front().begin, end = ranges.back().end;
    const auto first = std::partition_point(pieces_->begin(), pieces_->end(),
                                            [&](const PoolPiece& p) { return p.end <= begin; });
    const auto last = std::partition_point(first, pieces_->end(),
                                           [&](const PoolPiece& p) { return p.begin < end; });
    list.first_piece = static_cast<int>(first - pieces_->begin());
    list.last_piece = static_cast<int>(last - pieces_->begin());
  }
  const size_t bytes = sizeof(int64_t) + ranges.size() * sizeof(ElementRange);
  call->copied.Wait();  // the previous copy must be complete
  if (bytes > call->room) {
    call->room = 2 * bytes;
    call->host = AllocatePinned(call->room);
    call->gpu = device_->Allocate(call->room);
  }
  auto* const host = static_cast<char*>(call->host.get());
  auto* const gpu = static_cast<char*>(call->gpu.get());
  const auto count = static_cast<int64_t>(ranges.size());
  std::memcpy(host, &count, sizeof(count));
  std::memcpy(host + sizeof(count), ranges.data(), ranges.size() * sizeof(ElementRange));
  const cudaStream_t stream = RawStream(device_->compute_stream());
  GF_CUDA(cudaMemcpyAsync(gpu, host, bytes, cudaMemcpyHostToDevice, stream));
  call->copied.Record(stream);
  list.count = reinterpret_cast<const int64_t*>(gpu);
  list.ranges = reinterpret_cast<const ElementRange*>(gpu + sizeof(count));
  if (!(list == call->list)) call->recording = nullptr;
  call->list = list;
  call->ranges = ranges;
}

int RangeCalls::recorded() const {
  return static_cast<int>(std::count_if(
      calls_.begin(), calls_.end(), [](const auto& call) { return call->recording != nullptr; }));
}

}  // namespace gf
