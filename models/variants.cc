#include "models/variants.h"

#include "core/error.h"

namespace gf {
namespace {

void DepthwiseToConvolution(const GraphNode& node, LayerParameter* layer) {
  ConvolutionParameter* const convolution = layer->mutable_convolution_param();
  if (convolution->has_group() && convolution->group() != convolution->num_output()) {
    ThrowUserError(node.location, ": layer \"", layer->name(), "\" (", layer->type(),
                   "): convolution_param.group is ", convolution->group(), ", must be num_output (",
                   convolution->num_output(), ") or absent");
  }
  convolution->set_group(convolution->num_output());
  layer->mutable_fusion()->set_depthwise(true);
  layer->set_type("Convolution");
}

void ScaleToScaleBy(const GraphNode& node, LayerParameter* layer) {
  if (layer->scale_param().bias_term()) {
    ThrowUserError(node.location, ": layer \"", layer->name(),
                   "\" (Scale): bias_term is not supported with two bottoms; remove it");
  }
  layer->set_type("ScaleBy");
}

// As NVCaffe decides it.
bool HasScaleAndBias(const BatchNormParameter& norm) {
  return norm.scale_bias() || norm.has_scale_filler() || norm.has_bias_filler();
}

void AddScaleAndBias(LayerParameter* layer) {
  const BatchNormParameter& norm = layer->batch_norm_param();
  FusionParameter* const fusion = layer->mutable_fusion();
  fusion->set_scale(true);
  fusion->set_scale_bias(true);
  if (norm.has_scale_filler()) *fusion->mutable_scale_filler() = norm.scale_filler();
  if (norm.has_bias_filler()) *fusion->mutable_scale_bias_filler() = norm.bias_filler();
}

}  // namespace

void ReplaceVariant(GraphNode* node) {
  LayerParameter* const layer = &node->param;
  const std::string& type = layer->type();
  if (type == "ConvolutionDepthwise" || type == "DepthwiseConvolution") {
    DepthwiseToConvolution(*node, layer);
  } else if (type == "Scale" && layer->bottom_size() == 2) {
    ScaleToScaleBy(*node, layer);
  } else if (type == "Bias" && layer->bottom_size() == 2) {
    layer->set_type("BiasBy");
  } else if (type == "BatchNorm" && HasScaleAndBias(layer->batch_norm_param())) {
    AddScaleAndBias(layer);
  }
}

}  // namespace gf
