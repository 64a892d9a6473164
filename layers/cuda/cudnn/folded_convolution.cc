#include "layers/cuda/cudnn/folded_convolution.h"

#include <string>
#include <utility>

#include "layers/cuda/cudnn/graph.h"
#include "layers/cuda/fold_kernels.h"

namespace gf {
namespace {

constexpr int64_t kMostChannels = 4, kMostFoldedChannels = 64;
constexpr int64_t kPackOfChannels = 8;

int64_t RoundUp(int64_t value, int64_t factor) { return (value + factor - 1) / factor * factor; }

struct Foldings {
  Folding images, filters;
};

Foldings FoldingsOf(const ConvolutionShape& s, FoldWidth width) {
  Foldings f;
  for (int i = 0; i < 2; ++i) {
    // The first tap of the first result is pixel -pad: the first block that is read begins at
    // -border, the next multiple of the stride.
    const int64_t border = RoundUp(s.pad[i], s.stride[i]), shift = border - s.pad[i];
    const int64_t covered = RoundUp(s.kernel[i] + shift, s.stride[i]);
    const int64_t block = i == 1 && width == FoldWidth::kFilters ? covered : s.stride[i];
    const int64_t taps = covered / block;
    f.images.size[i] = static_cast<int>(s.in[i]);
    f.images.folded_size[i] = static_cast<int>(s.out[i] + taps - 1);
    f.images.shift[i] = static_cast<int>(border);
    f.images.stride[i] = static_cast<int>(s.stride[i]);
    f.filters.size[i] = static_cast<int>(s.kernel[i]);
    f.filters.folded_size[i] = static_cast<int>(taps);
    f.filters.shift[i] = static_cast<int>(shift);
    f.images.block[i] = f.filters.block[i] = f.filters.stride[i] = static_cast<int>(block);
  }
  f.images.n = s.n;
  f.filters.n = s.outputs;
  for (Folding* folding : {&f.images, &f.filters}) {
    folding->channels = static_cast<int>(s.channels);
    folding->folded_channels = static_cast<int>(
        RoundUp(s.channels * folding->block[0] * folding->block[1], kPackOfChannels));
  }
  return f;
}

class FoldedConvolution : public CudnnConvolution {
 public:
  FoldedConvolution(const ConvolutionRequest& request, FoldWidth width,
                    std::shared_ptr<CudnnConvolution> convolution, cudaStream_t stream)
      : type_(request.type),
        gradient_(request.pass == ConvolutionPass::kBackwardFilter),
        foldings_(FoldingsOf(request.shape, width)),
        convolution_(std::move(convolution)),
        stream_(stream) {}

  size_t workspace_bytes() const override {
    return Bytes(foldings_.images) + Bytes(foldings_.filters) + convolution_->workspace_bytes();
  }
  std::string Describe() const override { return convolution_->Describe() + ", folded"; }

  void Run(const ConvolutionMemory& memory, void* workspace) const override {
    ConvolutionMemory folded = memory;
    folded.x = workspace;
    folded.w = static_cast<char*>(folded.x) + Bytes(foldings_.images);
    void* const rest = static_cast<char*>(folded.w) + Bytes(foldings_.filters);
    Fold(foldings_.images, type_, memory.x, folded.x, stream_);
    if (!gradient_) Fold(foldings_.filters, type_, memory.w, folded.w, stream_);
    convolution_->Run(folded, rest);
    if (gradient_) Unfold(foldings_.filters, type_, folded.w, memory.w, stream_);
  }

 private:
  // Aligned as workspaces are.
  size_t Bytes(const Folding& folding) const {
    return RoundUp(folding.folded_count() * static_cast<int64_t>(SizeOf(type_)),
                   kCudnnWorkspaceAlignment);
  }

  const DType type_;
  const bool gradient_;  // of the filters
  const Foldings foldings_;
  const std::shared_ptr<CudnnConvolution> convolution_;
  const cudaStream_t stream_;
};

}  // namespace

bool CanFold(const ConvolutionRequest& request) {
  const ConvolutionShape& s = request.shape;
  const bool tensor_cores = request.type != DType::kFP32 || request.allow_tf32;
  const int64_t block = s.stride[0] * s.stride[1];
  return tensor_cores && request.pass != ConvolutionPass::kBackwardData && s.groups == 1 &&
         s.dilation[0] == 1 && s.dilation[1] == 1 && block > 1 && s.kernel[0] >= s.stride[0] &&
         s.kernel[1] >= s.stride[1] && s.channels <= kMostChannels &&
         s.channels * block <= kMostFoldedChannels;
}

ConvolutionRequest FoldedRequest(const ConvolutionRequest& request, FoldWidth width) {
  const Foldings foldings = FoldingsOf(request.shape, width);
  ConvolutionRequest folded = request;
  folded.shape.channels = foldings.images.folded_channels;
  for (int i = 0; i < 2; ++i) {
    folded.shape.in[i] = foldings.images.folded_size[i];
    folded.shape.kernel[i] = foldings.filters.folded_size[i];
    folded.shape.stride[i] = 1;
    folded.shape.pad[i] = 0;
  }
  return folded;
}

std::shared_ptr<CudnnConvolution> NewFoldedPass(const ConvolutionRequest& request, FoldWidth width,
                                                std::shared_ptr<CudnnConvolution> convolution,
                                                cudaStream_t stream) {
  return std::make_shared<FoldedConvolution>(request, width, std::move(convolution), stream);
}

}  // namespace gf
