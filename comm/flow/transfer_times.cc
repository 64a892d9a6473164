#include "comm/flow/transfer_times.h"

#include <glog/logging.h>

#include <chrono>
#include <utility>

namespace gf {
namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void TransferTimes::Awaited(const std::string& name, int64_t bytes, bool in_step) {
  awaited_.push_back({name, bytes, timeline_ != nullptr ? timeline_->step() : 0, in_step});
}

void TransferTimes::Add(const std::vector<TransferSpan>& spans) {
  for (const TransferSpan& span : spans) {
    CHECK(!awaited_.empty()) << "a span of a collective that was not awaited";
    const Collective c = std::move(awaited_.front());
    awaited_.pop_front();
    if (c.in_step) {
      sums_.exposed_s += Seconds(span.resume - span.stall);
      sums_.transfer_s += Seconds(span.end - span.begin);
    }
    if (timeline_ == nullptr) continue;
    timeline_->AddTo(c.step, lane::kBucketTransfer, c.name, span.begin, span.end,
                     {{"bytes", c.bytes}});
    timeline_->AddTo(c.step, lane::kBucketWait, c.name, span.stall, span.resume);
  }
}

TransferTimes::Sums TransferTimes::Take() { return std::exchange(sums_, {}); }

}  // namespace gf
