#include "layers/convolution.h"

#include "core/config/net.pb.h"

namespace gf {

bool ConvolutionLayer::relu() const { return param().fusion().relu(); }
bool ConvolutionLayer::sums() const { return param().fusion().sums(); }
DType ConvolutionLayer::TopType(int top, DType compute) const {
  return top == 0 ? compute : DType::kFP32;
}
bool ConvolutionLayer::relu_backward() const {
  return relu() && !param().fusion().relu_backward_done();
}

void ConvolutionLayer::ReadWindow() {
  const ConvolutionParameter& p = param().convolution_param();
  const auto all = [](const auto& values) {
    return std::vector<int64_t>(values.begin(), values.end());
  };
  window_.kernel = WindowField(*this, "kernel_size", all(p.kernel_size()), p.has_kernel_h(),
                               p.kernel_h(), p.has_kernel_w(), p.kernel_w(), 0);
  window_.stride = WindowField(*this, "stride", all(p.stride()), p.has_stride_h(), p.stride_h(),
                               p.has_stride_w(), p.stride_w(), 1);
  window_.pad = WindowField(*this, "pad", all(p.pad()), p.has_pad_h(), p.pad_h(), p.has_pad_w(),
                            p.pad_w(), 0);
  window_.dilation = WindowField(*this, "dilation", all(p.dilation()), false, 0, false, 0, 1);
  CheckWindow(*this, window_);
}

void ConvolutionLayer::SetUp(const std::vector<Shape>& bottoms) {
  const ConvolutionParameter& p = param().convolution_param();
  const Shape& bottom = bottoms[0];
  CheckImage(*this, bottom);
  if (p.axis() != 1 && p.axis() != -3) Fail("only axis 1 (channels) is supported");
  ReadWindow();

  const int64_t inputs = bottom[1], outputs = p.num_output();
  groups_ = p.group();
  if (outputs < 1) Fail("num_output is missing or zero");
  if (groups_ < 1) Fail("group must be at least 1");
  if (param().fusion().depthwise() && inputs != outputs) {
    Fail("a depthwise convolution has one filter per input channel: num_output is ", outputs,
         ", must be ", inputs);
  }
  if (inputs % groups_ != 0 || outputs % groups_ != 0) {
    Fail("group ", groups_, " must divide both the input channels (", inputs, ") and num_output (",
         outputs, ")");
  }
  tops_ = {Shape{bottom[0], outputs, TopExtent(0, bottom[2]), TopExtent(1, bottom[3])}};
  if (sums()) tops_.push_back(Shape{2, outputs});
  const Shape& images = transposed() ? tops_[0] : bottom;
  results_ = transposed() ? bottom : tops_[0];
  const Shape filters = {results_[1], images[1] / groups_, window_.kernel[0], window_.kernel[1]};
  parameters_ = {Parameter(0, "weight", filters, p.weight_filler())};
  if (p.bias_term()) parameters_.push_back(Parameter(1, "bias", Shape{outputs}, p.bias_filler()));
}

int64_t ConvolutionLayer::ForwardFlops() const {
  return 2 * results_.count() * parameters_[0].shape.count(1, 4);
}

int64_t ConvolutionLayer::TopExtent(int axis, int64_t bottom) const {
  const int64_t space = bottom + 2 * window_.pad[axis] - window_.extent(axis);
  if (space < 0) {
    Fail("the output would be empty: ", SideName(axis), " ", bottom, " with padding ",
         window_.pad[axis], " is smaller than the filter (", window_.extent(axis), ")");
  }
  return space / window_.stride[axis] + 1;
}

GF_REGISTER(LayerRegistry, "Convolution", ConvolutionLayer);

}  // namespace gf
