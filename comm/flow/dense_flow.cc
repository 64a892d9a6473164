#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/flow/bucketed_flow.h"
#include "comm/flow/threshold_choice.h"

namespace gf {
namespace {

// Every gradient of every step, in place in the pool. The modes differ in their buckets: one per
// tensor is the baseline, LAZY starts one as soon as enough is ready to be worth a message.
//
// Note [Automatic thresholds]
// With comm.threshold_auto the first steps run with the config's thresholds while each rank notes
// when its gradients are ready. The means over steps and ranks, with the measured times of
// allreduces (Note [Automatic choice]), tell for any thresholds when the last bucket would be
// through; the best are used from then on.
class DenseFlow : public BucketedFlow {
 public:
  DenseFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
            const GradientFlowOptions& options)
      : BucketedFlow(layout, gradients, comm, options) {
    const int last = static_cast<int>(layout.entries().size()) - 1;
    if (last < 0) return;
    if (comm->size() == 1) {
      // Nothing travels: the fewer pieces the better for the solver.
      buckets_ = {{0, layout.count(), 0, last}};
      return;
    }
    choose_ = options.config.threshold_auto() && !options.deterministic;
    times_.ready.resize(layout.entries().size());
  }

  void Measure() override {
    if (layout().entries().empty() || comm()->size() == 1) return;
    const int64_t element = static_cast<int64_t>(SizeOf(wire()));
    transport()->Measure(LongestOf(buckets_) * element, gradients().desc.dtype, wire());
  }

 protected:
  void OnBegin() override {
    noted_ = 0;
    BucketedFlow::OnBegin();
  }

  void OnReady() override {
    if (choose_ && steps_ > 0) Note();
    if (comm()->size() > 1) LaunchReady();
  }

  void OnFinish(const Reduced& reduced) override {
    for (size_t i = 0; i < buckets_.size(); ++i) {
      if (comm()->size() > 1) Await(flights_[i]);
      reduced({buckets_[i].range()});
    }
    if (choose_) Choose();
  }

 private:
  // Steps before the thresholds are chosen; the first does not count (everything is cold).
  static constexpr int kNotedSteps = 3;

  // Adds the times of what became ready. The backward pass begins with its first gradient, as far
  // as buckets are concerned.
  void Note() {
    const auto now = std::chrono::steady_clock::now();
    if (noted_ == 0) start_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    if (noted_ == ready_entries()) {
      times_.end += seconds;
      return;
    }
    for (; noted_ < ready_entries(); ++noted_) times_.ready[noted_] += seconds;
  }

  void Choose() {
    if (++steps_ <= kNotedSteps) return;
    choose_ = false;
    std::vector<double> sums = times_.ready;
    sums.push_back(times_.end);
    comm()->AllReduce(sums.data(), static_cast<int64_t>(sums.size()), ReduceOp::kSum,
                      "times of backward");
    for (double& sum : sums) sum /= kNotedSteps * comm()->size();
    times_.end = sums.back();
    sums.pop_back();
    times_.ready = sums;
    const int64_t element = static_cast<int64_t>(SizeOf(wire()));
    const Thresholds best = BestThresholds(
        layout(), element, times_, [this](int64_t bytes) { return transport()->Seconds(bytes); });
    buckets_ = CutBuckets(layout(), element, best);
  }

  bool choose_ = false;
  int steps_ = 0, noted_ = 0;
  std::chrono::steady_clock::time_point start_;
  BackwardTimes times_;  // sums over the noted steps
};

GF_REGISTER(GradientFlowRegistry, "PER_TENSOR", DenseFlow);
GF_REGISTER(GradientFlowRegistry, "AFTER_BACKWARD", DenseFlow);
GF_REGISTER(GradientFlowRegistry, "LAZY", DenseFlow);

}  // namespace
}  // namespace gf
