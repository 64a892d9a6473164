#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/compressor.h"
#include "comm/flow/gradient_flow.h"

namespace gf {

// Carries what a compressor gives it.
class CompressedFlow : public GradientFlow {
 public:
  using Factory = std::function<std::unique_ptr<Compressor>(const CompressedPool&)>;

  CompressedFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
                 const GradientFlowOptions& options, const Factory& compressor);

  void Measure() override;
  std::vector<Bucket> Buckets() const override { return compressor_->Buckets(); }

  std::vector<std::pair<std::string, Tensor>> State() const override {
    return compressor_->State();
  }
  Tensor shared_state() const override { return compressor_->shared_state(); }
  WaitingGradients waiting() const override { return compressor_->waiting(); }
  bool may_wait() const override { return compressor_->may_wait(); }
  std::vector<bool> carries_momentum() const override { return compressor_->carries_momentum(); }
  DecaySteps decay_steps() const override { return compressor_->decay_steps(); }
  std::vector<int64_t> important_chunks() const override { return compressor_->important_chunks(); }
  bool overflowed() const override { return compressor_->overflowed(); }
  void Rescale(float factor) override { compressor_->Rescale(factor); }
  void Restore(const std::vector<int64_t>& important_chunks) override {
    compressor_->Restore(important_chunks);
  }

 protected:
  void OnBegin() override;
  void OnReady() override;
  void OnFinish(const Reduced& reduced) override;

 private:
  void Start(const std::vector<Parcel>& parcels);

  const std::unique_ptr<Compressor> compressor_;
  std::deque<Flight> flights_;  // under way, in order
};

// Adds a flow with a compressor of type C, made from a CompressedPool, to GradientFlowRegistry:
//   const bool registered = RegisterCompressor<SparseCompressor>("SPARSE");
template <typename C>
bool RegisterCompressor(const std::string& name) {
  return GradientFlowRegistry::Get().Add(
      name,
      [](const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
         const GradientFlowOptions& options) -> std::unique_ptr<GradientFlow> {
        return std::make_unique<CompressedFlow>(
            layout, gradients, comm, options,
            [](const CompressedPool& pool) { return std::make_unique<C>(pool); });
      });
}

}  // namespace gf
