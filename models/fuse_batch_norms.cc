#include "models/fuse_batch_norms.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/str_cat.h"
#include "layers/batch_norm_pooling.h"

namespace gf {
namespace {

bool UsesBatchStatistics(const LayerParameter& norm) {
  return !norm.batch_norm_param().use_global_stats();
}

bool IsPlainNorm(const LayerParameter& p) {
  return p.type() == "BatchNorm" && p.top_size() == 1 && CanVanish(p) && UsesBatchStatistics(p);
}

// Reasons against fusions, in the order in which they were found.
class Reasons {
 public:
  void Add(const std::string& reason, const LayerParameter& layer) {
    for (Unfused& unfused : unfused_) {
      if (unfused.reason == reason) return unfused.layers.push_back(layer.name());
    }
    unfused_.push_back({reason, {layer.name()}});
  }
  std::vector<Unfused> Take() { return std::move(unfused_); }

 private:
  std::vector<Unfused> unfused_;
};

// Why a BatchNorm whose result is only added by another one cannot be normalized with that; empty:
// it can.
std::string PairObstacle(const LayerParameter& norm) {
  if (norm.fusion().relu()) return "it has a ReLU";
  if (!UsesBatchStatistics(norm)) return "it uses running statistics";
  return IsPlainNorm(norm) ? "" : "it has a loss_weight or propagate_down";
}

// Lets a BatchNorm with a residual sum normalize the other operand, too, if that is the result of a
// BatchNorm that nobody else reads.
void FusePairs(BlobLinks* graph, Reasons* reasons) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& norm = (*graph)[i];
    if (graph->removed(i) || !IsPlainNorm(norm) || !norm.fusion().add()) continue;
    const int producer = graph->Producer(norm.bottom(1));
    if (producer < 0 || graph->OnlyReader(norm.bottom(1)) != i) continue;
    const LayerParameter& other = (*graph)[producer];
    if (other.type() != "BatchNorm" || other.fusion().add()) continue;
    const std::string obstacle = PairObstacle(other);
    if (!obstacle.empty()) {
      reasons->Add(StrCat("batch norm of a shortcut, since ", obstacle), other);
      continue;
    }
    const std::string bottom = other.bottom(0), channels = StrCat(other.top(0), " (channels)");
    graph->Change(producer, [&](GraphNode* node) {
      node->param.set_type("_BatchNormChannels");
      node->param.set_top(0, channels);
    });
    graph->Change(i, [&](GraphNode* node) {
      node->param.set_type("_BatchNormPair");
      node->param.set_bottom(1, bottom);
      node->param.add_bottom(channels);
    });
  }
}

// Why a BatchNorm and the max pooling that alone reads its result cannot be computed together;
// empty: they can.
std::string PoolingObstacle(const BlobLinks& graph, const LayerParameter& norm,
                            const LayerParameter& pool) {
  if (norm.fusion().add()) return "the batch norm adds a shortcut";
  const int producer = graph.Producer(norm.bottom(0));
  if (producer < 0 || graph[producer].type() != "Convolution") {
    return "the batch norm follows no convolution";
  }
  const int64_t channels = graph[producer].convolution_param().num_output();
  if (BatchNormPoolingLayer::Fits(pool.pooling_param(), channels)) return "";
  return "it is not 2x2 or 3x3 with stride 2 on a multiple of 8 channels";
}

// Merges the max pooling of a convolution's normalized result.
void FusePooling(BlobLinks* graph, Reasons* reasons) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& norm = (*graph)[i];
    if (graph->removed(i) || !IsPlainNorm(norm)) continue;
    const int reader = graph->OnlyReader(norm.top(0));
    if (reader < 0) continue;
    const LayerParameter pool = (*graph)[reader];
    if (pool.type() != "Pooling" || pool.pooling_param().pool() != PoolingParameter::MAX ||
        pool.bottom_size() != 1 || pool.top_size() != 1 || !CanVanish(pool)) {
      continue;
    }
    const std::string obstacle = PoolingObstacle(*graph, norm, pool);
    if (!obstacle.empty()) {
      reasons->Add(StrCat("max pooling after a batch norm, since ", obstacle), pool);
      continue;
    }
    graph->Remove(reader);
    graph->Change(i, [&](GraphNode* node) {
      node->param.set_type("_BatchNormPooling");
      *node->param.mutable_pooling_param() = pool.pooling_param();
      node->param.set_top(0, pool.top(0));
    });
  }
}

// Why the layer before a BatchNorm cannot sum up its results for it; empty: it can.
std::string SumsObstacle(const LayerParameter& convolution) {
  const ConvolutionParameter& p = convolution.convolution_param();
  if (convolution.type() != "Convolution") return "the layer before is no convolution";
  if (convolution.top_size() != 1) return "the convolution before has another batch norm";
  if (convolution.fusion().relu()) return "the convolution before has a ReLU";
  if (p.group() != 1 || convolution.fusion().depthwise()) {
    return "the convolution before has groups";
  }
  return p.bias_term() ? "the convolution before has a bias" : "";
}

// Adds the sums of a convolution's results as a blob between it and the BatchNorm that reads them.
void FuseSums(BlobLinks* graph, Reasons* reasons) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& norm = (*graph)[i];
    const std::string& type = norm.type();
    const bool is_norm = type == "BatchNorm" || type == "_BatchNormChannels" ||
                         type == "_BatchNormPair" || type == "_BatchNormPooling";
    if (graph->removed(i) || !is_norm || !UsesBatchStatistics(norm)) continue;
    const int producer = graph->Producer(norm.bottom(0));
    if (producer < 0) continue;
    const LayerParameter& convolution = (*graph)[producer];
    const std::string obstacle = SumsObstacle(convolution);
    if (!obstacle.empty()) {
      reasons->Add(StrCat("sums of a batch norm's input, since ", obstacle), norm);
      continue;
    }
    const std::string sums = StrCat(convolution.top(0), " (sums)");
    for (const int layer : {producer, i}) {
      graph->Change(layer, [&](GraphNode* node) {
        node->param.mutable_fusion()->set_sums(true);
        layer == i ? node->param.add_bottom(sums) : node->param.add_top(sums);
      });
    }
  }
}

}  // namespace

std::string Unfused::Line() const {
  constexpr size_t kMostNames = 3;
  std::string line = reason;
  for (size_t i = 0; i < std::min(layers.size(), kMostNames); ++i) {
    line += StrCat(i == 0 ? ": " : ", ", layers[i]);
  }
  if (layers.size() > kMostNames) line += StrCat(" and ", layers.size() - kMostNames, " more");
  return line;
}

std::vector<Unfused> FuseBatchNorms(const BatchNormFusions& fusions, BlobLinks* graph) {
  Reasons reasons;
  if (fusions.pairs) FusePairs(graph, &reasons);
  if (fusions.pooling) FusePooling(graph, &reasons);
  if (fusions.sums) FuseSums(graph, &reasons);
  return reasons.Take();
}

}  // namespace gf
