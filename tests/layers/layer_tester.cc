#include "tests/layers/layer_tester.h"

#include <glog/logging.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/cpu/dnnl.h"
#include "core/cuda/channels_last.h"
#include "core/random.h"

namespace gf {
namespace {

// The layout in which the producer of a bottom would leave it.
Layout ProducedLayout(const Shape& shape, const RunOptions& options) {
  const std::string& format = options.format;
  if (format == "plain" || shape.rank() != 4) return Layout();
  if (options.device == "cuda") return ImageLayout(shape);
  const auto tag = format == "nhwc"       ? dnnl::memory::format_tag::nhwc
                   : format == "blocked8" ? dnnl::memory::format_tag::nChw8c
                                          : dnnl::memory::format_tag::nChw16c;
  return FromDnnl(dnnl::memory::desc(shape.dims(), dnnl::memory::data_type::f32, tag));
}

// So that FP32 and BF16 kernels start from the same numbers.
void RoundToBF16(Values* values) {
  for (float& value : *values) value = FromBF16(ToBF16(value));
}

}  // namespace

Values RandomValues(int64_t count, uint64_t seed, float scale, float mean) {
  Random random(seed, StreamId(RandomUse::kInit, 99));
  Values values(count);
  for (float& value : values) value = mean + scale * random.Gaussian();
  RoundToBF16(&values);
  return values;
}

std::unique_ptr<Layer> MakeLayer(const LayerCase& test) {
  LayerParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(test.prototxt, &param)) << test.prototxt;
  param.set_name("tested");
  for (size_t i = 0; i < test.bottoms.size(); ++i) param.add_bottom(StrCat("bottom", i));
  for (int i = 0; i < test.tops; ++i) param.add_top(StrCat("top", i));
  auto layer = LayerRegistry::Get().Create("layer type", param.type(), param, test.phase,
                                           std::string("net.prototxt:7:1"));
  layer->SetUp(test.bottoms);
  return layer;
}

LayerRun::LayerRun(const LayerCase& test, const RunOptions& options)
    : test_(test), options_(options) {
  device_ = DeviceRegistry::Get().Create("device", options.device, options.threads);
  layer_ = MakeLayer(test);
  KernelContext context;
  context.device = device_.get();
  context.compute = options.compute;
  context.seed = options.seed;
  context.layer_index = options.layer_index;
  context.batch_norm_group = options.batch_norm_group;
  context.allow_tf32 = options.allow_tf32;
  kernel_ = KernelRegistry::Get().Create("kernel", options.device + "/" + layer_->type(), *layer_,
                                         context);

  setup_.backward = options.backward;
  for (size_t i = 0; i < test.bottoms.size(); ++i) {
    const int index = static_cast<int>(i);
    const Shape& shape = test.bottoms[i];
    const bool wanted = options.propagate.empty() || options.propagate[i];
    setup_.propagate.push_back(options.backward && wanted && layer_->Differentiable(index));
    setup_.bottoms.push_back(
        test.IsLabel(index) ? TensorDesc{shape, DType::kINT64, Layout()}
                            : TensorDesc{shape, options.compute, ProducedLayout(shape, options)});
  }
  for (size_t i = 0; i < layer_->tops().size(); ++i) {
    setup_.tops.push_back(
        {layer_->tops()[i], layer_->TopType(static_cast<int>(i), options.compute), Layout()});
  }
  for (const ParameterSpec& spec : layer_->parameters()) {
    setup_.parameters.push_back({spec.shape, options.compute, Layout()});
  }
  setup_.needs_bottom.resize(setup_.bottoms.size());
  setup_.needs_top.resize(setup_.tops.size());
  kernel_->Setup(&setup_);

  for (size_t i = 0; i < setup_.bottoms.size(); ++i) {
    bottoms_.push_back(New(setup_.bottoms[i]));
    bottom_values_.push_back(RandomValues(setup_.bottoms[i].shape.count(), 100 * test.seed + i));
    bottom_diffs_.push_back(setup_.propagate[i] ? New(setup_.bottoms[i]) : Tensor());
  }
  for (size_t i = 0; i < setup_.tops.size(); ++i) {
    tops_.push_back(New(setup_.tops[i]));
    top_diff_values_.push_back(RandomValues(setup_.tops[i].shape.count(), 200 * test.seed + i));
    top_diffs_.emplace_back();
    const int pieces = i == 0 ? options.top_diffs : 1;
    for (int k = 0; k < pieces; ++k) top_diffs_.back().push_back(New(setup_.tops[i]));
  }
  for (size_t i = 0; i < setup_.parameters.size(); ++i) {
    TensorDesc desc = setup_.parameters[i];
    parameters_.push_back(New(desc));
    parameter_diffs_.push_back(New(desc));
    desc.dtype = DType::kFP32;
    master_.push_back(New(desc));
    parameter_values_.emplace_back();
    SetParameter(static_cast<int>(i),
                 RandomValues(desc.shape.count(), 300 * test.seed + i, 0.5f, i == 0 ? 0.3f : 0));
  }
  for (const StateSpec& spec : layer_->states()) {
    states_.push_back(New({spec.shape, DType::kFP32, Layout()}));
    state_values_.emplace_back(spec.shape.count(), spec.initial);
  }
  const auto bytes = [&](size_t count) {
    return New({Shape{static_cast<int64_t>(count)}, DType::kUINT8, Layout()});
  };
  if (setup_.saved_bytes > 0) saved_ = bytes(setup_.saved_bytes);
  if (setup_.forward_scratch_bytes > 0) forward_scratch_ = bytes(setup_.forward_scratch_bytes);
  if (setup_.backward_scratch_bytes > 0) backward_scratch_ = bytes(setup_.backward_scratch_bytes);
  EXPECT_FALSE(setup_.in_place && setup_.needs_bottom[0]) << "in_place overwrites the bottom";
  if (options.in_place && setup_.in_place) tops_[0].data = bottoms_[0].data;
  const int shared = setup_.in_place_backward_bottom;
  if (options.in_place && setup_.in_place_backward && setup_.propagate[shared]) {
    bottom_diffs_[shared].data = top_diffs_[0][0].data;
  }
  if (options.in_place && setup_.gradient_over_bottom && setup_.propagate[0]) {
    bottom_diffs_[0].data = bottoms_[0].data;
  }
}

Tensor LayerRun::New(const TensorDesc& desc) const {
  Tensor tensor;
  tensor.desc = desc;
  tensor.owner = device_->Allocate(desc.bytes());
  tensor.data = tensor.owner.get();
  return tensor;
}

// All bits set: NaN in every floating type.
void LayerRun::Poison(const Tensor& tensor) const {
  if (tensor.data == nullptr) return;
  const std::vector<char> ones(tensor.desc.bytes(), static_cast<char>(0xff));
  device_->CopyFromHost(ones.data(), tensor.data, ones.size(), device_->compute_stream());
  device_->compute_stream()->Synchronize();
}

void LayerRun::Write(const Tensor& tensor, const Values& values) const {
  CHECK_EQ(tensor.desc.shape.count(), static_cast<int64_t>(values.size()));
  Tensor plain = New({tensor.desc.shape, DType::kFP32, Layout()});
  device_->CopyFromHost(values.data(), plain.data, plain.desc.bytes(), device_->compute_stream());
  device_->Convert(plain, tensor, device_->compute_stream());
  device_->compute_stream()->Synchronize();
}

Values LayerRun::Read(const Tensor& tensor) const {
  Tensor plain = New({tensor.desc.shape, DType::kFP32, Layout()});
  device_->Convert(tensor, plain, device_->compute_stream());
  Values values(tensor.desc.shape.count());
  device_->CopyToHost(plain.data, values.data(), plain.desc.bytes(), device_->compute_stream());
  device_->compute_stream()->Synchronize();
  return values;
}

void LayerRun::SetBottom(int i, const Values& values) {
  CHECK_EQ(test_.bottoms[i].count(), static_cast<int64_t>(values.size()));
  bottom_values_[i] = values;
}

void LayerRun::SetLabels(const std::vector<int64_t>& labels) { test_.labels = labels; }

void LayerRun::SetParameter(int i, const Values& values) {
  parameter_values_[i] = values;
  Write(parameters_[i], values);
  Write(master_[i], values);
  ++args_.parameters_version;
}

void LayerRun::UploadBottom(int i) {
  if (!test_.IsLabel(i)) return Write(bottoms_[i], bottom_values_[i]);
  CHECK_EQ(test_.bottoms[i].count(), static_cast<int64_t>(test_.labels.size()));
  device_->CopyFromHost(test_.labels.data(), bottoms_[i].data, bottoms_[i].desc.bytes(),
                        device_->compute_stream());
}

void LayerRun::Forward() {
  for (const Tensor& top : tops_) Poison(top);
  for (const Tensor* tensor : {&saved_, &forward_scratch_, &backward_scratch_}) Poison(*tensor);
  for (size_t i = 0; i < bottoms_.size(); ++i) UploadBottom(static_cast<int>(i));
  for (size_t i = 0; i < states_.size(); ++i) Write(states_[i], state_values_[i]);
  KernelArgs& args = args_;
  args.bottoms.clear(), args.tops.clear(), args.parameters.clear(), args.master.clear();
  args.states.clear();
  for (const Tensor& t : bottoms_) args.bottoms.push_back(t.data);
  for (const Tensor& t : tops_) args.tops.push_back(t.data);
  for (const Tensor& t : parameters_) args.parameters.push_back(t.data);
  for (const Tensor& t : master_) args.master.push_back(t.as<float>());
  for (const Tensor& t : states_) args.states.push_back(t.as<float>());
  args.saved = saved_.data;
  args.scratch = forward_scratch_.data;
  args.batch = options_.batch;
  args.sequence = options_.sequence;
  args.loss_scale = options_.loss_scale;
  Enqueue(kernel_->ForwardRepeats(), &forward_, [&] { kernel_->Forward(args); });
  device_->compute_stream()->Synchronize();
}

void LayerRun::Enqueue(bool repeats, std::unique_ptr<Recording>* recording,
                       const std::function<void()>& call) {
  if (!recorded_ || !repeats) return call();
  if (*recording == nullptr) *recording = device_->Record(call);
  ASSERT_NE(*recording, nullptr) << layer_->type() << " cannot be recorded";
  (*recording)->Replay();
}

bool LayerRun::Recompute() {
  if (!kernel_->CanRecompute()) return false;
  Poison(tops_[0]);
  KernelArgs args = args_;
  args.scratch = nullptr;
  kernel_->Recompute(args);
  device_->compute_stream()->Synchronize();
  return true;
}

void LayerRun::Backward() {
  for (size_t i = 0; i < bottom_diffs_.size(); ++i) {
    if (bottom_diffs_[i].data != bottoms_[i].data) Poison(bottom_diffs_[i]);
  }
  for (const Tensor& t : parameter_diffs_) Poison(t);
  // What the setup does not ask for is gone by now.
  const bool in_place = options_.in_place && setup_.in_place;
  for (size_t i = 0; i < bottoms_.size(); ++i) {
    if (!setup_.needs_bottom[i] && !(i == 0 && in_place)) Poison(bottoms_[i]);
  }
  for (size_t i = 0; i < tops_.size(); ++i) {
    if (!setup_.needs_top[i]) Poison(tops_[i]);
  }
  KernelArgs args = args_;
  args.scratch = backward_scratch_.data;
  for (size_t i = 0; i < tops_.size(); ++i) {
    args.top_diffs.emplace_back();
    if (layer_->LossWeight(0) != 0) continue;  // gradients start at losses
    // The gradient in pieces: random ones, and what is missing.
    Values rest = top_diff_values_[i];
    for (size_t k = 0; k < top_diffs_[i].size(); ++k) {
      Values piece = rest;
      if (k + 1 < top_diffs_[i].size()) piece = RandomValues(rest.size(), 400 + k);
      for (size_t j = 0; j < rest.size(); ++j) rest[j] -= piece[j];
      Write(top_diffs_[i][k], piece);
      args.top_diffs[i].push_back(top_diffs_[i][k].data);
    }
  }
  for (const Tensor& t : bottom_diffs_) args.bottom_diffs.push_back(t.data);
  for (const Tensor& t : parameter_diffs_) args.parameter_diffs.push_back(t.data);
  Enqueue(kernel_->BackwardRepeats(), &backward_, [&] { kernel_->Backward(args); });
  device_->compute_stream()->Synchronize();
}

double LayerRun::Objective() const {
  double sum = 0;
  const bool loss = layer_->LossWeight(0) != 0;
  for (size_t i = 0; i < tops_.size(); ++i) {
    const int index = static_cast<int>(i);
    if (loss && !IsLoss(index)) continue;
    const Values top = Top(index);
    for (size_t j = 0; j < top.size(); ++j) {
      sum += double{top[j]} *
             (loss ? layer_->LossWeight(index) * options_.loss_scale : top_diff_values_[i][j]);
    }
  }
  return sum;
}

double LayerRun::PaddingOf(const Tensor& tensor) const {
  if (tensor.data == nullptr || tensor.desc.layout.plain()) return 0;
  // Where ones end up is data, the rest is padding.
  TensorDesc desc = tensor.desc;
  desc.dtype = DType::kFP32;
  const Tensor ones = New(desc);
  Write(ones, Values(desc.shape.count(), 1));
  Values data(desc.storage_count());
  device_->CopyToHost(ones.data, data.data(), ones.desc.bytes(), device_->compute_stream());
  std::vector<char> storage(tensor.desc.bytes());
  device_->CopyToHost(tensor.data, storage.data(), storage.size(), device_->compute_stream());
  device_->compute_stream()->Synchronize();
  double largest = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    if (data[i] != 0) continue;
    float value = 0;
    if (tensor.desc.dtype == DType::kBF16) {
      uint16_t bits;
      std::memcpy(&bits, storage.data() + i * 2, 2);
      value = FromBF16(bits);
    } else {
      std::memcpy(&value, storage.data() + i * 4, 4);
    }
    largest = std::isnan(value) ? std::numeric_limits<double>::infinity()
                                : std::max<double>(largest, std::fabs(value));
  }
  return largest;
}

double LayerRun::TopPadding() const {
  double largest = 0;
  for (const Tensor& tensor : tops_) largest = std::max(largest, PaddingOf(tensor));
  return largest;
}

double LayerRun::GradientPadding() const {
  double largest = 0;
  for (const auto* tensors : {&bottom_diffs_, &parameter_diffs_}) {
    for (const Tensor& tensor : *tensors) largest = std::max(largest, PaddingOf(tensor));
  }
  return largest;
}

double Rms(const Values& values) {
  double sum = 0;
  for (float value : values) sum += double{value} * value;
  return std::sqrt(sum / std::max<size_t>(1, values.size()));
}

void ExpectNear(const Values& a, const Values& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  const double rms = Rms(b);
  int wrong = 0;
  for (size_t i = 0; i < a.size() && wrong < 5; ++i) {
    const double scale = std::max<double>({std::fabs(a[i]), std::fabs(b[i]), rms});
    if (std::fabs(double{a[i]} - b[i]) <= tolerance * scale) continue;
    ++wrong;
    ADD_FAILURE() << what << "[" << i << "]: " << a[i] << ", expected " << b[i];
  }
}

double RelativeError(const Values& a, const Values& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

std::string SetUpError(const LayerCase& test) {
  try {
    MakeLayer(test);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

}  // namespace gf
