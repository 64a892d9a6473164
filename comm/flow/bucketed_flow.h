#pragma once

#include <vector>

#include "comm/flow/gradient_flow.h"

namespace gf {

// The common part of modes that sum the pool in place, in the config's buckets.
class BucketedFlow : public GradientFlow {
 public:
  std::vector<Bucket> Buckets() const override { return buckets_; }

 protected:
  BucketedFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
               const GradientFlowOptions& options);

  void OnBegin() override;

  // Starts every bucket whose entries are ready, in order.
  void LaunchReady(Collective::Kind kind = Collective::kAllReduce);

  std::vector<Bucket> buckets_;
  // The flights of this step so far, in order; under way or awaited.
  std::vector<Flight> flights_;
};

}  // namespace gf
