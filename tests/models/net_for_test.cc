#include "tests/models/net_for_test.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/random.h"

namespace gf {

Device* TestDevice() {
  const char* const name = std::getenv("GF_TEST_DEVICE");
  static Device* device =
      DeviceRegistry::Get().Create("device", name != nullptr ? name : "cpu", 0).release();
  return device;
}

NetOptions TestOptions(Phase phase) {
  NetOptions options;
  options.phase = phase;
  return options;
}

std::vector<DType> ComputeTypes() {
  if (TestDevice()->Supports(DType::kBF16)) return {DType::kFP32, DType::kBF16};
  std::printf("BF16 is NOT TESTED: this device does not compute in it\n");
  return {DType::kFP32};
}

std::unique_ptr<Net> NewNet(const NetSource& source, const NetOptions& options) {
  return std::make_unique<Net>(source, options, TestDevice());
}

std::unique_ptr<Net> NewNet(const std::string& text, const NetOptions& options) {
  return NewNet(ParseNet(text, "test.prototxt"), options);
}

NetSource ShippedNet(const std::string& name, int64_t batch, int64_t side) {
  NetSource source = ReadNet("models/" + name + ".prototxt");
  for (LayerParameter& layer : *source.param.mutable_layer()) {
    for (BlobShape& shape : *layer.mutable_input_param()->mutable_shape()) {
      shape.set_dim(0, batch);
      for (int i = 2; side > 0 && i < shape.dim_size(); ++i) shape.set_dim(i, side);
    }
    if (layer.type() == "Dropout") layer.mutable_dropout_param()->set_dropout_ratio(0);
  }
  return source;
}

Batch RandomBatch(const Shape& images, int64_t classes, uint64_t seed) {
  Batch batch;
  batch.images.desc = {images, DType::kFP32, Layout()};
  auto pixels = std::make_shared<std::vector<float>>(images.count());  // of the host
  batch.images.data = pixels->data();
  batch.images.owner = std::move(pixels);
  Random random(seed, 1);
  for (int64_t i = 0; i < images.count(); ++i) batch.images.as<float>()[i] = random.Gaussian();
  for (int64_t i = 0; i < images[0]; ++i) {
    batch.labels.push_back(static_cast<int64_t>(random.Below(classes)));
  }
  return batch;
}

void SetRandom(const RandomParameters& how, ParameterStore* store) {
  uint64_t stream = 0;
  for (const PoolEntry& entry : store->layout().entries()) {
    Random random(how.seed, ++stream);
    std::vector<float> values(entry.shape.count());
    const bool matrix = entry.shape.rank() > 1;
    const bool weight = entry.name.find(".weight") != std::string::npos;
    const int own_weight = store->layout().Find(entry.layer + ".weight");
    const bool norm = own_weight < 0 || store->layout().entries()[own_weight].shape.rank() == 1;
    const bool last = !how.last_norm.empty() && entry.name.find(how.last_norm) != std::string::npos;
    const float center = weight ? (last ? 0.1f : how.gamma) : norm ? 1 : how.bias;
    const float std = matrix ? 1 / std::sqrt(entry.shape.count(1, entry.shape.rank())) : 0;
    for (float& value : values) {
      const float u = random.Uniform();
      value = matrix ? std * 3.4641f * (u - 0.5f) : center * (0.8f + 0.4f * u);
    }
    store->Import(values, entry, store->master());
  }
  for (const PoolEntry& entry : store->state_layout().entries()) {
    Random random(how.seed, ++stream);
    std::vector<float> values(entry.shape.count());
    const bool variance = entry.name.find("running_var") != std::string::npos;
    for (float& value : values) {
      value = variance ? 0.5f + random.Uniform() : 0.1f * random.Gaussian();
    }
    store->Import(values, entry, store->states());
  }
  store->SyncCompute();
}

namespace {

Values Export(const ParameterStore& store, const Tensor& pool, const PoolLayout& layout) {
  Values values;
  for (const PoolEntry& entry : layout.entries()) values[entry.name] = store.Export(pool, entry);
  return values;
}

}  // namespace

Values Parameters(const Net& net) {
  return Export(*net.parameters(), net.parameters()->master(), net.parameters()->layout());
}

Values Gradients(const Net& net) {
  return Export(*net.parameters(), net.parameters()->gradient(), net.parameters()->layout());
}

Values States(const Net& net) {
  return Export(*net.parameters(), net.parameters()->states(), net.parameters()->state_layout());
}

void CopyParameters(const Net& from, Net* to) {
  ParameterStore& store = *to->parameters();
  const ParameterStore& source = *from.parameters();
  Values parameters = Parameters(from);
  parameters.merge(Export(source, source.frozen_master(), source.frozen_layout()));
  const Values states = States(from);
  for (const bool frozen : {false, true}) {
    const ParameterStore::Pools pools = store.PoolsOf(frozen);
    for (const PoolEntry& entry : pools.layout.entries()) {
      store.Import(parameters.at(entry.name), entry, pools.master);
    }
  }
  for (const PoolEntry& entry : store.state_layout().entries()) {
    store.Import(states.at(entry.name), entry, store.states());
  }
  store.SyncCompute();
}

double RelativeError(const std::vector<float>& a, const std::vector<float>& b, double floor) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    size += double{b[i]} * b[i];
  }
  if (difference == 0) return 0;
  return std::sqrt(difference) / (std::sqrt(size) + floor);
}

double Norm(const Values& values) {
  double sum = 0;
  for (const auto& entry : values) {
    for (float value : entry.second) sum += double{value} * value;
  }
  return std::sqrt(sum);
}

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const UserError& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace gf
