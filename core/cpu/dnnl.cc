#include "core/cpu/dnnl.h"

#include <glog/logging.h>
#include <omp.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/error.h"

namespace gf {
namespace {

using dnnl::memory;

class DnnlLayout : public DeviceLayout {
 public:
  explicit DnnlLayout(const memory::desc& desc)
      : order_(desc), desc_(order_.With(memory::data_type::f32)) {}

  memory::desc With(memory::data_type type) const { return order_.With(type); }

  bool Equals(const DeviceLayout& other) const override {
    const auto* that = dynamic_cast<const DnnlLayout*>(&other);
    return that != nullptr && desc_ == that->desc_;
  }

  int64_t StorageCount() const override {
    return static_cast<int64_t>(desc_.get_size() / sizeof(float));
  }

  std::string Name() const override { return DnnlLayoutName(desc_); }

  std::vector<std::vector<int64_t>> AxisOffsets() const override { return DnnlAxisOffsets(desc_); }

 private:
  DnnlOrder order_;
  // With one type for all tensors, so that equal orders compare equal regardless of type.
  memory::desc desc_;
};

memory::format_tag PlainTag(int rank) {
  using tag = memory::format_tag;
  static const tag kTags[] = {tag::undef, tag::a,     tag::ab,    tag::abc,
                              tag::abcd,  tag::abcde, tag::abcdef};
  CHECK(rank >= 1 && rank <= 6) << "rank " << rank;
  return kTags[rank];
}

// CPU time of this thread, so that other load on the machine does not count.
double ThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Best time in seconds of a convolution on one thread.
double TimeConvolution(memory::data_type type) {
  const memory::dims source = {1, 128, 28, 28}, weights = {128, 128, 3, 3};
  const auto any = [&](const memory::dims& dims) {
    return memory::desc(dims, type, memory::format_tag::any);
  };
  const memory::dims ones = {1, 1};
  const auto pd = DnnlForward<dnnl::convolution_forward>(
      dnnl::primitive_attr(), dnnl::prop_kind::forward_inference,
      dnnl::algorithm::convolution_direct, any(source), any(weights), any(source), ones, ones,
      ones);
  const auto zeros = [](const memory::desc& desc) {
    memory m(desc, DnnlEngine());
    std::memset(m.get_data_handle(), 0, desc.get_size());
    return m;
  };
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, zeros(pd.src_desc())},
                                                     {DNNL_ARG_WEIGHTS, zeros(pd.weights_desc())},
                                                     {DNNL_ARG_DST, zeros(pd.dst_desc())}};
  const dnnl::convolution_forward convolution(pd);
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const double start = ThreadSeconds();
    convolution.execute(DnnlStream(), arguments);
    DnnlStream().wait();
    best = std::min(best, ThreadSeconds() - start);
  }
  return best;
}

}  // namespace

bool BF16IsFast() {
  static const bool fast = [] {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    bool result = false;
    try {
      result = TimeConvolution(memory::data_type::bf16) <= TimeConvolution(memory::data_type::f32);
    } catch (const dnnl::error&) {
    }
    omp_set_num_threads(threads);
    return result;
  }();
  return fast;
}

dnnl::engine& DnnlEngine() {
  static auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& DnnlStream() {
  static auto* stream = new dnnl::stream(DnnlEngine());
  return *stream;
}

memory::data_type ToDnnl(DType type) {
  switch (type) {
    case DType::kFP32:
      return memory::data_type::f32;
    case DType::kFP16:
      return memory::data_type::f16;
    case DType::kBF16:
      return memory::data_type::bf16;
    case DType::kUINT8:
      return memory::data_type::u8;
    case DType::kINT64:
      break;
  }
  LOG(FATAL) << "oneDNN has no " << Name(type);
  return memory::data_type::undef;
}

memory::desc ToDnnl(const TensorDesc& desc) {
  if (desc.layout.plain()) return PlainDesc(desc.shape, desc.dtype);
  const auto* layout = dynamic_cast<const DnnlLayout*>(desc.layout.device());
  CHECK(layout != nullptr) << desc.layout.Name();
  // The same order of elements applies to every type (master FP32, compute BF16).
  return layout->With(ToDnnl(desc.dtype));
}

memory::desc PlainDesc(const Shape& shape, DType type) {
  return memory::desc(shape.dims(), ToDnnl(type), PlainTag(shape.rank()));
}

memory::desc AnyDesc(const Shape& shape, DType type) {
  return memory::desc(shape.dims(), ToDnnl(type), memory::format_tag::any);
}

Layout FromDnnl(const memory::desc& desc) {
  const memory::dims dims = DnnlDims(desc);
  const memory::format_tag plain = PlainTag(static_cast<int>(dims.size()));
  if (desc == memory::desc(dims, DnnlType(desc), plain)) return {};
  return Layout(std::make_shared<DnnlLayout>(desc));
}

}  // namespace gf
