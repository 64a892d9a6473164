#pragma once

#include <vector>

#include "comm/flow/gradient_flow.h"

namespace gf {

// What modes have in common that exchange the pool in place, in the config's buckets.
class BucketedFlow : public GradientFlow {
 public:
  std::vector<Bucket> Plan() const override { return plan_; }

 protected:
  BucketedFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
               const GradientFlowOptions& options);

  void OnBegin() override;

  // Starts every bucket whose entries are ready, in order.
  void LaunchReady(Collective::Kind kind = Collective::kAllReduce);
  // What must happen to a bucket first.
  virtual void BeforeLaunch(const ElementRange& range) {}

  static ElementRange RangeOf(const Bucket& b) { return {b.offset, b.offset + b.count}; }

  std::vector<Bucket> plan_;
  // Under way or through in this step: those of the buckets so far, in order.
  std::vector<Flight> flights_;
};

}  // namespace gf
