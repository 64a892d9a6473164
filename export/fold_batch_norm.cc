#include "export/fold_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/config/net.pb.h"
#include "core/str_cat.h"
#include "export/onnx_graph.h"
#include "layers/batch_norm.h"

namespace gf {
namespace {

bool TakesAffine(const InferenceLayer& layer) {
  if (layer.layer->type() == "Convolution") return true;
  return layer.layer->type() == "InnerProduct" && layer.layer->tops()[0].rank() == 2;
}

}  // namespace

std::map<int, int> FoldableBatchNorms(const InferenceGraph& net) {
  std::map<std::string, int> producers, readers, users;  // by blob, by blob, by parameter
  for (const std::string& output : net.outputs) ++readers[output];
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& layer = *net.layers[i].layer;
    for (int b = 0; b < layer.param().bottom_size(); ++b) {
      if (!layer.ReadsShapeOnly(b)) ++readers[layer.param().bottom(b)];
    }
    for (const std::string& top : layer.param().top()) producers[top] = static_cast<int>(i);
    for (const std::string& parameter : net.layers[i].parameters) ++users[parameter];
  }
  std::map<int, int> foldable;
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const Layer& norm = *net.layers[i].layer;
    if (norm.type() != "BatchNorm" ||
        !static_cast<const BatchNormLayer&>(norm).global_statistics()) {
      continue;
    }
    const std::string& blob = norm.param().bottom(0);
    const auto producer = producers.find(blob);
    if (producer == producers.end() || readers[blob] != 1) continue;
    const InferenceLayer& before = net.layers[producer->second];
    const auto own = [&](const std::string& parameter) { return users[parameter] == 1; };
    if (!TakesAffine(before) ||
        !std::all_of(before.parameters.begin(), before.parameters.end(), own)) {
      continue;
    }
    foldable[producer->second] = static_cast<int>(i);
  }
  return foldable;
}

ChannelAffine AffineOf(const InferenceLayer& norm, const ParameterStore& store) {
  const auto& layer = static_cast<const BatchNormLayer&>(*norm.layer);
  const std::vector<float> mean = ValuesOf(store, layer.name() + ".running_mean");
  const std::vector<float> variance = ValuesOf(store, layer.name() + ".running_var");
  std::vector<float> gamma(mean.size(), 1), beta(mean.size(), 0);
  if (layer.scale()) gamma = ValuesOf(store, norm.parameters[0]);
  if (layer.scale_bias()) beta = ValuesOf(store, norm.parameters[1]);
  ChannelAffine affine;
  for (size_t c = 0; c < mean.size(); ++c) {
    affine.factor.push_back(gamma[c] / std::sqrt(double{variance[c]} + layer.eps()));
    affine.offset.push_back(beta[c] - mean[c] * affine.factor[c]);
  }
  return affine;
}

}  // namespace gf
