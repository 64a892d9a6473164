#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/flow/bucketed_flow.h"
#include "comm/plan.h"
#include "core/error.h"

namespace gf {
namespace {

// Note [Sharded update]
// Instead of an allreduce, a bucket's gradients are reduce-scattered: rank r gets the sum of the
// bucket's part r, updates that part of the weights only, and the new weights are gathered (Xu et
// al., "Automatic cross-replica sharding of weight update in data-parallel training", 2020). Every
// rank does 1/world of the update; the gradients' half of the ring is as before, the other half
// carries FP32 weights instead of gradients. Results equal those of the ring allreduce bit for bit:
// the sums are made in the same order, and the owner rounds its sum as the wire would. What the
// solver keeps (momentum) is only right in a rank's own parts until Complete gathers it.
class ShardedFlow : public BucketedFlow {
 public:
  ShardedFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
              const GradientFlowOptions& options)
      : BucketedFlow(layout, gradients, comm, options) {}

  void Complete(const Tensor& pool) override {
    for (const Bucket& bucket : buckets_) Await(Gather(bucket, pool));
  }

 protected:
  void OnReady() override { LaunchReady(Collective::kReduceScatter); }

  void OnFinish(const Reduced& reduced) override {
    std::vector<Flight> gathers;
    const int rank = comm()->rank(), world = comm()->size();
    for (size_t i = 0; i < buckets_.size(); ++i) {
      Await(flights_[i]);
      const ElementRange own = {buckets_[i].offset + PartBegin(buckets_[i].count, rank, world),
                                buckets_[i].offset + PartBegin(buckets_[i].count, rank + 1, world)};
      if (own.begin < own.end) reduced({own});
      gathers.push_back(Gather(buckets_[i], options().master));
    }
    for (const Flight& gather : gathers) Await(gather);
    if (options().weights_changed) options().weights_changed();
  }

 private:
  Flight Gather(const Bucket& b, const Tensor& pool) {
    return Launch(pool, b.range(), pool.desc.dtype,
                  "new " + layout().NameOf(b.first_entry, b.last_entry), Collective::kAllGather);
  }
};

GF_REGISTER(GradientFlowRegistry, "sharded", ShardedFlow);

}  // namespace
}  // namespace gf
