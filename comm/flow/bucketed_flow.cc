#include "comm/flow/bucketed_flow.h"

namespace gf {

BucketedFlow::BucketedFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
                           const GradientFlowOptions& options)
    : GradientFlow(layout, gradients, comm, options),
      plan_(PlanBuckets(layout, static_cast<int64_t>(SizeOf(wire())),
                        ThresholdsOf(options.config))) {}

void BucketedFlow::OnBegin() { flights_.clear(); }

void BucketedFlow::LaunchReady(Collective::Kind kind) {
  while (flights_.size() < plan_.size() && plan_[flights_.size()].last_entry < ready_entries()) {
    const Bucket& b = plan_[flights_.size()];
    BeforeLaunch(RangeOf(b));
    flights_.push_back(
        Launch(gradients(), RangeOf(b), wire(), NameOf(b.first_entry, b.last_entry), kind));
  }
}

}  // namespace gf
