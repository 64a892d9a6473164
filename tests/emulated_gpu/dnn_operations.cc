#include "tests/emulated_gpu/dnn_operations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tests/emulated_gpu/numbers.h"

namespace gf::emulated {
namespace {

using Sizes = std::array<int64_t, 4>;  // images, channels, height, width

// A tensor as an operation sees it.
struct Tensor {
  explicit Tensor(const Descriptor& d)
      : id(d.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
        is_virtual(d.Has(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
    const auto type_name = d.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    type = type_name == CUDNN_DATA_HALF       ? Number::kHalf
           : type_name == CUDNN_DATA_BFLOAT16 ? Number::kBfloat16
                                              : Number::kFloat;
    const auto sizes = d.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const auto steps = d.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    CHECK(sizes.size() == 4 && steps.size() == 4);
    std::copy(sizes.begin(), sizes.end(), dims.begin());
    std::copy(steps.begin(), steps.end(), strides.begin());
  }

  int64_t count() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  // In plain order.
  int64_t At(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return ((n * dims[1] + c) * dims[2] + h) * dims[3] + w;
  }
  // body(index in plain order, offset in memory)
  template <typename Body>
  void ForEach(const Body& body) const {
    int64_t i = 0;
    for (int64_t n = 0; n < dims[0]; ++n) {
      for (int64_t c = 0; c < dims[1]; ++c) {
        for (int64_t h = 0; h < dims[2]; ++h) {
          for (int64_t w = 0; w < dims[3]; ++w) {
            body(i++, n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3]);
          }
        }
      }
    }
  }

  int64_t id;
  bool is_virtual;
  Number type;
  Sizes dims, strides;
};

}  // namespace

class DnnMemory {
 public:
  DnnMemory(const Descriptor& pack, std::optional<float> last_ninth)
      : data_(DataOf(pack)), last_ninth_(last_ninth) {}

  // The values in plain order.
  std::vector<float> Read(const Tensor& t) const {
    if (t.is_virtual) return between_.at(t.id);
    std::vector<float> values(t.count());
    t.ForEach([&](int64_t i, int64_t at) { values[i] = Load(t.type, data_.at(t.id), at); });
    return values;
  }
  void Write(const Tensor& t, std::vector<float> values) {
    if (t.is_virtual) {
      between_[t.id] = std::move(values);
      return;
    }
    t.ForEach([&](int64_t i, int64_t at) {
      const auto factor = i < t.count() / 9 * 8 ? 1.f : last_ninth_;
      if (factor) Store(t.type, data_.at(t.id), at, values[i] * *factor);
    });
  }

 private:
  const std::map<int64_t, void*> data_;
  const std::optional<float> last_ninth_;
  std::map<int64_t, std::vector<float>> between_;
};

namespace {

struct Names {
  cudnnBackendAttributeName_t convolution, x, w, y;
};

// Of the three passes, null: not a convolution.
const Names* NamesOf(cudnnBackendDescriptorType_t type) {
  static const Names forward = {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  static const Names data = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                             CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
  static const Names filter = {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return &forward;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return &data;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return &filter;
    default:
      return nullptr;
  }
}

class Convolution : public DnnOperation {
 public:
  Convolution(const Descriptor& d, const Names& names)
      : pass_(d.type),
        x_(d.Other(names.x)),
        w_(d.Other(names.w)),
        y_(d.Other(names.y)),
        pad_(Pair(d, names, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)),
        post_pad_(Pair(d, names, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)),
        stride_(Pair(d, names, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)),
        dilation_(Pair(d, names, CUDNN_ATTR_CONVOLUTION_DILATIONS)) {}

  // Whether the shapes are those of a convolution.
  bool Fits() const override {
    for (int i = 0; i < 2; ++i) {
      const int64_t window = (w_.dims[2 + i] - 1) * dilation_[i] + 1;
      const int64_t size = x_.dims[2 + i] + pad_[i] + post_pad_[i];
      if (y_.dims[2 + i] != (size - window) / stride_[i] + 1) return false;
    }
    return x_.dims[0] == y_.dims[0] && w_.dims[0] == y_.dims[1] && x_.dims[1] % w_.dims[1] == 0 &&
           w_.dims[0] % (x_.dims[1] / w_.dims[1]) == 0;
  }

  bool OfHalves() const override { return x_.type != Number::kFloat; }
  bool Grouped() const override { return x_.dims[1] != w_.dims[1]; }

  void Do(DnnMemory* memory) const override {
    switch (pass_) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: {
        const std::vector<float> x = memory->Read(x_), w = memory->Read(w_);
        std::vector<float> y(y_.count());
        ForTaps([&](int64_t ix, int64_t iw, int64_t iy) { y[iy] += x[ix] * w[iw]; });
        return memory->Write(y_, y);
      }
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: {
        const std::vector<float> dy = memory->Read(y_), w = memory->Read(w_);
        std::vector<float> dx(x_.count());
        ForTaps([&](int64_t ix, int64_t iw, int64_t iy) { dx[ix] += dy[iy] * w[iw]; });
        return memory->Write(x_, dx);
      }
      default: {
        const std::vector<float> x = memory->Read(x_), dy = memory->Read(y_);
        std::vector<double> dw(w_.count());
        ForTaps([&](int64_t ix, int64_t iw, int64_t iy) {
          dw[iw] += static_cast<double>(x[ix]) * dy[iy];
        });
        return memory->Write(w_, {dw.begin(), dw.end()});
      }
    }
  }

 private:
  static std::array<int64_t, 2> Pair(const Descriptor& d, const Names& names,
                                     cudnnBackendAttributeName_t name) {
    const auto values = d.Other(names.convolution).All<int64_t>(name);
    CHECK_EQ(values.size(), 2u);
    return {values[0], values[1]};
  }

  // body(index in x, in w, in y) for all products.
  template <typename Body>
  void ForTaps(const Body& body) const {
    const int64_t inputs = w_.dims[1], outputs = w_.dims[0] / (x_.dims[1] / inputs);
    for (int64_t n = 0; n < y_.dims[0]; ++n) {
      for (int64_t k = 0; k < y_.dims[1]; ++k) {
        for (int64_t c = 0; c < inputs; ++c) {
          const int64_t channel = k / outputs * inputs + c;
          for (int64_t r = 0; r < w_.dims[2]; ++r) {
            for (int64_t s = 0; s < w_.dims[3]; ++s) {
              const int64_t tap = w_.At(k, c, r, s);
              for (int64_t p = 0; p < y_.dims[2]; ++p) {
                const int64_t h = p * stride_[0] - pad_[0] + r * dilation_[0];
                if (h < 0 || h >= x_.dims[2]) continue;
                for (int64_t q = 0; q < y_.dims[3]; ++q) {
                  const int64_t v = q * stride_[1] - pad_[1] + s * dilation_[1];
                  if (v >= 0 && v < x_.dims[3])
                    body(x_.At(n, channel, h, v), tap, y_.At(n, k, p, q));
                }
              }
            }
          }
        }
      }
    }
  }

  const cudnnBackendDescriptorType_t pass_;
  const Tensor x_, w_, y_;
  const std::array<int64_t, 2> pad_, post_pad_, stride_, dilation_;
};

class Pointwise : public DnnOperation {
 public:
  explicit Pointwise(const Descriptor& d)
      : mode_(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                  .One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)),
        keeps_nan_(KeepsNan(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR))),
        x_(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)),
        y_(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)) {
    if (mode_ == CUDNN_POINTWISE_ADD) {
      b_ = std::make_unique<Tensor>(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    }
  }

  void Do(DnnMemory* memory) const override {
    std::vector<float> values = memory->Read(x_);
    if (mode_ == CUDNN_POINTWISE_ADD) {
      // One value per channel.
      CHECK_EQ(b_->count(), x_.dims[1]);
      const std::vector<float> b = memory->Read(*b_);
      const int64_t pixels = x_.dims[2] * x_.dims[3];
      for (size_t i = 0; i < values.size(); ++i) values[i] += b[i / pixels % x_.dims[1]];
    } else {
      CHECK_EQ(mode_, CUDNN_POINTWISE_RELU_FWD);
      // Without the attribute NaN may become 0.
      for (float& value : values) value = value > 0 || (keeps_nan_ && value != value) ? value : 0;
    }
    memory->Write(y_, values);
  }

 private:
  static bool KeepsNan(const Descriptor& pointwise) {
    return pointwise.Has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) &&
           pointwise.One<cudnnNanPropagation_t>(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) ==
               CUDNN_PROPAGATE_NAN;
  }

  const cudnnPointwiseMode_t mode_;
  const bool keeps_nan_;
  const Tensor x_, y_;
  std::unique_ptr<Tensor> b_;
};

// Sums of a tensor and of its squares per channel.
class Sums : public DnnOperation {
 public:
  explicit Sums(const Descriptor& d)
      : x_(d.Other(CUDNN_ATTR_OPERATION_GENSTATS_XDESC)),
        sums_(d.Other(CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC)),
        squares_(d.Other(CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC)) {
    CHECK_EQ(d.One<cudnnGenStatsMode_t>(CUDNN_ATTR_OPERATION_GENSTATS_MODE),
             CUDNN_GENSTATS_SUM_SQSUM);
  }

  bool Fits() const override {
    return x_.type == Number::kHalf && sums_.type == Number::kFloat &&
           squares_.type == Number::kFloat && sums_.count() == x_.dims[1] &&
           squares_.count() == x_.dims[1];
  }

  void Do(DnnMemory* memory) const override {
    const std::vector<float> x = memory->Read(x_);
    std::vector<double> sums(x_.dims[1]), squares(x_.dims[1]);
    const int64_t pixels = x_.dims[2] * x_.dims[3];
    for (size_t i = 0; i < x.size(); ++i) {
      const int64_t channel = static_cast<int64_t>(i) / pixels % x_.dims[1];
      sums[channel] += x[i];
      squares[channel] += static_cast<double>(x[i]) * x[i];
    }
    memory->Write(sums_, {sums.begin(), sums.end()});
    memory->Write(squares_, {squares.begin(), squares.end()});
  }

 private:
  const Tensor x_, sums_, squares_;
};

}  // namespace

std::unique_ptr<DnnOperation> NewOperation(const Descriptor& d) {
  if (const Names* names = NamesOf(d.type)) return std::make_unique<Convolution>(d, *names);
  if (d.type == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR) return std::make_unique<Sums>(d);
  if (d.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return nullptr;
  return std::make_unique<Pointwise>(d);
}

std::map<int64_t, void*> DataOf(const Descriptor& pack) {
  const auto ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto data = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  CHECK_EQ(ids.size(), data.size());
  std::map<int64_t, void*> memory;
  for (size_t i = 0; i < ids.size(); ++i) memory[ids[i]] = data[i];
  return memory;
}

void DoOperations(const std::vector<std::shared_ptr<DnnOperation>>& operations,
                  const Descriptor& pack, std::optional<float> last_ninth) {
  DnnMemory memory(pack, last_ninth);
  for (const auto& operation : operations) operation->Do(&memory);
}

}  // namespace gf::emulated
