#include "layers/lrn.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "core/cpu/dnnl.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/lrn_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

using dnnl::lrn_backward;
using dnnl::lrn_forward;

class LrnAcrossChannels : public Kernel {
 public:
  explicit LrnAcrossChannels(const LrnLayer& layer) : layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    setup->tops[0].layout = setup->bottoms[0].layout;
    setup->needs_bottom[0] = setup->backward;
    desc_ = ToDnnl(setup->bottoms[0]);
    const auto kind =
        setup->backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const DnnlLrn lrn = {layer_.size(), layer_.alpha(), layer_.beta(), layer_.k()};
    const auto forward = DnnlLrnForward(kind, lrn, desc_);
    forward_ = lrn_forward(forward);
    workspace_ = forward.workspace_desc();
    setup->saved_bytes = workspace_.get_size();
    if (!setup->backward) return;
    backward_ = lrn_backward(DnnlLrnBackward(lrn, desc_, forward));
  }

  void Forward(const KernelArgs& args) override {
    Run(forward_, args.saved,
        {{DNNL_ARG_SRC, DnnlMemory(desc_, args.bottoms[0])},
         {DNNL_ARG_DST, DnnlMemory(desc_, args.tops[0])}});
  }

  void Backward(const KernelArgs& args) override {
    Run(backward_, args.saved,
        {{DNNL_ARG_SRC, DnnlMemory(desc_, args.bottoms[0])},
         {DNNL_ARG_DIFF_DST, DnnlMemory(desc_, args.top_diffs[0][0])},
         {DNNL_ARG_DIFF_SRC, DnnlMemory(desc_, args.bottom_diffs[0])}});
  }

 private:
  void Run(const dnnl::primitive& primitive, void* saved,
           std::unordered_map<int, dnnl::memory> arguments) {
    if (workspace_.get_size() > 0) {
      arguments.emplace(DNNL_ARG_WORKSPACE, DnnlMemory(workspace_, saved));
    }
    primitive.execute(DnnlStream(), arguments);
    DnnlStream().wait();
  }

  const LrnLayer& layer_;
  dnnl::memory::desc desc_, workspace_;
  lrn_forward forward_;
  lrn_backward backward_;
};

class LrnWithinChannel : public Kernel {
 public:
  LrnWithinChannel(const LrnLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(Lrn(), type_)) {}

  void Setup(KernelSetup* setup) override {
    setup->bottoms[0].layout = setup->tops[0].layout = Layout();
    const Shape& shape = setup->bottoms[0].shape;
    planes_ = shape.count(0, 2);
    window_ = {shape[2], shape[3], layer_.size(), layer_.alpha(), layer_.beta()};
    saved_ = setup->backward;
    if (saved_) setup->saved_bytes = shape.count() * sizeof(float);  // scale
    setup->needs_bottom[0] = setup->backward;
    setup->in_place = !setup->backward;
    setup->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    const int64_t plane = window_.height * window_.width;
    ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(5 * plane);
      for (int64_t i = begin; i < end; ++i) {
        float* scale =
            saved_ ? static_cast<float*>(args.saved) + i * plane : scratch.data() + 4 * plane;
        functions_.forward(window_, At(args.bottoms[0], i * plane, type_),
                           At(args.tops[0], i * plane, type_), scale, scratch.data());
      }
    });
  }

  void Backward(const KernelArgs& args) override {
    const int64_t plane = window_.height * window_.width;
    ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> scratch(4 * plane);
      for (int64_t i = begin; i < end; ++i) {
        functions_.backward(window_, At(args.bottoms[0], i * plane, type_),
                            At(args.top_diffs[0][0], i * plane, type_),
                            static_cast<const float*>(args.saved) + i * plane,
                            At(args.bottom_diffs[0], i * plane, type_), scratch.data());
      }
    });
  }

 private:
  const LrnLayer& layer_;
  DType type_;
  const LrnFunctions& functions_;
  LrnWindow window_ = {};
  int64_t planes_ = 0;
  bool saved_ = false;
};

// The kernel for the layer's region.
class LrnKernel : public Kernel {
 public:
  LrnKernel(const LrnLayer& layer, const KernelContext& context) {
    if (layer.within_channel()) {
      region_ = std::make_unique<LrnWithinChannel>(layer, context);
    } else {
      region_ = std::make_unique<LrnAcrossChannels>(layer);
    }
  }
  void Setup(KernelSetup* setup) override { region_->Setup(setup); }
  void Forward(const KernelArgs& args) override { region_->Forward(args); }
  void Backward(const KernelArgs& args) override { region_->Backward(args); }

 private:
  std::unique_ptr<Kernel> region_;
};

GF_REGISTER(KernelRegistry, "cpu/LRN", KernelOf<LrnLayer, LrnKernel>);

}  // namespace
}  // namespace gf
