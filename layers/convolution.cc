#include "layers/convolution.h"

#include "core/config/net.pb.h"

namespace gf {

bool ConvolutionLayer::relu() const { return param().fusion().relu(); }
bool ConvolutionLayer::relu_backward() const {
  return relu() && !param().fusion().relu_backward_done();
}

void ConvolutionLayer::SetUp(const std::vector<Shape>& bottoms) {
  const ConvolutionParameter& p = param().convolution_param();
  const Shape& bottom = bottoms[0];
  CheckImage(*this, bottom);
  if (p.axis() != 1 && p.axis() != -3) Fail("only axis 1 (channels) is supported");
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
  int64_t size[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t space = bottom[2 + i] + 2 * window_.pad[i] - window_.extent(i);
    if (space < 0) {
      Fail("the output would be empty: ", i == 0 ? "height " : "width ", bottom[2 + i],
           " with padding ", window_.pad[i], " is smaller than the filter (", window_.extent(i),
           ")");
    }
    size[i] = space / window_.stride[i] + 1;
  }
  tops_ = {Shape{bottom[0], outputs, size[0], size[1]}};
  parameters_ = {Parameter(0, "weight",
                           Shape{outputs, inputs / groups_, window_.kernel[0], window_.kernel[1]},
                           p.weight_filler())};
  if (p.bias_term()) parameters_.push_back(Parameter(1, "bias", Shape{outputs}, p.bias_filler()));
}

int64_t ConvolutionLayer::ForwardFlops() const {
  return 2 * tops_[0].count() * parameters_[0].shape.count(1, 4);
}

GF_REGISTER(LayerRegistry, "Convolution", ConvolutionLayer);

}  // namespace gf
