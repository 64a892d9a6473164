#include "core/cpu/dnnl_api.h"

#include <glog/logging.h>

#include <algorithm>
#include <vector>

namespace gf {
namespace {

using dnnl::memory;

#if DNNL_VERSION_MAJOR >= 3

int Rank(const memory::desc& desc) { return desc.get_ndims(); }
memory::dims Strides(const memory::desc& desc) { return desc.get_strides(); }
int InnerBlocks(const memory::desc& desc) { return desc.get_inner_nblks(); }
memory::dims BlockSizes(const memory::desc& desc) { return desc.get_inner_blks(); }
memory::dims BlockAxes(const memory::desc& desc) { return desc.get_inner_idxs(); }

memory::format_tag TagOf(const memory::desc& desc) {
  const memory::dims dims = desc.get_dims();
  for (int i = dnnl_format_tag_any + 1; i < dnnl_format_tag_last; ++i) {
    const auto tag = static_cast<memory::format_tag>(i);
    const memory::desc candidate(dims, desc.get_data_type(), tag, /*allow_empty=*/true);
    // Empty: the tag is for another number of axes.
    if (candidate.get(/*allow_empty=*/true) != nullptr && candidate == desc) return tag;
  }
  return memory::format_tag::undef;
}

#else

const dnnl_blocking_desc_t& Blocking(const memory::desc& desc) {
  return desc.data.format_desc.blocking;
}
int Rank(const memory::desc& desc) { return desc.data.ndims; }
const dnnl_dim_t* Strides(const memory::desc& desc) { return Blocking(desc).strides; }
int InnerBlocks(const memory::desc& desc) { return Blocking(desc).inner_nblks; }
const dnnl_dim_t* BlockSizes(const memory::desc& desc) { return Blocking(desc).inner_blks; }
const dnnl_dim_t* BlockAxes(const memory::desc& desc) { return Blocking(desc).inner_idxs; }

#endif

}  // namespace

memory::dims DnnlDims(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

memory::data_type DnnlType(const memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type();
#else
  return desc.data_type();
#endif
}

std::string DnnlLayoutName(const memory::desc& desc) {
  const auto strides = Strides(desc);
  const auto sizes = BlockSizes(desc), axes = BlockAxes(desc);
  const int blocks = InnerBlocks(desc);
  std::vector<int> order(Rank(desc));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return strides[a] > strides[b]; });
  std::string name;
  for (const int axis : order) {
    bool blocked = false;
    for (int b = 0; b < blocks; ++b) blocked |= axes[b] == axis;
    name += static_cast<char>((blocked ? 'A' : 'a') + axis);
  }
  for (int b = 0; b < blocks; ++b) {
    name += std::to_string(sizes[b]);
    name += static_cast<char>('a' + axes[b]);
  }
  return name;
}

std::vector<std::vector<int64_t>> DnnlAxisOffsets(const memory::desc& desc) {
  const auto strides = Strides(desc);
  const auto sizes = BlockSizes(desc), axes = BlockAxes(desc);
  const memory::dims dims = DnnlDims(desc);
  std::vector<std::vector<int64_t>> offsets(dims.size());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    for (int64_t index = 0; index < dims[axis]; ++index) {
      // Takes the digits of the index, innermost block first; the rest counts whole blocks.
      int64_t rest = index, offset = 0, inner = 1;
      for (int b = InnerBlocks(desc) - 1; b >= 0; --b) {
        if (axes[b] == static_cast<int64_t>(axis)) {
          offset += rest % sizes[b] * inner;
          rest /= sizes[b];
        }
        inner *= sizes[b];
      }
      offsets[axis].push_back(offset + rest * strides[axis]);
    }
  }
  return offsets;
}

DnnlOrder::DnnlOrder(const memory::desc& desc) : desc_(desc) {
#if DNNL_VERSION_MAJOR >= 3
  tag_ = TagOf(desc);
#endif
}

memory::desc DnnlOrder::With(memory::data_type type) const {
  if (DnnlType(desc_) == type) return desc_;
#if DNNL_VERSION_MAJOR >= 3
  CHECK(tag_ != memory::format_tag::undef) << "no format " << DnnlLayoutName(desc_);
  return memory::desc(desc_.get_dims(), type, tag_);
#else
  memory::desc result = desc_;
  result.data.data_type = memory::convert_to_c(type);
  return result;
#endif
}

bool DnnlHas(dnnl::cpu_isa instructions) {
  // One bit per extension.
  const auto wanted = static_cast<unsigned>(instructions);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

std::string DnnlIsaName() {
  using isa = dnnl::cpu_isa;
  switch (dnnl::get_effective_cpu_isa()) {
    case isa::sse41:
      return "SSE4.1";
    case isa::avx:
      return "AVX";
    case isa::avx2:
    case isa::avx2_vnni:
      return "AVX2";
    case isa::avx512_core:
    case isa::avx512_core_vnni:
      return "AVX-512";
    case isa::avx512_core_bf16:
      return "AVX-512 with BF16";
    case isa::avx512_core_amx:
      return "AMX";
#if DNNL_VERSION_MAJOR >= 3
    case isa::avx2_vnni_2:
      return "AVX2";
    case isa::avx512_core_fp16:
      return "AVX-512 with BF16";
    case isa::avx512_core_amx_fp16:
      return "AMX";
#endif
    default:
      return "baseline";
  }
}

dnnl::eltwise_forward::primitive_desc DnnlEltwiseForward(dnnl::prop_kind kind,
                                                         dnnl::algorithm algorithm,
                                                         const memory::desc& data, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  return {DnnlEngine(), kind, algorithm, data, data, alpha, 0.f};
#else
  return {{kind, algorithm, data, alpha, 0.f}, DnnlEngine()};
#endif
}

dnnl::eltwise_backward::primitive_desc DnnlEltwiseBackward(
    dnnl::algorithm algorithm, const memory::desc& data, float alpha,
    const dnnl::eltwise_forward::primitive_desc& hint) {
#if DNNL_VERSION_MAJOR >= 3
  return {DnnlEngine(), algorithm, data, data, data, alpha, 0.f, hint};
#else
  return {{algorithm, data, data, alpha, 0.f}, DnnlEngine(), hint};
#endif
}

dnnl::lrn_forward::primitive_desc DnnlLrnForward(dnnl::prop_kind kind, const DnnlLrn& lrn,
                                                 const memory::desc& data) {
  const auto algorithm = dnnl::algorithm::lrn_across_channels;
#if DNNL_VERSION_MAJOR >= 3
  return {DnnlEngine(), kind, algorithm, data, data, lrn.size, lrn.alpha, lrn.beta, lrn.k};
#else
  return {{kind, algorithm, data, lrn.size, lrn.alpha, lrn.beta, lrn.k}, DnnlEngine()};
#endif
}

dnnl::lrn_backward::primitive_desc DnnlLrnBackward(const DnnlLrn& lrn, const memory::desc& data,
                                                   const dnnl::lrn_forward::primitive_desc& hint) {
  const auto algorithm = dnnl::algorithm::lrn_across_channels;
#if DNNL_VERSION_MAJOR >= 3
  return {DnnlEngine(), algorithm, data, data, data, lrn.size, lrn.alpha, lrn.beta, lrn.k, hint};
#else
  return {{algorithm, data, data, lrn.size, lrn.alpha, lrn.beta, lrn.k}, DnnlEngine(), hint};
#endif
}

void AppendRelu(dnnl::post_ops* ops) {
#if DNNL_VERSION_MAJOR >= 3
  ops->append_eltwise(dnnl::algorithm::eltwise_relu, 0.f, 0.f);
#else
  ops->append_eltwise(1.f, dnnl::algorithm::eltwise_relu, 0.f, 0.f);
#endif
}

}  // namespace gf
