#include "comm/gradient_flow.h"

namespace gf {
namespace {

// One allreduce per tensor after backward, in the pool's order: the paper's baseline.
class PerTensor : public GradientFlow {
 public:
  PerTensor(const PoolLayout& layout, const Tensor& gradients, Communicator* comm)
      : GradientFlow(layout, gradients, comm) {}

  std::vector<Bucket> Plan() const override {
    const int entries = static_cast<int>(layout().entries().size());
    if (entries == 0) return {};
    // Nothing travels: the fewer pieces the better for the solver.
    if (comm()->size() == 1) return {{0, layout().count(), 0, entries - 1}};
    std::vector<Bucket> plan;
    for (int i = 0; i < entries; ++i) {
      const PoolEntry& entry = layout().entries()[i];
      plan.push_back({entry.offset, entry.count, i, i});
    }
    return plan;
  }

 protected:
  void OnReady(const std::vector<int>&) override {}

  void OnFinish(const std::function<void(const Bucket&)>& reduced) override {
    for (const Bucket& bucket : Plan()) {
      if (comm()->size() > 1) AllReduce(bucket);
      reduced(bucket);
    }
  }
};

GF_REGISTER_GRADIENT_FLOW("PER_TENSOR", PerTensor);

}  // namespace
}  // namespace gf
