#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "comm/communicator.h"
#include "comm/flow/duration_curve.h"
#include "core/dtype.h"

namespace gf {

// Seconds of a clock that does not jump.
double SteadySeconds();

// Times allreduces by several algorithms on this job's ranks and network, or another kind of
// collective: within a few seconds, on slow links within half a minute.
//
// Note [Timing algorithms]
// Sizes rise by a factor of four from 1 KiB to the largest message, at most 8 MiB; at 60 KiB the
// executor begins to cut messages, so the times on both sides of it count. At each size the
// algorithms take turns, so that a disturbance meets all alike; a run takes as long as its slowest
// rank, and the median of the runs counts. At 1 KiB all algorithms run, because latency decides
// there, and at 256 KiB, because bytes decide from there on: a ring that loses by latency may win
// later. Elsewhere only those run that are expected, from what was measured so far, to come near
// the best. A size above 4 MiB is begun only if it is expected to end within kBudget_s since the
// start. Larger sizes follow from the curve: a collective is a pipeline of messages, so its time is
// a straight line there.
class AlgorithmTiming {
 public:
  static constexpr double kBudget_s = 3;

  // By an algorithm's name.
  using Curves = std::map<std::string, DurationCurve>;

  // `dtype` lies in memory and `wire` travels; both are FP32 of a kEncodedSum, which adds nothing
  // up. `now`: a clock in seconds. The communicator outlives the object.
  AlgorithmTiming(DType dtype, DType wire, Communicator* comm, std::function<double()> now,
                  Collective::Kind kind = Collective::kAllReduce)
      : dtype_(dtype), wire_(wire), comm_(comm), now_(std::move(now)), kind_(kind) {}

  // Measures sizes of up to `largest` bytes, and of 8 MiB; the size of a kEncodedSum is half of its
  // memory. Kinds other than kAllReduce take any one name. Collective; the result is the
  // same on all ranks.
  Curves Measure(const std::vector<std::string>& algorithms, int64_t largest);

 private:
  // The algorithms to run at a size, none if it takes too long.
  std::vector<std::string> Contestants(int64_t bytes, bool all, double elapsed_s) const;
  // See kShortRuns.
  int RunsInARow(int64_t bytes) const;
  // Adds a point to the curve of each contestant.
  void MeasureSize(int64_t bytes, const std::vector<std::string>& contestants);
  // The seconds of each algorithm on its slowest rank, the mean of `runs` in a row.
  std::vector<double> Round(int64_t bytes, const std::vector<std::string>& names, int runs);
  // The largest over the ranks.
  std::vector<double> Slowest(std::vector<double> seconds) const;

  const DType dtype_, wire_;
  Communicator* const comm_;
  const std::function<double()> now_;
  const Collective::Kind kind_;
  Curves curves_;
  double shortest_s_ = 0;  // the shortest run at the smallest size
};

}  // namespace gf
