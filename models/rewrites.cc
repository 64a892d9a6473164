#include "models/rewrites.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/str_cat.h"
#include "models/blob_links.h"

namespace gf {
namespace {

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

// Merges a residual sum into an operand that is a BatchNorm without other readers.
void FuseAdd(BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& sum = (*graph)[i];
    if (graph->removed(i) || !IsPlainSum(sum)) continue;
    for (int operand = 0; operand < 2; ++operand) {
      const std::string blob = sum.bottom(operand), other = sum.bottom(1 - operand);
      const int norm = graph->Producer(blob);
      if (norm < 0 || (*graph)[norm].type() != "BatchNorm" || (*graph)[norm].fusion().relu() ||
          (*graph)[norm].fusion().add() || graph->OnlyReader(blob) != i) {
        continue;
      }
      // The merged layer takes the position of the sum, where both operands exist.
      GraphNode merged = graph->node(norm);
      merged.param.add_bottom(other);
      merged.param.set_top(0, sum.top(0));
      merged.param.mutable_fusion()->set_add(true);
      graph->Remove(norm);
      graph->Change(i, [&](GraphNode* node) { *node = std::move(merged); });
      break;
    }
  }
}

void FuseRelu(BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& p = (*graph)[i];
    const std::string& type = p.type();
    if (graph->removed(i) || (type != "Convolution" && type != "InnerProduct" &&
                              type != "BatchNorm" && type != "Eltwise")) {
      continue;
    }
    if (p.top_size() != 1 || p.fusion().relu()) continue;
    const int reader = graph->OnlyReader(p.top(0));
    if (reader < 0 || !IsPlainRelu((*graph)[reader])) continue;
    const std::string top = (*graph)[reader].top(0);
    graph->Remove(reader);
    graph->Change(i, [&](GraphNode* node) {
      node->param.set_top(0, top);
      node->param.mutable_fusion()->set_relu(true);
    });
  }
}

void FuseReluBackward(BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& p = (*graph)[i];
    if (graph->removed(i) || p.type() != "Convolution" || !p.fusion().relu()) continue;
    const int reader = graph->OnlyReader(p.top(0));
    if (reader < 0) continue;
    const LayerParameter& pool = (*graph)[reader];
    if (pool.type() != "Pooling" || pool.pooling_param().pool() != PoolingParameter::MAX) continue;
    graph->Change(
        i, [](GraphNode* node) { node->param.mutable_fusion()->set_relu_backward_done(true); });
    graph->Change(reader,
                  [](GraphNode* node) { node->param.mutable_fusion()->set_relu_backward(true); });
  }
}

// Removes layer i, whose top equals its bottom; the reader of the top reads the bottom instead.
void Bypass(BlobLinks* graph, int i, int reader) {
  const std::string from = (*graph)[i].top(0), to = (*graph)[i].bottom(0);
  graph->Remove(i);
  graph->Change(reader, [&](GraphNode* node) {
    for (std::string& bottom : *node->param.mutable_bottom()) {
      if (bottom == from) bottom = to;
    }
  });
}

void DropIdentities(Phase phase, BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& p = (*graph)[i];
    if (p.bottom_size() != 1 || p.top_size() != 1 || !CanVanish(p)) continue;
    const int reader = graph->OnlyReader(p.top(0));
    if (reader < 0) continue;  // an output of the net keeps its name
    const LayerParameter& next = (*graph)[reader];
    const bool flatten = p.type() == "Flatten" && p.flatten_param().axis() == 1 &&
                         p.flatten_param().end_axis() == -1 && next.type() == "InnerProduct" &&
                         next.inner_product_param().axis() == 1;
    const bool drops = p.type() == "Dropout" || p.type() == "StochasticDepth";
    if (flatten || (drops && phase == TEST)) Bypass(graph, i, reader);
  }
}

void CheckStatisticsAreOwn(const GraphNode& norm) {
  for (const ParamSpec& param : norm.param.param()) {
    if (!param.has_name()) continue;
    ThrowUserError(
        norm.location, ": layer \"", norm.param.name(), "\" (BatchNorm): param \"", param.name(),
        "\": parameters and statistics of a BatchNorm cannot be shared by name; remove it");
  }
}

}  // namespace

void MergeBatchNormAndScale(std::vector<GraphNode>* nodes) {
  BlobLinks graph(nodes);
  for (int i = 0; i < graph.size(); ++i) {
    const LayerParameter& norm = graph[i];
    if (graph.removed(i) || norm.type() != "BatchNorm" || norm.top_size() != 1) continue;
    const int reader = graph.OnlyReader(norm.top(0));
    // Caffe's BatchNorm has three `param` entries for its statistics; the merged layer uses the
    // entries of the Scale layer.
    CheckStatisticsAreOwn(graph.node(i));
    graph.Change(i, [](GraphNode* node) { node->param.clear_param(); });
    if (reader < 0 || norm.fusion().scale()) continue;
    const GraphNode scale = graph.node(reader);
    const ScaleParameter& p = scale.param.scale_param();
    if (scale.param.type() != "Scale" || scale.param.bottom_size() != 1 || p.axis() != 1 ||
        p.num_axes() != 1 || !CanVanish(scale.param)) {
      continue;
    }
    graph.Remove(reader);
    graph.Change(i, [&](GraphNode* node) {
      FusionParameter* fusion = node->param.mutable_fusion();
      fusion->set_scale(true);
      fusion->set_scale_bias(p.bias_term());
      if (p.has_filler()) *fusion->mutable_scale_filler() = p.filler();
      if (p.has_bias_filler()) *fusion->mutable_scale_bias_filler() = p.bias_filler();
      *node->param.mutable_param() = scale.param.param();
      node->param.set_top(0, scale.param.top(0));
      node->merged_scale = StrCat(scale.location, ": layer \"", scale.param.name(), "\" (Scale)");
    });
  }
  graph.Compact();
}

std::vector<Unfused> FuseLayers(Phase phase, const BatchNormFusions& fusions,
                                std::vector<GraphNode>* nodes) {
  BlobLinks graph(nodes);
  DropIdentities(phase, &graph);
  FuseAdd(&graph);
  FuseRelu(&graph);
  FuseReluBackward(&graph);
  std::vector<Unfused> unfused;
  if (phase == TRAIN) unfused = FuseBatchNorms(fusions, &graph);
  graph.Compact();
  return unfused;
}

}  // namespace gf
