#include "layers/cuda/cudnn/own_convolution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "layers/cuda/batch_norm_kernels.h"
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

  void Run(const ConvolutionMemory& memory, void*) const override {
    const auto& [x, w, y, bias, sums] = memory;
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

  void Run(const ConvolutionMemory& memory, void* workspace) const override {
    const auto& [x, w, y, bias, sums] = memory;
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
  SplitConvolution(std::shared_ptr<CudnnConvolution> convolution, const EpilogueKernel& epilogue)
      : convolution_(std::move(convolution)), epilogue_(epilogue) {}

  size_t workspace_bytes() const override {
    return std::max(convolution_->workspace_bytes(), epilogue_.workspace_bytes());
  }
  std::string Describe() const override { return convolution_->Describe() + " and an epilogue"; }

  void Run(const ConvolutionMemory& memory, void* workspace) const override {
    convolution_->Run({memory.x, memory.w, memory.y}, workspace);
    epilogue_.Run(memory, workspace);
  }

 private:
  const std::shared_ptr<CudnnConvolution> convolution_;
  const EpilogueKernel epilogue_;
};

ColumnsView ResultsOf(const ConvolutionShape& s) {
  return {s.y_count() / s.outputs, static_cast<int>(s.outputs)};
}

}  // namespace

std::shared_ptr<CudnnConvolution> NewDirectPass(const ConvolutionRequest& request,
                                                cudaStream_t stream) {
  return std::make_shared<ByDefinition>(request, stream);
}

std::shared_ptr<CudnnConvolution> NewDepthwisePass(const ConvolutionRequest& request,
                                                   cudaStream_t stream) {
  const ConvolutionShape& shape = request.shape;
  if (!MayBeOwnDepthwise(shape.groups, shape.channels) || !DepthwiseFits(shape) ||
      request.epilogue.sums) {
    return nullptr;
  }
  return std::make_shared<ByDepthwiseKernels>(request, stream);
}

EpilogueKernel::EpilogueKernel(const ConvolutionRequest& request, CudaDevice* device)
    : request_(request),
      view_(ResultsOf(request.shape)),
      stream_(device->context().compute_stream()->get()),
      arrived_(request.epilogue.sums ? device->Allocate(ColumnCountersBytes(view_, request.type))
                                     : nullptr) {}

size_t EpilogueKernel::workspace_bytes() const {
  return request_.epilogue.sums ? ColumnSumsBytes(view_, request_.type, 2) : 0;
}

void EpilogueKernel::Run(const ConvolutionMemory& memory, void* workspace) const {
  const ConvolutionEpilogue& epilogue = request_.epilogue;
  if (epilogue.sums) {
    ChannelSums(view_, request_.type, memory.y, memory.sums, {workspace, arrived_.get()}, stream_);
  } else {
    AddBias(view_, request_.type, memory.y, memory.bias, epilogue.relu, stream_);
  }
}

std::shared_ptr<CudnnConvolution> WithEpilogue(std::shared_ptr<CudnnConvolution> convolution,
                                               const EpilogueKernel& epilogue) {
  return std::make_shared<SplitConvolution>(std::move(convolution), epilogue);
}

}  // namespace gf
