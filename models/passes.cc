#include "models/passes.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace gf {
namespace {

using Nodes = std::vector<GraphNode>;

// Index of the only layer that reads a blob, if it reads the blob once; otherwise -1.
int OnlyReader(const Nodes& nodes, const std::string& blob) {
  int reader = -1;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& bottom : nodes[i].param.bottom()) {
      if (bottom != blob) continue;
      if (reader != -1) return -1;
      reader = static_cast<int>(i);
    }
  }
  return reader;
}

int Producer(const Nodes& nodes, const std::string& blob) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& top : nodes[i].param.top()) {
      if (top == blob) return static_cast<int>(i);
    }
  }
  return -1;
}

// Whether a layer can be merged into another one: nothing except its type matters.
bool CanVanish(const LayerParameter& p) {
  const auto& down = p.propagate_down();
  return p.loss_weight_size() == 0 &&
         std::all_of(down.begin(), down.end(), [](bool d) { return d; });
}

bool IsPlainRelu(const LayerParameter& p) {
  return p.type() == "ReLU" && p.relu_param().negative_slope() == 0 && p.bottom_size() == 1 &&
         p.top_size() == 1 && CanVanish(p);
}

bool IsPlainSum(const LayerParameter& p) {
  const auto& coefficients = p.eltwise_param().coeff();
  return p.type() == "Eltwise" && p.eltwise_param().operation() == EltwiseParameter::SUM &&
         p.bottom_size() == 2 && p.top_size() == 1 && p.bottom(0) != p.bottom(1) && CanVanish(p) &&
         std::all_of(coefficients.begin(), coefficients.end(), [](float c) { return c == 1; });
}

void Erase(Nodes* nodes, int i) { nodes->erase(nodes->begin() + i); }

// Merges a residual sum into an operand that is a BatchNorm without other readers.
void FuseAdd(Nodes* nodes) {
  for (size_t i = 0; i < nodes->size(); ++i) {
    LayerParameter& sum = (*nodes)[i].param;
    if (!IsPlainSum(sum)) continue;
    for (int operand = 0; operand < 2; ++operand) {
      const std::string blob = sum.bottom(operand);
      const int norm = Producer(*nodes, blob);
      if (norm < 0 || (*nodes)[norm].param.type() != "BatchNorm" ||
          (*nodes)[norm].param.fusion().relu() || (*nodes)[norm].param.fusion().add() ||
          OnlyReader(*nodes, blob) != static_cast<int>(i)) {
        continue;
      }
      // The merged layer takes the position of the sum, where both operands exist.
      GraphNode merged = (*nodes)[norm];
      merged.param.add_bottom(sum.bottom(1 - operand));
      merged.param.set_top(0, sum.top(0));
      merged.param.mutable_fusion()->set_add(true);
      (*nodes)[i] = std::move(merged);
      Erase(nodes, norm);
      --i;
      break;
    }
  }
}

void FuseRelu(Nodes* nodes) {
  for (size_t i = 0; i < nodes->size(); ++i) {
    LayerParameter& p = (*nodes)[i].param;
    const std::string& type = p.type();
    if (type != "Convolution" && type != "InnerProduct" && type != "BatchNorm" &&
        type != "Eltwise") {
      continue;
    }
    if (p.top_size() != 1 || p.fusion().relu()) continue;
    const int reader = OnlyReader(*nodes, p.top(0));
    if (reader < 0 || !IsPlainRelu((*nodes)[reader].param)) continue;
    p.set_top(0, (*nodes)[reader].param.top(0));
    p.mutable_fusion()->set_relu(true);
    Erase(nodes, reader);
  }
}

void FuseReluBackward(Nodes* nodes) {
  for (GraphNode& node : *nodes) {
    LayerParameter& p = node.param;
    if (p.type() != "Convolution" || !p.fusion().relu()) continue;
    const int reader = OnlyReader(*nodes, p.top(0));
    if (reader < 0) continue;
    LayerParameter& pool = (*nodes)[reader].param;
    if (pool.type() != "Pooling" || pool.pooling_param().pool() != PoolingParameter::MAX) continue;
    p.mutable_fusion()->set_relu_backward_done(true);
    pool.mutable_fusion()->set_relu_backward(true);
  }
}

// Removes layer i, whose top equals its bottom; readers of the top read the bottom instead.
void Bypass(Nodes* nodes, int i) {
  const std::string from = (*nodes)[i].param.top(0), to = (*nodes)[i].param.bottom(0);
  Erase(nodes, i);
  for (GraphNode& node : *nodes) {
    for (std::string& bottom : *node.param.mutable_bottom()) {
      if (bottom == from) bottom = to;
    }
  }
}

void DropIdentities(Phase phase, Nodes* nodes) {
  for (size_t i = 0; i < nodes->size(); ++i) {
    const LayerParameter& p = (*nodes)[i].param;
    if (p.bottom_size() != 1 || p.top_size() != 1 || !CanVanish(p)) continue;
    const int reader = OnlyReader(*nodes, p.top(0));
    if (reader < 0) continue;  // an output of the net keeps its name
    const LayerParameter& next = (*nodes)[reader].param;
    const bool flatten = p.type() == "Flatten" && p.flatten_param().axis() == 1 &&
                         p.flatten_param().end_axis() == -1 && next.type() == "InnerProduct" &&
                         next.inner_product_param().axis() == 1;
    const bool dropout = p.type() == "Dropout" && phase == TEST;
    if (!flatten && !dropout) continue;
    Bypass(nodes, static_cast<int>(i));
    --i;
  }
}

}  // namespace

void MergeBatchNormAndScale(Nodes* nodes) {
  for (size_t i = 0; i < nodes->size(); ++i) {
    LayerParameter& norm = (*nodes)[i].param;
    if (norm.type() != "BatchNorm" || norm.top_size() != 1) continue;
    const int reader = OnlyReader(*nodes, norm.top(0));
    if (reader < 0) {
      norm.clear_param();
      continue;
    }
    const LayerParameter& scale = (*nodes)[reader].param;
    const ScaleParameter& p = scale.scale_param();
    // Caffe's BatchNorm has three `param` entries for its statistics; the merged layer uses the
    // entries of the Scale layer.
    norm.clear_param();
    if (scale.type() != "Scale" || scale.bottom_size() != 1 || p.axis() != 1 || p.num_axes() != 1 ||
        !CanVanish(scale)) {
      continue;
    }
    FusionParameter* fusion = norm.mutable_fusion();
    fusion->set_scale(true);
    fusion->set_scale_bias(p.bias_term());
    if (p.has_filler()) *fusion->mutable_scale_filler() = p.filler();
    if (p.has_bias_filler()) *fusion->mutable_scale_bias_filler() = p.bias_filler();
    *norm.mutable_param() = scale.param();
    norm.set_top(0, scale.top(0));
    Erase(nodes, reader);
  }
}

void FuseLayers(Phase phase, Nodes* nodes) {
  DropIdentities(phase, nodes);
  FuseAdd(nodes);
  FuseRelu(nodes);
  FuseReluBackward(nodes);
}

}  // namespace gf
