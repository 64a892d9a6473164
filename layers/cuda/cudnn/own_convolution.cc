#include "layers/cuda/cudnn/own_convolution.h"

#include <string>
#include <utility>

#include "layers/cuda/bias_kernels.h"
#include "layers/cuda/depthwise_kernels.h"
#include "layers/cuda/direct_convolution_kernels.h"
#include "layers/depthwise.h"

namespace gf {
namespace {

class ByDefinition : public CudnnConvolution {
 public:
  ByDefinition(const ConvolutionRequest& request, cudaStream_t stream)
      : pass_(request.pass), shape_(request.shape), type_(request.type), stream_(stream) {}

  size_t workspace_bytes() const override { return 0; }
  std::string Describe() const override { return "by definition"; }

  void Run(void* x, void* w, void* y, void*, void*) const override {
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

class ByDepthwiseKernels : public CudnnConvolution {
 public:
  ByDepthwiseKernels(const ConvolutionRequest& request, cudaStream_t stream)
      : request_(request), stream_(stream) {}

  size_t workspace_bytes() const override {
    if (request_.pass != ConvolutionPass::kBackwardFilter) return 0;
    return DepthwiseFilterBytes(request_.shape, request_.type);
  }
  std::string Describe() const override { return "own depthwise kernels"; }

  void Run(void* x, void* w, void* y, void* bias, void* workspace) const override {
    const ConvolutionShape& shape = request_.shape;
    const ConvolutionEpilogue& epilogue = request_.epilogue;
    switch (request_.pass) {
      case ConvolutionPass::kForward:
        return DepthwiseForward(shape, request_.type, x, w, epilogue.bias ? bias : nullptr,
                                epilogue.relu, y, stream_);
      case ConvolutionPass::kBackwardData:
        return DepthwiseBackwardData(shape, request_.type, x, w, y, stream_);
      case ConvolutionPass::kBackwardFilter:
        return DepthwiseBackwardFilter(shape, request_.type, x, w, y, workspace, stream_);
    }
  }

 private:
  const ConvolutionRequest request_;
  const cudaStream_t stream_;
};

class SplitConvolution : public CudnnConvolution {
 public:
  SplitConvolution(std::shared_ptr<CudnnConvolution> convolution, const ConvolutionRequest& request,
                   cudaStream_t stream)
      : convolution_(std::move(convolution)), request_(request), stream_(stream) {}

  size_t workspace_bytes() const override { return convolution_->workspace_bytes(); }
  std::string Describe() const override { return convolution_->Describe() + " and an epilogue"; }

  void Run(void* x, void* w, void* y, void* bias, void* workspace) const override {
    convolution_->Run(x, w, y, nullptr, workspace);
    ApplyEpilogue(request_, y, bias, stream_);
  }

 private:
  const std::shared_ptr<CudnnConvolution> convolution_;
  const ConvolutionRequest request_;
  const cudaStream_t stream_;
};

}  // namespace

std::shared_ptr<CudnnConvolution> NewDirectPass(const ConvolutionRequest& request,
                                                cudaStream_t stream) {
  return std::make_shared<ByDefinition>(request, stream);
}

std::shared_ptr<CudnnConvolution> NewDepthwisePass(const ConvolutionRequest& request,
                                                   cudaStream_t stream) {
  const ConvolutionShape& shape = request.shape;
  if (!MayBeOwnDepthwise(shape.groups, shape.channels) || !DepthwiseFits(shape)) return nullptr;
  return std::make_shared<ByDepthwiseKernels>(request, stream);
}

std::shared_ptr<CudnnConvolution> WithEpilogue(std::shared_ptr<CudnnConvolution> convolution,
                                               const ConvolutionRequest& request,
                                               cudaStream_t stream) {
  return std::make_shared<SplitConvolution>(std::move(convolution), request, stream);
}

void ApplyEpilogue(const ConvolutionRequest& request, void* y, void* bias, cudaStream_t stream) {
  const ConvolutionShape& s = request.shape;
  const ColumnsView view = {s.y_count() / s.outputs, static_cast<int>(s.outputs)};
  AddBias(view, request.type, y, request.epilogue.bias ? bias : nullptr, request.epilogue.relu,
          stream);
}

}  // namespace gf
