#include "layers/infogain_loss.h"

#include <cmath>
#include <vector>

#include "layers/cpu/elementwise.h"
#include "layers/cpu/softmax_loss.h"

namespace gf {
namespace {

class InfogainLossKernel : public SoftmaxLossKernel {
 public:
  InfogainLossKernel(const InfogainLossLayer& layer, const KernelContext& context)
      : SoftmaxLossKernel(layer, context), classes_(layer.view().classes), matrix_(layer.matrix()) {
    row_sums_.resize(classes_);
    SumRows();
  }

  void Setup(KernelSetup* setup) override {
    SoftmaxLossKernel::Setup(setup);
    if (setup->bottoms.size() > 2) matrix_type_ = setup->bottoms[2].dtype;
  }

  void Forward(const KernelArgs& args) override {
    if (args.bottoms.size() > 2) {
      matrix_.resize(classes_ * classes_);
      for (int64_t i = 0; i < classes_ * classes_; ++i) {
        matrix_[i] = LoadElement(args.bottoms[2], i, matrix_type_);
      }
      SumRows();
    }
    SoftmaxLossKernel::Forward(args);
  }

 protected:
  // log(probability) = x - max - log(sum)
  float Loss(const SoftmaxSpan& span, const SoftmaxSums& sums, int j, const void* x,
             int64_t label) const override {
    const float* const row = matrix_.data() + label * classes_;
    const float log_sum = std::log(sums.sum[j]);
    double loss = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      const float log_p = LoadElement(x, c * span.stride + j, type()) - sums.max[j] - log_sum;
      // A NaN stays one.
      loss -= double{row[c]} * (log_p < kInfogainLeastLog ? kInfogainLeastLog : log_p);
    }
    return static_cast<float>(loss);
  }

  void Gradient(const SoftmaxSpan& span, const float* p, const Weighted& own,
                void* dx) const override {
    for (int64_t c = 0; c < classes_; ++c) {
      for (int j = 0; j < span.width; ++j) {
        const int64_t i = c * span.stride + j;
        float gradient = 0;
        if (own.factor[j] != 0) {
          const int64_t label = own.labels[j];
          gradient = p[i] * row_sums_[label] - matrix_[label * classes_ + c];
        }
        StoreElement(dx, i, type(), own.factor[j] * gradient);
      }
    }
  }

 private:
  void SumRows() {
    if (matrix_.empty()) return;
    for (int64_t row = 0; row < classes_; ++row) {
      double sum = 0;
      for (int64_t c = 0; c < classes_; ++c) sum += matrix_[row * classes_ + c];
      row_sums_[row] = static_cast<float>(sum);
    }
  }

  const int64_t classes_;
  DType matrix_type_ = DType::kFP32;
  std::vector<float> matrix_;  // by rows; empty before a first Forward with a third bottom
  std::vector<float> row_sums_;
};

GF_REGISTER(KernelRegistry, "cpu/InfogainLoss", KernelOf<InfogainLossLayer, InfogainLossKernel>);

}  // namespace
}  // namespace gf
