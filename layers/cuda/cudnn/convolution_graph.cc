#include "layers/cuda/cudnn/convolution_graph.h"

#include <utility>

namespace gf {
namespace {

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

// cuDNN's names for a pass.
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

// Images N x H x W x C, `pitch` elements from pixel to pixel. `number`: any unused number for a
// tensor without memory.
CudnnDescriptor Images(int64_t number, DType type, int64_t n, int64_t c, int64_t pitch,
                       const int64_t* size, bool is_virtual = false) {
  return CudnnTensor(number, type, {n, c, size[0], size[1]},
                     {size[0] * size[1] * pitch, 1, size[1] * pitch, pitch}, is_virtual);
}

CudnnDescriptor Pointwise(cudnnPointwiseMode_t mode) {
  CudnnDescriptor d(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  d.Set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  if (mode == CUDNN_POINTWISE_RELU_FWD) {  // by default, a ReLU may turn NaN into 0
    d.Set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, CUDNN_PROPAGATE_NAN);
  }
  d.Set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  d.Finalize();
  return d;
}

// Adds descriptors to a graph.
class Builder {
 public:
  Builder() : graph_(std::make_unique<ConvolutionGraph>()) {}

  const CudnnDescriptor& Add(CudnnDescriptor descriptor) {
    graph_->descriptors.push_back(std::move(descriptor));
    return graph_->descriptors.back();
  }

  // Returns false if cuDNN rejects the operation.
  bool AddOperation(CudnnDescriptor operation) {
    if (!operation.TryFinalize()) return false;
    graph_->operations.push_back(&Add(std::move(operation)));
    return true;
  }

  // y = mode(x), or mode(x, b).
  bool AddPointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                    const CudnnDescriptor& y) {
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, Add(Pointwise(mode)));
    operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    operation.Set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return AddOperation(std::move(operation));
  }

  // Sums and sums of squares of y per channel.
  bool AddSums(const CudnnDescriptor& y, int64_t channels) {
    const auto row = [&](int64_t id) -> const CudnnDescriptor& {
      return Add(
          CudnnTensor(id, DType::kFP32, {1, channels, 1, 1}, {channels, 1, channels, channels}));
    };
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
    operation.Set(CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE,
                  CUDNN_GENSTATS_SUM_SQSUM);
    operation.Set(CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    operation.Set(CUDNN_ATTR_OPERATION_GENSTATS_XDESC, y);
    operation.Set(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, row(kSumsId));
    operation.Set(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, row(kSquaresId));
    return AddOperation(std::move(operation));
  }

  std::unique_ptr<ConvolutionGraph> Take() { return std::move(graph_); }

 private:
  std::unique_ptr<ConvolutionGraph> graph_;
};

}  // namespace

CudnnLimits ConvolutionLimits(DType type, bool allow_tf32) {
  CudnnLimits limits;
  limits.tensor_cores = type != DType::kFP32 || allow_tf32;
  limits.most_workspace = int64_t{512} << 20;
  return limits;
}

std::unique_ptr<ConvolutionGraph> NewConvolutionGraph(ConvolutionPass pass,
                                                      const ConvolutionShape& s, DType type,
                                                      const ConvolutionEpilogue& epilogue,
                                                      GraphGroups groups) {
  const PassNames names = NamesOf(pass);
  // cuDNN infers groups from filters that have fewer channels than the images.
  const int64_t inputs = s.channels / s.groups;
  const int64_t parts = groups == GraphGroups::kOne ? s.groups : 1;
  const int64_t channels = s.channels / parts, outputs = s.outputs / parts;
  const int64_t* k = s.kernel;
  Builder builder;
  // Results between two operations are never stored in memory.
  int64_t number = kFirstUnusedId;
  const auto between = [&]() -> const CudnnDescriptor& {
    return builder.Add(Images(number++, DType::kFP32, s.n, outputs, outputs, s.out,
                              /*is_virtual=*/true));
  };
  const CudnnDescriptor& x = builder.Add(Images(kImagesId, type, s.n, channels, s.channels, s.in));
  const CudnnDescriptor& w =
      builder.Add(CudnnTensor(kFiltersId, type, {outputs, inputs, k[0], k[1]},
                              {k[0] * k[1] * inputs, 1, k[1] * inputs, inputs}));
  const CudnnDescriptor& y = builder.Add(Images(kResultsId, type, s.n, outputs, s.outputs, s.out));
  const CudnnDescriptor* last = epilogue.bias || epilogue.relu ? &between() : &y;

  CudnnDescriptor convolution(names.operation);
  convolution.Set(names.convolution, builder.Add(ConvolutionOf(s)));
  convolution.Set(names.x, x);
  convolution.Set(names.w, w);
  convolution.Set(names.y, *last);
  convolution.Set(names.alpha, CUDNN_TYPE_FLOAT, 1.f);
  convolution.Set(names.beta, CUDNN_TYPE_FLOAT, 0.f);
  if (!builder.AddOperation(std::move(convolution))) return nullptr;
  if (epilogue.bias) {
    const CudnnDescriptor& bias =
        builder.Add(CudnnTensor(kBiasId, type, {1, outputs, 1, 1}, {outputs, 1, outputs, outputs}));
    const CudnnDescriptor& sum = epilogue.relu ? between() : y;
    if (!builder.AddPointwise(CUDNN_POINTWISE_ADD, *last, &bias, sum)) return nullptr;
    last = &sum;
  }
  if (epilogue.relu && !builder.AddPointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, y)) {
    return nullptr;
  }
  if (epilogue.sums) {
    // The sums of squares must be aligned, too.
    constexpr int64_t kAligned = kCudnnTensorAlignment / sizeof(float);
    if (outputs % kAligned != 0 || !builder.AddSums(y, outputs)) return nullptr;
  }
  return builder.Take();
}

}  // namespace gf
