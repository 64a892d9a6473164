#include "models/recorded_pass.h"

#include <glog/logging.h>

#include <utility>

namespace gf {

RecordedPass::RecordedPass(Device* device, std::vector<bool> repeats)
    : device_(device), repeats_(std::move(repeats)), ends_(repeats_.size(), true) {}

void RecordedPass::SetEnds(std::vector<bool> ends) {
  CHECK_EQ(ends.size(), repeats_.size());
  if (ends == ends_) return;
  ends_ = std::move(ends);
  stretches_.clear();
}

void RecordedPass::RunPlain(const Call& enqueue, const Call& after) const {
  for (int k = 0; k < static_cast<int>(repeats_.size()); ++k) {
    enqueue(k);
    after(k);
  }
}

void RecordedPass::Run(const Call& enqueue, const Call& after) {
  if (!std::exchange(warm_, true)) return RunPlain(enqueue, after);
  if (stretches_.empty()) Record(enqueue);
  for (const Stretch& stretch : stretches_) {
    if (stretch.recording != nullptr) stretch.recording->Replay();
    for (int k = stretch.begin; k < stretch.end; ++k) {
      if (stretch.recording == nullptr) enqueue(k);
      after(k);
    }
  }
}

void RecordedPass::Record(const Call& enqueue) {
  const int count = static_cast<int>(repeats_.size());
  for (int begin = 0, end; begin < count; begin = end) {
    end = begin + 1;
    while (repeats_[begin] && !ends_[end - 1] && end < count && repeats_[end]) ++end;
    Stretch stretch = {begin, end, nullptr};
    if (repeats_[begin]) {
      stretch.recording = device_->Record([&] {
        for (int k = begin; k < end; ++k) enqueue(k);
      });
    }
    stretches_.push_back(std::move(stretch));
  }
}

int RecordedPass::recorded() const {
  int count = 0;
  for (const Stretch& stretch : stretches_) {
    if (stretch.recording != nullptr) count += stretch.end - stretch.begin;
  }
  return count;
}

}  // namespace gf
