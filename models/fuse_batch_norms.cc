#include "models/fuse_batch_norms.h"

#include <string>

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

// Lets a BatchNorm with a residual sum normalize the other operand, too, if that is the result of a
// BatchNorm that nobody else reads.
void FusePairs(BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& norm = (*graph)[i];
    if (graph->removed(i) || !IsPlainNorm(norm) || !norm.fusion().add()) continue;
    const int producer = graph->Producer(norm.bottom(1));
    if (producer < 0 || graph->OnlyReader(norm.bottom(1)) != i) continue;
    const LayerParameter& other = (*graph)[producer];
    if (!IsPlainNorm(other) || other.fusion().relu() || other.fusion().add()) continue;
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

// Merges the max pooling of a convolution's normalized result.
void FusePooling(BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& norm = (*graph)[i];
    if (graph->removed(i) || !IsPlainNorm(norm) || norm.fusion().add()) continue;
    const int reader = graph->OnlyReader(norm.top(0)), producer = graph->Producer(norm.bottom(0));
    if (reader < 0 || producer < 0 || (*graph)[producer].type() != "Convolution") continue;
    const int64_t channels = (*graph)[producer].convolution_param().num_output();
    const LayerParameter pool = (*graph)[reader];
    if (pool.type() != "Pooling" || pool.bottom_size() != 1 || pool.top_size() != 1 ||
        !CanVanish(pool) || !BatchNormPoolingLayer::Fits(pool.pooling_param(), channels)) {
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

// Adds the sums of a convolution's results as a blob between it and the BatchNorm that reads them.
void FuseSums(BlobLinks* graph) {
  for (int i = 0; i < graph->size(); ++i) {
    const LayerParameter& norm = (*graph)[i];
    const std::string& type = norm.type();
    const bool is_norm = type == "BatchNorm" || type == "_BatchNormChannels" ||
                         type == "_BatchNormPair" || type == "_BatchNormPooling";
    if (graph->removed(i) || !is_norm || !UsesBatchStatistics(norm)) continue;
    const int producer = graph->Producer(norm.bottom(0));
    if (producer < 0) continue;
    const LayerParameter& convolution = (*graph)[producer];
    const ConvolutionParameter& p = convolution.convolution_param();
    if (convolution.type() != "Convolution" || convolution.top_size() != 1 || p.bias_term() ||
        p.group() != 1 || convolution.fusion().relu() || convolution.fusion().depthwise()) {
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

void FuseBatchNorms(const BatchNormFusions& fusions, BlobLinks* graph) {
  if (fusions.pairs) FusePairs(graph);
  if (fusions.pooling) FusePooling(graph);
  if (fusions.sums) FuseSums(graph);
}

}  // namespace gf
