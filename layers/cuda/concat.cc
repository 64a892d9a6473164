#include "layers/concat.h"

#include <vector>

#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

// The top is rows of which each bottom has a part: pixels if channels are joined, else what lies in
// front of the axis.
class ConcatKernel : public RepeatingKernel {
 public:
  ConcatKernel(const ConcatLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Plan(KernelPlan* plan) override {
    const bool channels = layer_.axis() == 1 && plan->tops[0].shape.rank() > 2;
    const auto set = [&](TensorDesc* desc) {
      desc->layout = channels ? ImageLayout(desc->shape) : Layout();
    };
    set(&plan->tops[0]);
    const Shape& top = plan->tops[0].shape;
    rows_ = channels ? top.count() / top[1] : top.count(0, layer_.axis());
    row_ = plan->tops[0].bytes() / rows_;
    for (TensorDesc& bottom : plan->bottoms) {
      set(&bottom);
      pieces_.push_back(bottom.bytes() / rows_);
    }
  }

  void Forward(const KernelArgs& args) override {
    char* top = static_cast<char*>(args.tops[0]);
    for (size_t i = 0; i < pieces_.size(); top += pieces_[i++]) {
      Copy(args.bottoms[i], pieces_[i], top, row_, pieces_[i]);
    }
  }

  void Backward(const KernelArgs& args) override {
    const char* dy = static_cast<const char*>(args.top_diffs[0][0]);
    for (size_t i = 0; i < pieces_.size(); dy += pieces_[i++]) {
      if (args.bottom_diffs[i] == nullptr) continue;
      Copy(dy, row_, args.bottom_diffs[i], pieces_[i], pieces_[i]);
    }
  }

 private:
  // `bytes` of each row; rows lie at distances of `from_row` and `to_row` bytes.
  void Copy(const void* from, size_t from_row, void* to, size_t to_row, size_t bytes) const {
    GF_CUDA(cudaMemcpy2DAsync(to, to_row, from, from_row, bytes, rows_, cudaMemcpyDeviceToDevice,
                              StreamOf(context_)));
  }

  const ConcatLayer& layer_;
  const KernelContext context_;
  int64_t rows_ = 0;
  size_t row_ = 0;
  std::vector<size_t> pieces_;  // bytes of each bottom in a row
};

GF_REGISTER_KERNEL("cuda/Concat", ConcatLayer, ConcatKernel);

}  // namespace
}  // namespace gf
