#include "comm/choice/step_notes.h"

#include <glog/logging.h>

#include <algorithm>

namespace gf {
namespace {

// A rank that updates less than this part of the slowest rank's time while sums arrive updates when
// all have come.
constexpr double kWaits = 0.1;

}  // namespace

double StepNotes::SinceBegin() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void StepNotes::Begin() {
  begin_ = Clock::now();
  if (step_ > 0) {
    const double outside = std::chrono::duration<double>(begin_ - end_).count();
    outside_ = outside_ < 0 ? outside : std::min(outside_, outside);
  }
  now_ = {};
  update_ = 0;
}

void StepNotes::Ready(int ready) {
  const double now = SinceBegin();
  while (static_cast<int>(now_.ready.size()) < ready) now_.ready.push_back(now);
}

void StepNotes::BackwardEnded() { now_.end = SinceBegin(); }

void StepNotes::End(double transfer) {
  end_ = Clock::now();
  now_.finish = SinceBegin() - now_.end;
  now_.transfer = transfer;
  now_.update = update_;
  noted_.push_back(std::move(now_));
  ++step_;
}

StepFacts StepNotes::Agree(Communicator* comm) const {
  CHECK(complete());
  const Times &beside = noted_[1], *alone = &noted_[2];
  for (int i = 3; i < kSteps; ++i) {
    if (noted_[i].end < alone->end) alone = &noted_[i];
  }
  double transfer = alone->transfer, update = alone->update;
  for (int i = 2; i < kSteps; ++i) {
    transfer = std::min(transfer, noted_[i].transfer);
    update = std::min(update, noted_[i].update);
  }
  double slowest_update = update;
  comm->AllReduce(&slowest_update, 1, ReduceOp::kMax, "times of updates");
  // An update that waits for all sums comes after the end of the exchange.
  const bool waits = update < kWaits * slowest_update;
  const double outside = waits ? std::max(0.0, outside_ - slowest_update) : outside_;
  // A rank that comes late makes the others' collectives longer.
  double least[] = {transfer, waits ? 0.0 : 1.0};
  comm->AllReduce(least, 2, ReduceOp::kMin, "times of steps");
  std::vector<double> most = alone->ready;
  CHECK_EQ(static_cast<int>(most.size()), entries_);
  most.insert(most.end(), {alone->end, beside.end, outside, outside_ + beside.end + beside.finish});
  comm->AllReduce(most.data(), static_cast<int64_t>(most.size()), ReduceOp::kMax, "times of steps");
  StepFacts facts;
  facts.ready.assign(most.begin(), most.begin() + entries_);
  facts.end = most[entries_];
  facts.end_beside = most[entries_ + 1];
  facts.outside = most[entries_ + 2];
  facts.step = most[entries_ + 3];
  facts.transfer = least[0];
  facts.update = slowest_update;
  facts.update_waits = least[1] == 0;
  return facts;
}

}  // namespace gf
