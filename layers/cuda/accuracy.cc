#include "layers/accuracy.h"

#include "core/config/net.pb.h"
#include "layers/cuda/labels.h"
#include "layers/cuda/softmax_kernels.h"
#include "layers/labels.h"

namespace gf {
namespace {

class AccuracyKernel : public Kernel {
 public:
  AccuracyKernel(const AccuracyLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    type_ = setup->bottoms[0].dtype;
    counts_bytes_ = 2 * layer_.view().classes * sizeof(int);
    setup->forward_scratch_bytes = counts_bytes_;
  }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    SoftmaxLoss call;
    call.view = view;
    call.type = type_;
    call.labels = static_cast<const int64_t*>(args.bottoms[1]);
    call.samples = CountedSamples(args, view.outer);
    call.has_ignored = layer_.param().accuracy_param().has_ignore_label();
    call.ignored = layer_.param().accuracy_param().ignore_label();
    CountLabels(layer_, view, HostLabels(args, args.bottoms[1], view, context_).data(),
                call.samples, [&](int64_t label) { return layer_.Ignored(label); });
    const cudaStream_t stream = StreamOf(context_);
    int* const counts = static_cast<int*>(args.scratch);
    GF_CUDA(cudaMemsetAsync(counts, 0, counts_bytes_, stream));
    CountRight(call, args.bottoms[0], layer_.top_k(), counts, stream);
    RightShares(view.classes, counts, static_cast<float*>(args.tops[0]),
                args.tops.size() > 1 ? static_cast<float*>(args.tops[1]) : nullptr, stream);
  }

 private:
  const AccuracyLayer& layer_;
  const KernelContext context_;
  DType type_ = DType::kFP32;
  size_t counts_bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Accuracy", KernelOf<AccuracyLayer, AccuracyKernel>);

}  // namespace
}  // namespace gf
