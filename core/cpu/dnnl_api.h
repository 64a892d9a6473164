#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <string>
#include <vector>

// What oneDNN 2 and oneDNN 3 spell differently. Only dnnl_api.h and dnnl_api.cc ask for the
// version; all other code runs with both.

namespace gf {

// The oneDNN engine of this process.
dnnl::engine& DnnlEngine();

dnnl::memory::dims DnnlDims(const dnnl::memory::desc& desc);
dnnl::memory::data_type DnnlType(const dnnl::memory::desc& desc);

// A layout as oneDNN names it, for example "aBcd16b": axes from outermost to innermost, capitals
// are blocked, then the blocks.
std::string DnnlLayoutName(const dnnl::memory::desc& desc);

// By axis the offset of each index in elements; an element lies at the sum of its axes' offsets.
std::vector<std::vector<int64_t>> DnnlAxisOffsets(const dnnl::memory::desc& desc);

// An order of elements in memory, whatever their type.
class DnnlOrder {
 public:
  explicit DnnlOrder(const dnnl::memory::desc& desc);

  // The tensor of this order with elements of this type.
  dnnl::memory::desc With(dnnl::memory::data_type type) const;

 private:
  dnnl::memory::desc desc_;
#if DNNL_VERSION_MAJOR >= 3
  // oneDNN 3 does not change the type of a description, so a new one is made from its format.
  // Undefined if oneDNN has no name for the format.
  dnnl::memory::format_tag tag_ = dnnl::memory::format_tag::undef;
#endif
};

// The same order of elements with another type.
inline dnnl::memory::desc Retyped(const dnnl::memory::desc& desc, dnnl::memory::data_type type) {
  return DnnlType(desc) == type ? desc : DnnlOrder(desc).With(type);
}

// Whether oneDNN uses all of these instructions on this processor.
bool DnnlHas(dnnl::cpu_isa instructions);
// The widest instructions that oneDNN uses on this processor.
std::string DnnlIsaName();

// `args`: what the primitive's description takes, from the kind of propagation (forward passes) or
// the algorithm on. Throws dnnl::error if oneDNN cannot compute this.
template <typename Primitive, typename... Args>
typename Primitive::primitive_desc DnnlForward(const dnnl::primitive_attr& attr,
                                               const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(DnnlEngine(), args..., attr);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(args...), attr, DnnlEngine());
#endif
}

// `hint`: the description of the forward pass.
template <typename Primitive, typename Hint, typename... Args>
typename Primitive::primitive_desc DnnlBackward(const dnnl::primitive_attr& attr, const Hint& hint,
                                                const Args&... args) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(DnnlEngine(), args..., hint, attr);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(args...), attr, DnnlEngine(),
                                            hint);
#endif
}

// Elementwise functions and LRN: `data` describes every tensor of both passes.
dnnl::eltwise_forward::primitive_desc DnnlEltwiseForward(dnnl::prop_kind kind,
                                                         dnnl::algorithm algorithm,
                                                         const dnnl::memory::desc& data,
                                                         float alpha);
dnnl::eltwise_backward::primitive_desc DnnlEltwiseBackward(
    dnnl::algorithm algorithm, const dnnl::memory::desc& data, float alpha,
    const dnnl::eltwise_forward::primitive_desc& hint);

struct DnnlLrn {
  int64_t size;
  float alpha, beta, k;
};
dnnl::lrn_forward::primitive_desc DnnlLrnForward(dnnl::prop_kind kind, const DnnlLrn& lrn,
                                                 const dnnl::memory::desc& data);
dnnl::lrn_backward::primitive_desc DnnlLrnBackward(const DnnlLrn& lrn,
                                                   const dnnl::memory::desc& data,
                                                   const dnnl::lrn_forward::primitive_desc& hint);

// A ReLU on the result of a primitive.
void AppendRelu(dnnl::post_ops* ops);

}  // namespace gf
