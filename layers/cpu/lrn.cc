#include "layers/lrn.h"

#include <memory>
#include <unordered_map>

#include "core/cpu/dnnl.h"
#include "layers/cpu/lrn_within_channel.h"
#include "layers/kernel.h"

namespace gf {
namespace {

using dnnl::lrn_backward;
using dnnl::lrn_forward;

class LrnAcrossChannels : public Kernel {
 public:
  explicit LrnAcrossChannels(const LrnLayer& layer) : layer_(layer) {}

  void Plan(KernelPlan* plan) override {
    plan->tops[0].layout = plan->bottoms[0].layout;
    plan->needs_bottom[0] = plan->backward;
    desc_ = ToDnnl(plan->bottoms[0]);
    const auto algorithm = dnnl::algorithm::lrn_across_channels;
    const auto kind =
        plan->backward ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const lrn_forward::primitive_desc forward(
        {kind, algorithm, desc_, layer_.size(), layer_.alpha(), layer_.beta(), layer_.k()},
        DnnlEngine());
    forward_ = lrn_forward(forward);
    workspace_ = forward.workspace_desc();
    plan->saved_bytes = workspace_.get_size();
    if (!plan->backward) return;
    backward_ = lrn_backward(lrn_backward::primitive_desc(
        {algorithm, desc_, desc_, layer_.size(), layer_.alpha(), layer_.beta(), layer_.k()},
        DnnlEngine(), forward));
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

// One of the two regions.
class LrnKernel : public Kernel {
 public:
  LrnKernel(const LrnLayer& layer, const KernelContext& context) {
    if (layer.within_channel()) {
      region_ = NewLrnWithinChannel(layer, context);
    } else {
      region_ = std::make_unique<LrnAcrossChannels>(layer);
    }
  }
  void Plan(KernelPlan* plan) override { region_->Plan(plan); }
  void Forward(const KernelArgs& args) override { region_->Forward(args); }
  void Backward(const KernelArgs& args) override { region_->Backward(args); }

 private:
  std::unique_ptr<Kernel> region_;
};

GF_REGISTER(KernelRegistry, "cpu/LRN", KernelOf<LrnLayer, LrnKernel>);

}  // namespace
}  // namespace gf
