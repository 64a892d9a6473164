// Softmax, its losses, and Accuracy. A row of scores stays in the caches, so it is read from memory
// once.

#include "layers/softmax.h"

#include "layers/accuracy.h"
#include "layers/estimate/kernel.h"
#include "layers/infogain_loss.h"
#include "layers/softmax_with_loss.h"

namespace gf {
namespace {

class SoftmaxEstimate : public EstimateKernel {
 public:
  SoftmaxEstimate(const SoftmaxLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelSetup* setup) override {
    setup->bottoms[0].layout = setup->tops[0].layout = Layout();
    setup->needs_top[0] = setup->backward;
    setup->in_place = setup->in_place_backward = true;
  }
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, Bottom() + Top());
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, Bottom() + 2 * Top());
  }
};

class SoftmaxWithLossEstimate : public EstimateKernel {
 public:
  SoftmaxWithLossEstimate(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    for (TensorDesc& top : setup->tops) top.layout = Layout();
    const bool backward = setup->backward && setup->propagate[0];
    setup->needs_bottom[1] = backward;
    if (backward) setup->saved_bytes = setup->bottoms[0].shape.count() * sizeof(float);
    setup->forward_scratch_bytes = layer_.view().predictions() * sizeof(float);
  }
  // Losses and probabilities, then the sum of the losses.
  void ForwardCost(const KernelArgs& args) override {
    const bool probabilities = setup().tops.size() > 1;
    Move(OperationKind::kLoss,
         Bottom(0) + Bottom(1) + Saved() + ConstantBytes() + (probabilities ? Top(1) : 0), 2);
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1) + Saved() + ConstantBytes());
  }

 private:
  // What is read beside scores and labels.
  virtual int64_t ConstantBytes() const {
    return static_cast<int64_t>(layer_.class_weights().size() * sizeof(float));
  }

  const SoftmaxWithLossLayer& layer_;
};

class InfogainLossEstimate : public SoftmaxWithLossEstimate {
 public:
  InfogainLossEstimate(const InfogainLossLayer& layer, const KernelContext& context)
      : SoftmaxWithLossEstimate(layer, context),
        matrix_((layer.view().classes + 1) * layer.view().classes *
                static_cast<int64_t>(sizeof(float))) {}

 protected:
  // A matrix that is a bottom is converted first.
  void ForwardCost(const KernelArgs& args) override {
    if (setup().bottoms.size() > 2) Move(OperationKind::kLoss, Bottom(2) + matrix_);
    SoftmaxWithLossEstimate::ForwardCost(args);
  }

 private:
  int64_t ConstantBytes() const override { return matrix_; }

  const int64_t matrix_;  // bytes of the matrix and the sums of its rows
};

class AccuracyEstimate : public EstimateKernel {
 public:
  AccuracyEstimate(const AccuracyLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    setup->forward_scratch_bytes = 2 * layer_.view().classes * sizeof(int);
  }
  // The counts per class are cleared, incremented and divided.
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1), 3);
  }

 private:
  const AccuracyLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Softmax", KernelOf<SoftmaxLayer, SoftmaxEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/InfogainLoss",
            KernelOf<InfogainLossLayer, InfogainLossEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Accuracy", KernelOf<AccuracyLayer, AccuracyEstimate>);

}  // namespace
}  // namespace gf
