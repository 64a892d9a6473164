#include "layers/cuda/cudnn_convolution.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/error.h"
#include "core/error.h"
#include "layers/cuda/cudnn_graph.h"
#include "layers/cuda/direct_convolution_kernels.h"

namespace gf {
namespace {

enum Id : int64_t { kX = 1, kW = 2, kY = 3 };

// What cuDNN knows of one pass.
struct Graph {
  CudnnDescriptor x, w, y, convolution, operation;
};

CudnnDescriptor Images(Id id, DType type, int64_t n, int64_t c, const int64_t* size) {
  return CudnnTensor(id, type, {n, c, size[0], size[1]},
                     {size[0] * size[1] * c, 1, size[1] * c, c});
}

CudnnDescriptor ConvolutionOf(const ConvolutionShape& s) {
  const auto pair = [](const int64_t* v) { return std::vector<int64_t>{v[0], v[1]}; };
  CudnnDescriptor d(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  d.Set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2});
  d.Set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  d.Set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  d.Set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, pair(s.pad));
  d.Set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, pair(s.pad));
  d.Set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, pair(s.dilation));
  d.Set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, pair(s.stride));
  d.Finalize();
  return d;
}

// The names of a pass in cuDNN.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

PassNames NamesOf(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvolutionPass::kBackwardData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::kBackwardFilter:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

// Null where cuDNN refuses the shape.
std::unique_ptr<Graph> NewGraph(ConvolutionPass pass, const ConvolutionShape& s, DType type) {
  const PassNames names = NamesOf(pass);
  // cuDNN sees groups by the filters having fewer channels than the images.
  const int64_t inputs = s.channels / s.groups;
  const int64_t* k = s.kernel;
  auto graph = std::make_unique<Graph>(Graph{
      Images(kX, type, s.n, s.channels, s.in),
      CudnnTensor(kW, type, {s.outputs, inputs, k[0], k[1]},
                  {k[0] * k[1] * inputs, 1, k[1] * inputs, inputs}),
      Images(kY, type, s.n, s.outputs, s.out), ConvolutionOf(s), CudnnDescriptor(names.operation)});
  CudnnDescriptor& operation = graph->operation;
  operation.Set(names.convolution, graph->convolution);
  operation.Set(names.x, graph->x);
  operation.Set(names.w, graph->w);
  operation.Set(names.y, graph->y);
  operation.Set(names.alpha, CUDNN_TYPE_FLOAT, 1.f);
  operation.Set(names.beta, CUDNN_TYPE_FLOAT, 0.f);
  return operation.TryFinalize() ? std::move(graph) : nullptr;
}

class ByEngine : public CudnnConvolution {
 public:
  ByEngine(std::unique_ptr<Graph> graph, std::shared_ptr<CudnnPlan> plan)
      : graph_(std::move(graph)), plan_(std::move(plan)) {}

  size_t workspace_bytes() const override { return plan_->workspace_bytes; }

  void Run(void* x, void* w, void* y, void* workspace) const override {
    if (ExecutePlan(*plan_, {kX, kW, kY}, {x, w, y}, workspace)) return;
    FailCall("cuDNN", "cudnnBackendExecute", __FILE__, __LINE__, "a plan that was tried fails", "");
  }

 private:
  const std::unique_ptr<Graph> graph_;
  const std::shared_ptr<CudnnPlan> plan_;
};

class ByDefinition : public CudnnConvolution {
 public:
  ByDefinition(ConvolutionPass pass, const ConvolutionShape& shape, DType type, cudaStream_t stream)
      : pass_(pass), shape_(shape), type_(type), stream_(stream) {}

  size_t workspace_bytes() const override { return 0; }

  void Run(void* x, void* w, void* y, void*) const override {
    switch (pass_) {
      case ConvolutionPass::kForward:
        return DirectForward(shape_, type_, x, w, y, stream_);
      case ConvolutionPass::kBackwardData:
        return DirectBackwardData(shape_, type_, x, w, y, stream_);
      case ConvolutionPass::kBackwardFilter:
        return DirectBackwardFilter(shape_, type_, x, w, y, stream_);
    }
  }

 private:
  const ConvolutionPass pass_;
  const ConvolutionShape shape_;
  const DType type_;
  const cudaStream_t stream_;
};

// Milliseconds of some calls on scratch memory; infinity if it cannot.
class Trial {
 public:
  Trial(const ConvolutionShape& s, DType type, CudaDevice* device)
      : device_(device),
        x_(device->Allocate(s.x_count() * SizeOf(type))),
        w_(device->Allocate(s.w_count() * SizeOf(type))),
        y_(device->Allocate(s.y_count() * SizeOf(type))) {
    GF_CUDA(cudaEventCreate(&begin_));
    GF_CUDA(cudaEventCreate(&end_));
  }
  ~Trial() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  float Milliseconds(const CudnnPlan& plan) const {
    constexpr int kCalls = 3;
    constexpr float kCannot = 1e30f;
    const std::shared_ptr<void> workspace = device_->Allocate(plan.workspace_bytes);
    const cudaStream_t stream = device_->context().compute_stream()->get();
    const auto run = [&] {
      return ExecutePlan(plan, {kX, kW, kY}, {x_.get(), w_.get(), y_.get()}, workspace.get());
    };
    if (!run()) return kCannot;
    GF_CUDA(cudaEventRecord(begin_, stream));
    for (int i = 0; i < kCalls; ++i) run();
    GF_CUDA(cudaEventRecord(end_, stream));
    GF_CUDA(cudaEventSynchronize(end_));
    float time = kCannot;
    GF_CUDA(cudaEventElapsedTime(&time, begin_, end_));
    return time;
  }

  static bool Works(float milliseconds) { return milliseconds < 1e29f; }

 private:
  CudaDevice* const device_;
  const std::shared_ptr<void> x_, w_, y_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

std::shared_ptr<CudnnConvolution> Choose(ConvolutionPass pass, const ConvolutionShape& shape,
                                         DType type, bool deterministic, CudaDevice* device) {
  auto graph = NewGraph(pass, shape, type);
  std::shared_ptr<CudnnPlan> best;
  if (graph != nullptr) {
    CudnnLimits limits;
    limits.tensor_cores = type != DType::kFP32;
    limits.most_workspace = int64_t{512} << 20;
    const Trial trial(shape, type, device);
    float least = 0;
    for (const auto& plan : FindPlans(graph->operation, limits)) {
      const float time = trial.Milliseconds(*plan);
      if (!Trial::Works(time) || (best != nullptr && time >= least)) continue;
      best = plan;
      least = time;
      if (deterministic) break;
    }
  }
  if (best != nullptr) return std::make_shared<ByEngine>(std::move(graph), std::move(best));
  return std::make_shared<ByDefinition>(pass, shape, type,
                                        device->context().compute_stream()->get());
}

}  // namespace

std::shared_ptr<CudnnConvolution> FindConvolution(ConvolutionPass pass,
                                                  const ConvolutionShape& shape, DType type,
                                                  bool deterministic, CudaDevice* device) {
  static auto* const chosen = new std::map<std::string, std::shared_ptr<CudnnConvolution>>;
  std::string key = StrCat(static_cast<int>(pass), " ", Name(type), " ", deterministic, " ",
                           shape.n, " ", shape.channels, " ", shape.outputs, " ", shape.groups);
  for (int i = 0; i < 2; ++i) {
    key += StrCat(" ", shape.in[i], " ", shape.out[i], " ", shape.kernel[i], " ", shape.stride[i],
                  " ", shape.pad[i], " ", shape.dilation[i]);
  }
  std::shared_ptr<CudnnConvolution>& entry = (*chosen)[key];
  if (entry == nullptr) entry = Choose(pass, shape, type, deterministic, device);
  return entry;
}

}  // namespace gf
