#include <algorithm>
#include <cstdint>

#include "comm/gradient_flow.h"

namespace gf {
namespace {

// Every gradient of every step, in place in the pool. The modes differ in their buckets: one per
// tensor is the baseline, LAZY starts one as soon as enough is ready to be worth a message.
class DenseFlow : public GradientFlow {
 public:
  DenseFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
            const GradientFlowOptions& options)
      : GradientFlow(layout, gradients, comm, options) {
    const int last = static_cast<int>(layout.entries().size()) - 1;
    if (last < 0) return;
    if (comm->size() == 1) {
      // Nothing travels: the fewer pieces the better for the solver.
      plan_ = {{0, layout.count(), 0, last}};
      return;
    }
    const int64_t element = static_cast<int64_t>(SizeOf(wire()));
    plan_ = PlanBuckets(layout, element, ThresholdsOf(options.config));
    int64_t largest = 0;
    for (const Bucket& bucket : plan_) largest = std::max(largest, bucket.count * element);
    algorithms()->Measure(std::min(largest, kLargestMeasured), gradients.desc.dtype, wire(), comm);
  }

  std::vector<Bucket> Plan() const override { return plan_; }

 protected:
  void OnBegin() override {
    next_ = 0;
    flights_.clear();
  }

  void OnReady() override {
    for (; next_ < plan_.size() && plan_[next_].last_entry < ready_entries(); ++next_) {
      if (comm()->size() == 1) continue;
      const Bucket& b = plan_[next_];
      flights_.push_back(Launch(gradients(), {b.offset, b.offset + b.count}, wire(),
                                NameOf(b.first_entry, b.last_entry)));
    }
  }

  void OnFinish(const Reduced& reduced) override {
    for (size_t i = 0; i < plan_.size(); ++i) {
      if (comm()->size() > 1) Await(flights_[i]);
      reduced({plan_[i].offset, plan_[i].offset + plan_[i].count});
    }
    flights_.clear();
  }

 private:
  // Beyond this a message takes as long as its bytes.
  static constexpr int64_t kLargestMeasured = int64_t{8} << 20;

  std::vector<Bucket> plan_;
  size_t next_ = 0;  // bucket that is not under way yet
  std::vector<Flight> flights_;
};

GF_REGISTER_GRADIENT_FLOW("PER_TENSOR", DenseFlow);
GF_REGISTER_GRADIENT_FLOW("AFTER_BACKWARD", DenseFlow);
GF_REGISTER_GRADIENT_FLOW("LAZY", DenseFlow);

}  // namespace
}  // namespace gf
