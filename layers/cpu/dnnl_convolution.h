#pragma once

#include <string>

#include "core/cpu/dnnl.h"
#include "layers/convolution.h"
#include "layers/kernel.h"

namespace gf {

// The type of arithmetic of all convolutions that have no reason for another one, see Note [FP32
// arithmetic on BF16 tensors] (layers/cpu/weighted.h).
DType ConvolutionMath(const KernelContext& context);

// The convolution of a layer for oneDNN. Images, filters and results: Note [Images and results]
// (layers/convolution.h).
struct DnnlConvolution {
  using Fwd = dnnl::convolution_forward;
  using BwdW = dnnl::convolution_backward_weights;
  using BwdD = dnnl::convolution_backward_data;

  // Without a bias. oneDNN chooses all layouts. `math`: the type of all tensors.
  DnnlConvolution(const ConvolutionLayer& layer, const KernelSetup& setup, DType math);

  // The same for images and results in these layouts.
  DnnlConvolution With(const dnnl::memory::desc& images, const dnnl::memory::desc& results) const;

  // The three passes; `hint` is a description of the forward pass.
  Fwd::primitive_desc Forward(const dnnl::primitive_attr& attr, dnnl::prop_kind kind) const;
  BwdW::primitive_desc BackwardWeights(const dnnl::primitive_attr& attr,
                                       const Fwd::primitive_desc& hint) const;
  BwdD::primitive_desc BackwardData(const dnnl::primitive_attr& attr,
                                    const Fwd::primitive_desc& hint) const;

  dnnl::memory::desc images, filters, results;
  dnnl::memory::desc bias;  // empty: none
  dnnl::memory::dims stride, dilates, pad, pad_right;
};

// describe(given), a pass in the layouts of others, if oneDNN is fast with it; describe(any), in
// the layouts that oneDNN prefers, if it only has its slow reference implementation otherwise.
template <typename Describe>
auto FastPass(const DnnlConvolution& given, const DnnlConvolution& any, const Describe& describe) {
  auto pass = describe(given);
  if (std::string(pass.impl_info_str()).rfind("ref", 0) == 0) pass = describe(any);
  return pass;
}

}  // namespace gf
