// The part of cuDNN's graph interface that convolutions need, on the emulated GPU: forward and
// backward convolutions in two dimensions, then pointwise additions and ReLUs. Two engines are
// proposed: one that says of itself that its results are not reproducible and must not be taken,
// and one that computes by the definition.

#include <cudnn.h>
#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/emulated_gpu/numbers.h"
#include "tests/emulated_gpu/streams.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

using gf::emulated::Number;

struct Descriptor;
using Shared = std::shared_ptr<Descriptor>;

// Has a share in those that it was given: their handles may be destroyed before it.
struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> attributes;
  std::map<cudnnBackendAttributeName_t, std::vector<Shared>> others;
  bool finalized = false;
  bool reproducible = true;  // engines and their configurations

  bool Has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }

  template <typename T>
  std::vector<T> All(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T One(cudnnBackendAttributeName_t name) const {
    const std::vector<T> all = All<T>(name);
    CHECK_EQ(all.size(), 1u) << name;
    return all[0];
  }
  const Descriptor& Other(cudnnBackendAttributeName_t name) const {
    CHECK_EQ(others.at(name).size(), 1u) << name;
    return *others.at(name)[0];
  }
};

const Shared& Of(cudnnBackendDescriptor_t d) { return *static_cast<Shared*>(d); }

size_t SizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    default:
      return 4;  // FLOAT and enumerations
  }
}

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

// Where the operations of a graph find their tensors: memory by id, and what is virtual.
class Memory {
 public:
  explicit Memory(const Descriptor& pack) {
    const auto ids = pack.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto data = pack.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    CHECK_EQ(ids.size(), data.size());
    for (size_t i = 0; i < ids.size(); ++i) data_[ids[i]] = data[i];
  }

  // The values in plain order.
  std::vector<float> Read(const Tensor& t) const {
    if (t.is_virtual) return between_.at(t.id);
    std::vector<float> values(t.count());
    t.ForEach(
        [&](int64_t i, int64_t at) { values[i] = gf::emulated::Load(t.type, data_.at(t.id), at); });
    return values;
  }
  void Write(const Tensor& t, std::vector<float> values) {
    if (t.is_virtual) {
      between_[t.id] = std::move(values);
      return;
    }
    t.ForEach(
        [&](int64_t i, int64_t at) { gf::emulated::Store(t.type, data_.at(t.id), at, values[i]); });
  }

 private:
  std::map<int64_t, void*> data_;
  std::map<int64_t, std::vector<float>> between_;
};

struct Operation {
  virtual ~Operation() = default;
  virtual void Do(Memory* memory) const = 0;
};

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

class Convolution : public Operation {
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
  bool Fits() const {
    for (int i = 0; i < 2; ++i) {
      const int64_t window = (w_.dims[2 + i] - 1) * dilation_[i] + 1;
      const int64_t size = x_.dims[2 + i] + pad_[i] + post_pad_[i];
      if (y_.dims[2 + i] != (size - window) / stride_[i] + 1) return false;
    }
    return x_.dims[0] == y_.dims[0] && w_.dims[0] == y_.dims[1] && x_.dims[1] % w_.dims[1] == 0 &&
           w_.dims[0] % (x_.dims[1] / w_.dims[1]) == 0;
  }

  void Do(Memory* memory) const override {
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

class Pointwise : public Operation {
 public:
  explicit Pointwise(const Descriptor& d)
      : mode_(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                  .One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)),
        x_(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)),
        y_(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)) {
    if (mode_ == CUDNN_POINTWISE_ADD) {
      b_ = std::make_unique<Tensor>(d.Other(CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
    }
  }

  void Do(Memory* memory) const override {
    std::vector<float> values = memory->Read(x_);
    if (mode_ == CUDNN_POINTWISE_ADD) {
      // One value per channel.
      CHECK_EQ(b_->count(), x_.dims[1]);
      const std::vector<float> b = memory->Read(*b_);
      const int64_t pixels = x_.dims[2] * x_.dims[3];
      for (size_t i = 0; i < values.size(); ++i) values[i] += b[i / pixels % x_.dims[1]];
    } else {
      CHECK_EQ(mode_, CUDNN_POINTWISE_RELU_FWD);
      for (float& value : values) value = value < 0 ? 0 : value;
    }
    memory->Write(y_, values);
  }

 private:
  const cudnnPointwiseMode_t mode_;
  const Tensor x_, y_;
  std::unique_ptr<Tensor> b_;
};

std::unique_ptr<Operation> NewOperation(const Descriptor& d) {
  if (const Names* names = NamesOf(d.type)) return std::make_unique<Convolution>(d, *names);
  return std::make_unique<Pointwise>(d);
}

constexpr int64_t kWorkspace = 1024;

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "an error of the emulated cuDNN"; }
void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (bytes > 0) *message = '\0';
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* d) {
  *d = new Shared(std::make_shared<Descriptor>(Descriptor{type, {}, {}}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  delete static_cast<Shared*>(d);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  if (Of(d)->finalized) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::vector<Shared> others;
    for (int64_t i = 0; i < count; ++i) {
      others.push_back(Of(static_cast<const cudnnBackendDescriptor_t*>(values)[i]));
      if (!others.back()->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    }
    Of(d)->others[name] = others;
    return CUDNN_STATUS_SUCCESS;
  }
  const char* const data = static_cast<const char*>(values);
  Of(d)->attributes[name].assign(data, data + count * SizeOf(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  Descriptor* const own = Of(d).get();
  if (own->finalized) return CUDNN_STATUS_BAD_PARAM;
  if (const Names* names = NamesOf(own->type)) {
    if (!Convolution(*own, *names).Fits()) return CUDNN_STATUS_BAD_PARAM;
  }
  own->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t* count,
                                       void* values) {
  Descriptor* const own = Of(d).get();
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      *count = 2;
      for (int64_t i = 0; i < std::min<int64_t>(wanted, 2); ++i) {
        Descriptor* const config = Of(static_cast<cudnnBackendDescriptor_t*>(values)[i]).get();
        config->others = own->others;  // with the graph
        config->reproducible = i == 1;
        config->finalized = true;
      }
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      Descriptor* const engine = Of(*static_cast<cudnnBackendDescriptor_t*>(values)).get();
      engine->reproducible = own->reproducible;
      engine->finalized = true;
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *count = own->reproducible ? 0 : 1;
      if (*count > 0 && wanted > 0) {
        *static_cast<cudnnBackendNumericalNote_t*>(values) = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
      }
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *count = 1;
      *static_cast<int64_t*>(values) = kWorkspace;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (!Of(plan)->finalized || !Of(pack)->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  const Descriptor& config = Of(plan)->Other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  CHECK(config.reproducible) << "this engine must not be taken";
  const Descriptor& graph = config.Other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  std::vector<std::shared_ptr<Operation>> operations;
  for (const Shared& d : graph.others.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    operations.push_back(NewOperation(*d));
  }
  const auto workspace = Of(pack)->One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  gf::emulated::Enqueue(handle->stream, [operations, workspace, memory = Memory(*Of(pack))] {
    std::memset(workspace, 0xee, kWorkspace);
    Memory own = memory;
    for (const auto& operation : operations) operation->Do(&own);
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
