#include "layers/infogain_loss.h"

#include <memory>
#include <vector>

#include "layers/cuda/infogain_loss_kernels.h"
#include "layers/cuda/kernel_context.h"
#include "layers/cuda/softmax_loss.h"

namespace gf {
namespace {

class InfogainLossKernel : public CudaSoftmaxLossKernel {
 public:
  InfogainLossKernel(const InfogainLossLayer& layer, const KernelContext& context)
      : CudaSoftmaxLossKernel(layer, context), layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    CudaSoftmaxLossKernel::Setup(setup);
    const int64_t classes = layer_.view().classes;
    memory_ = context().device->Allocate((classes + 1) * classes * sizeof(float));
    matrix_.rows = static_cast<float*>(memory_.get());
    matrix_.sums = matrix_.rows + classes * classes;
    if (setup->bottoms.size() > 2) {
      matrix_type_ = setup->bottoms[2].dtype;
      return;
    }
    const std::vector<float>& matrix = layer_.matrix();
    context().device->CopyFromHost(matrix.data(), matrix_.rows, matrix.size() * sizeof(float),
                                   context().device->compute_stream());
    InfogainRows(DType::kFP32, classes, matrix_.rows, matrix_, StreamOf(context()));
  }

  void Forward(const KernelArgs& args) override {
    if (args.bottoms.size() > 2) {
      InfogainRows(matrix_type_, layer_.view().classes, args.bottoms[2], matrix_,
                   StreamOf(context()));
    }
    CudaSoftmaxLossKernel::Forward(args);
  }

 protected:
  void Losses(const SoftmaxLoss& call, const void* x, double normalizer,
              const SoftmaxLossResults& results) override {
    InfogainLossForward(call, matrix_, x, kInfogainLeastLog, normalizer, results.losses,
                        results.loss, results.probabilities, results.saved, StreamOf(context()));
  }
  void Gradient(const SoftmaxLoss& call, const float* saved, float scale, void* dx) override {
    InfogainLossGradient(call, matrix_, saved, scale, dx, StreamOf(context()));
  }

 private:
  const InfogainLossLayer& layer_;
  DType matrix_type_ = DType::kFP32;
  std::shared_ptr<void> memory_;
  InfogainMatrix matrix_;  // in memory_
};

GF_REGISTER(KernelRegistry, "cuda/InfogainLoss", KernelOf<InfogainLossLayer, InfogainLossKernel>);

}  // namespace
}  // namespace gf
