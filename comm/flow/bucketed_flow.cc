#include "comm/flow/bucketed_flow.h"

namespace gf {

BucketedFlow::BucketedFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
                           const GradientFlowOptions& options)
    : GradientFlow(layout, gradients, comm, options),
      buckets_(
          CutBuckets(layout, static_cast<int64_t>(SizeOf(wire())), ThresholdsOf(options.config))) {}

void BucketedFlow::OnBegin() { flights_.clear(); }

void BucketedFlow::LaunchReady(Collective::Kind kind) {
  for (size_t i = flights_.size(); i < buckets_.size(); ++i) {
    const Bucket& b = buckets_[i];
    if (b.last_entry >= ready_entries()) return;
    flights_.push_back(
        Launch(gradients(), b.range(), wire(), layout().NameOf(b.first_entry, b.last_entry), kind));
  }
}

}  // namespace gf
