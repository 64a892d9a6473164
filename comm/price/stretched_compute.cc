#include "comm/price/stretched_compute.h"

#include <algorithm>

namespace gf {

double CompressorRate(const StepSetup& setup) {
  return setup.compressor_bytes_per_s > 0 ? setup.compressor_bytes_per_s : setup.memory_bytes_per_s;
}

StretchedCompute::StretchedCompute(const StepSetup& setup, const BucketSchedule& schedule,
                                   const std::vector<double>& factors)
    : setup_(setup),
      factors_(factors),
      slowest_(*std::max_element(factors.begin(), factors.end())) {
  const StepCompute& compute = setup.compute;
  double backward = 0;
  for (const StepCompute::Piece& piece : compute.backward) backward += piece.seconds;
  const double add = static_cast<double>(setup.layout->count()) * setup.traffic.add;
  earlier_backward_ = (compute.batches - 1) * (backward + add / setup.memory_bytes_per_s);
  forward_ = AheadSeconds(schedule) + compute.batches * (compute.data + compute.forward) +
             earlier_backward_;
  ready_.resize(setup.layout->entries().size());
  double now = forward_;
  for (const StepCompute::Piece& piece : compute.backward) {
    now += piece.seconds;
    for (int entry : piece.entries) now += GradientSeconds(entry, schedule);
    for (int entry : piece.entries) ready_[entry] = now;
    if (!piece.entries.empty() || &piece == &compute.backward.back()) ends_.push_back(now);
  }
}

double StretchedCompute::LayerEnd(double time) const {
  double latest = time;
  for (double factor : factors_) {
    const double at = (time - lost_) / factor;
    const auto end = std::lower_bound(ends_.begin(), ends_.end(), at - 1e-12);
    if (end != ends_.end()) latest = std::max(latest, *end * factor + lost_);
  }
  return latest;
}

double StretchedCompute::Stretched(double begin, double seconds, double rate_lost) const {
  const double computes = std::max(0.0, BackwardEnd(slowest_) - begin) / (1 - setup_.compute_lost);
  return std::min(seconds / (1 - rate_lost), seconds + computes * rate_lost);
}

void StretchedCompute::Lose(double begin, double end) {
  const double left = std::max(0.0, BackwardEnd(slowest_) - begin);
  const double share = setup_.compute_lost;
  lost_ += share * std::min(end - begin, left / (1 - share));
}

double StretchedCompute::AheadSeconds(const BucketSchedule& schedule) const {
  if (!schedule.sparse) return 0;
  const double waiting = (1 - schedule.density) * static_cast<double>(setup_.layout->count());
  return waiting * setup_.traffic.ahead / CompressorRate(setup_);
}

double StretchedCompute::GradientSeconds(int entry, const BucketSchedule& schedule) const {
  const UpdateTraffic& traffic = setup_.traffic;
  double bytes = 0;  // per element
  if (schedule.sparse) bytes += traffic.keep + schedule.density * traffic.pack;
  if (schedule.topk) bytes += traffic.accumulate;
  if (schedule.low_rank) bytes += traffic.project;
  if (schedule.code_bytes > 0) bytes += traffic.encode + schedule.code_bytes;
  if (schedule.feedback && factors_.size() > 1) bytes += traffic.round;
  const double count = static_cast<double>(setup_.layout->entries()[entry].count);
  const double merge = count * traffic.merge / setup_.memory_bytes_per_s;
  if (setup_.measured) {
    return merge + setup_.measured->before * count / static_cast<double>(setup_.layout->count());
  }
  return merge + count * bytes / CompressorRate(setup_);
}

}  // namespace gf
