#include "tests/layers/layer_cases.h"

#include <utility>

#include "tests/layers/case_parts.h"

namespace gf {
namespace {

const Shape kImage = {2, 19, 5, 6};

LayerCase InTest(LayerCase test) {
  test.phase = TEST;
  return test;
}

// By name, so that a new case leaves the others' numbers as they are (FNV-1a).
uint64_t SeedOf(const std::string& name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

LayerCase DependsOnLayout(LayerCase test) {
  test.depends_on_layout = true;
  return test;
}

// oneDNN and the batch statistics split sums among the threads.
LayerCase SplitsSums(LayerCase test) {
  test.exact_for_threads = false;
  test.bf16_tolerance = 0.02;
  return test;
}

Cases Elementwise() {
  return {
      Case("Relu", "type: 'ReLU'", {kImage}),
      Case("ReluLeaky", "type: 'ReLU' relu_param { negative_slope: 0.1 }", {kImage}),
      Case("ReluNegativeSlope", "type: 'ReLU' relu_param { negative_slope: -0.5 }", {kImage}),
      Case("ReluLarge", "type: 'ReLU'", {{3, 16, 33, 31}}),
      Case("Sigmoid", "type: 'Sigmoid'", {kImage}),
      Case("SigmoidVector", "type: 'Sigmoid'", {{3, 7}}),
      Case("Tanh", "type: 'TanH'", {kImage}),
      DependsOnLayout(
          Case("Dropout", "type: 'Dropout' dropout_param { dropout_ratio: 0.3 }", {kImage})),
      Case("DropoutLarge", "type: 'Dropout'", {{65, 1023}}),
      InTest(Case("DropoutTest", "type: 'Dropout'", {kImage})),
  };
}

Cases StochasticDepth() {
  const std::string type = "type: 'StochasticDepth' ";
  const std::string batch = type + "stochastic_depth_param { mode: BATCH }";
  return {
      Case("StochasticDepth", type, {{7, 19, 3, 2}}),
      Case("StochasticDepthBlocks", type + "stochastic_depth_param { drop_ratio: 0.1 }",
           {{5, 32, 3, 5}}),
      Case("StochasticDepthVectors", type, {{70, 1024}}),
      Case("StochasticDepthBatch", batch, {kImage}),
      Case("StochasticDepthBatchVectors", batch, {{33, 24}}),
      InTest(Case("StochasticDepthTest", type, {kImage})),
  };
}

Cases Eltwise() {
  const std::string sum = "type: 'Eltwise' eltwise_param { operation: SUM }";
  return {
      Case("EltwiseSum", sum, {kImage, kImage}),
      Case("EltwiseSumRelu", sum + " fusion { relu: true }", {kImage, kImage}),
      Case("EltwiseSumOfThree", "type: 'Eltwise' eltwise_param { coeff: [1, -0.5, 2] }",
           {kImage, kImage, kImage}),
      Case("EltwiseProduct", "type: 'Eltwise' eltwise_param { operation: PROD }",
           {kImage, kImage, kImage}),
      Case("EltwiseMax", "type: 'Eltwise' eltwise_param { operation: MAX }",
           {kImage, kImage, kImage}),
      Case("EltwiseMaxRelu",
           "type: 'Eltwise' eltwise_param { operation: MAX } fusion { relu: true }",
           {kImage, kImage}),
      Case("EltwiseLarge", sum, {{2, 32, 29, 31}, {2, 32, 29, 31}}),
  };
}

Cases Copies() {
  return {
      Case("ConcatOddChannels", "type: 'Concat'", {{2, 3, 4, 5}, {2, 5, 4, 5}, {2, 1, 4, 5}}),
      Case("ConcatBlocks", "type: 'Concat'", {{2, 16, 4, 5}, {2, 32, 4, 5}, {2, 7, 4, 5}}),
      Case("ConcatImages", "type: 'Concat' concat_param { axis: 0 }", {{2, 3, 4}, {1, 3, 4}}),
      Case("ConcatLastAxis", "type: 'Concat' concat_param { axis: -1 }", {{2, 3, 4}, {2, 3, 1}}),
      Case("Flatten", "type: 'Flatten'", {kImage}),
      Case("Reshape", "type: 'Reshape' reshape_param { shape { dim: [0, -1, 2] } }", {kImage}),
      WithTops(Case("Split", "type: 'Split'", {kImage}), 3),
  };
}

Cases Normalization() {
  const std::string within = "type: 'LRN' lrn_param { norm_region: WITHIN_CHANNEL ";
  return {
      Case("LrnAcross", "type: 'LRN' lrn_param { alpha: 0.5 k: 2 }", {kImage}),
      Case("LrnAcrossThree", "type: 'LRN' lrn_param { local_size: 3 alpha: 2 beta: 0.5 }",
           {{1, 32, 3, 3}}),
      Case("LrnWithin", within + "local_size: 3 alpha: 2 }", {kImage}),
      Case("LrnWithinLarge", within + "local_size: 9 alpha: 3 beta: 1.2 }", {kImage}),
      Case("Scale", "type: 'Scale' scale_param { bias_term: true }", {kImage}),
      Case("ScaleWithoutBias", "type: 'Scale'", {{1, 35, 3, 3}}),
      Case("ScaleVector", "type: 'Scale' scale_param { bias_term: true }", {{5, 37}}),
      Case("ScaleLastAxes", "type: 'Scale' scale_param { axis: 2 num_axes: -1 bias_term: true }",
           {kImage}),
      Case("ScaleByOneNumber", "type: 'Scale' scale_param { num_axes: 0 bias_term: true }",
           {{3, 4, 5}}),
  };
}

Cases Weighted() {
  const std::string conv = "type: 'Convolution' convolution_param { num_output: ";
  return {
      SplitsSums(Case("Convolution", conv + "21 kernel_size: 3 pad: 1 }", {kImage})),
      SplitsSums(Case("ConvolutionOfOne", conv + "5 kernel_size: 3 stride: 2 bias_term: false }",
                      {{1, 3, 9, 7}})),
      SplitsSums(Case("ConvolutionGroups", conv + "6 kernel_size: 3 group: 2 }", {{2, 4, 7, 6}})),
      SplitsSums(
          Case("ConvolutionDepthwise", conv + "16 kernel_size: 3 group: 16 }", {{2, 16, 7, 6}})),
      // Without a kernel of oneDNN.
      SplitsSums(Case("ConvolutionDepthwiseDilated",
                      conv + "19 kernel_size: 3 pad: 2 dilation: 2 group: 19 }", {kImage})),
      SplitsSums(Case("ConvolutionDepthwiseWide",
                      conv + "16 kernel_size: 5 stride: 2 pad: 2 group: 16 }", {{2, 16, 7, 6}})),
      SplitsSums(Case("ConvolutionDepthwiseTwice", conv + "38 kernel_size: 3 pad: 1 group: 19 }",
                      {kImage})),
      SplitsSums(Case("ConvolutionDilated",
                      conv + "7 kernel_h: 3 kernel_w: 2 pad_h: 2 pad_w: 1 stride_h: 2 "
                             "stride_w: 1 dilation: [2, 3] }",
                      {{2, 5, 9, 8}})),
      SplitsSums(Case("ConvolutionPoint", conv + "33 kernel_size: 1 }", {{3, 17, 4, 4}})),
      SplitsSums(
          Case("ConvolutionRelu", conv + "21 kernel_size: 3 } fusion { relu: true }", {kImage})),
      SplitsSums(Case("InnerProduct", "type: 'InnerProduct' inner_product_param { num_output: 19 }",
                      {{5, 3, 4, 2}})),
      SplitsSums(Case("InnerProductOfOne",
                      "type: 'InnerProduct' inner_product_param { num_output: 5 "
                      "bias_term: false } fusion { relu: true }",
                      {{1, 37}})),
      SplitsSums(Case("InnerProductLastAxis",
                      "type: 'InnerProduct' inner_product_param { num_output: 6 axis: 2 }",
                      {{3, 4, 7}})),
  };
}

// An algorithm for which a case must be large: Note [Choice of Winograd's algorithm]
// (layers/cpu/winograd_choice.h).
Cases Large() {
  const auto winograd = [](const std::string& name, const std::string& filter,
                           const Shape& images) {
    LayerCase result = SplitsSums(
        Case(name, StrCat("type: 'Convolution' convolution_param { num_output: 32 ", filter, " }"),
             {images}));
    result.linear = true;
    result.tolerance = 1e-4;
    return result;
  };
  return {winograd("ConvolutionWinograd", "kernel_size: 3 pad: 1", {16, 32, 13, 12}),
          winograd("ConvolutionWinograd5x5", "kernel_size: 5 pad: 2", {16, 32, 9, 9})};
}

Cases BatchNorm() {
  const std::string bn = "type: 'BatchNorm' ";
  const std::string fused = bn + "fusion { scale: true scale_bias: true ";
  return {
      SplitsSums(Case("BatchNorm", bn, {kImage})),
      SplitsSums(Case("BatchNormVector", bn, {{9, 5}})),
      SplitsSums(Case("BatchNormOfOne", bn, {{1, 3, 5, 5}})),
      SplitsSums(Case("BatchNormScale", fused + "}", {kImage})),
      SplitsSums(Case("BatchNormGamma", bn + "fusion { scale: true }", {kImage})),
      SplitsSums(Case("BatchNormRelu", fused + "relu: true }", {kImage})),
      SplitsSums(Case("BatchNormAdd", fused + "add: true }", {kImage, kImage})),
      SplitsSums(Case("BatchNormAddRelu", fused + "relu: true add: true }", {kImage, kImage})),
      InTest(Case("BatchNormGlobal", fused + "relu: true }", {kImage})),
  };
}

Cases Pooling() {
  const std::string pool = "type: 'Pooling' pooling_param { ";
  return {
      Case("PoolingMax", pool + "kernel_size: 3 stride: 2 }", {{2, 19, 8, 7}}),
      Case("PoolingMaxPadded", pool + "kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR }",
           {kImage}),
      Case("PoolingMaxLargeWindow", pool + "kernel_size: 17 }", {{1, 3, 18, 19}}),
      Case("PoolingAverage", pool + "pool: AVE kernel_size: 3 stride: 2 pad: 1 }", {kImage}),
      Case("PoolingAverageOblong",
           pool + "pool: AVE kernel_h: 2 kernel_w: 3 stride_h: 1 stride_w: 2 }", {{1, 5, 6, 8}}),
      // Windows that do not overlap.
      Case("PoolingMaxApart", pool + "kernel_size: 2 stride: 2 }", {{1, 19, 7, 5}}),
      Case("PoolingMaxGaps", pool + "kernel_size: 2 stride: 3 round_mode: FLOOR }", {kImage}),
      Case("PoolingAverageApart", pool + "pool: AVE kernel_size: 2 stride: 2 pad: 1 }", {kImage}),
      Case("PoolingGlobal", pool + "pool: AVE global_pooling: true }", {kImage}),
      Case("PoolingGlobalMax", pool + "global_pooling: true }", {{1, 16, 5, 4}}),
  };
}

// At the end, so that the others keep their random numbers.
Cases FromOtherCaffes() {
  return {
      WithTops(Case("SliceOddChannels", "type: 'Slice' slice_param { slice_point: [3, 8] }",
                    {{2, 9, 4, 5}}),
               3),
      WithTops(Case("SliceBlocks", "type: 'Slice' slice_param { slice_point: [16, 48] }",
                    {{2, 55, 4, 5}}),
               3),
      WithTops(
          Case("SliceImages", "type: 'Slice' slice_param { axis: 0 slice_point: 1 }", {{3, 3, 4}}),
          2),
      WithTops(Case("SliceLastAxis", "type: 'Slice' slice_param { axis: -1 }", {{2, 3, 6}}), 3),
      Case("Permute", "type: 'Permute' permute_param { order: [0, 2, 3, 1] }", {kImage}),
      Case("PermuteAll", "type: 'Permute' permute_param { order: [3, 2, 1, 0] }", {kImage}),
      Case("PermuteNothing", "type: 'Permute'", {kImage}),
      Case("ShuffleChannel", "type: 'ShuffleChannel' shuffle_channel_param { group: 3 }",
           {{2, 33, 4, 5}}),
      Case("ShuffleChannelVector", "type: 'ShuffleChannel' shuffle_channel_param { group: 2 }",
           {{3, 16}}),
      Case("Axpy", "type: 'Axpy'", {{2, 19}, kImage, kImage}),
      Case("AxpyOfOnePixel", "type: 'Axpy'", {{3, 5, 1, 1}, {3, 5, 1, 1}, {3, 5, 1, 1}}),
      Case("ScaleByPlanes", "type: 'ScaleBy' scale_param { axis: 0 }", {kImage, {2, 19}}),
      Case("ScaleByChannels", "type: 'ScaleBy'", {kImage, {19}}),
      Case("ScaleByLastAxes", "type: 'ScaleBy' scale_param { axis: 2 }", {kImage, {5, 6}}),
      Case("EuclideanLoss", "type: 'EuclideanLoss' loss_weight: 0.3", {{4, 33}, {4, 33}}),
      Case("EuclideanLossOfImages", "type: 'EuclideanLoss'", {{2, 3, 2, 2}, {2, 3, 2, 2}}),
      Case("SigmoidCrossEntropy", "type: 'SigmoidCrossEntropyLoss'", {{4, 3, 11}, {4, 33}}),
  };
}

Cases PointwiseFunctions() {
  return {
      Case("AbsVal", "type: 'AbsVal'", {kImage}),
      Case("Bnll", "type: 'BNLL'", {kImage}),
      Case("Clip", "type: 'Clip' clip_param { min: -0.7 max: 1.2 }", {kImage}),
      Case("ClipAboveZero", "type: 'Clip' clip_param { min: 0.2 max: 1.2 }", {kImage}),
      Case("Elu", "type: 'ELU' elu_param { alpha: 0.7 }", {kImage}),
      Case("Exp", "type: 'Exp' exp_param { base: 2 scale: 0.5 shift: 0.3 }", {kImage}),
      Case("Gelu", "type: 'GELU'", {kImage}),
      Case("GeluTanh", "type: 'GELU' gelu_param { tanh: true }", {kImage}),
      Case("HardSwish", "type: 'HardSwish'", {kImage}),
      Case("Log", "type: 'Log' log_param { base: 10 scale: 0.5 shift: 6 }", {kImage}),
      Case("Power", "type: 'Power' power_param { power: 1.5 scale: 0.5 shift: 6 }", {kImage}),
      Case("PowerOfOne", "type: 'Power' power_param { scale: -2 shift: 3 }", {{3, 7}}),
      Case("PowerOfTwo", "type: 'Power' power_param { power: 2 scale: 0.5 }", {kImage}),
      Case("Silu", "type: 'SiLU'", {kImage}),
      Case("Swish", "type: 'Swish' swish_param { beta: 1.7 }", {{3, 16, 33, 31}}),
  };
}

// At the end, too.
Cases FurtherLayers() {
  const std::string reduction = "type: 'Reduction' reduction_param { ";
  const Shape small = {3, 7, 2, 3};
  return {
      Case("Bias", "type: 'Bias'", {kImage}),
      Case("BiasVector", "type: 'Bias'", {{5, 37}}),
      Case("BiasLastAxes", "type: 'Bias' bias_param { axis: 2 num_axes: -1 }", {kImage}),
      Case("BiasOfOneNumber", "type: 'Bias' bias_param { num_axes: 0 }", {{3, 4, 5}}),
      Case("BiasByPlanes", "type: 'BiasBy' bias_param { axis: 0 }", {kImage, {2, 19}}),
      Case("BiasByChannels", "type: 'BiasBy'", {kImage, {19}}),
      Case("BiasByLastAxes", "type: 'BiasBy' bias_param { axis: 2 }", {kImage, {5, 6}}),
      Case("Tile", "type: 'Tile' tile_param { tiles: 3 }", {kImage}),
      Case("TileBlocks", "type: 'Tile' tile_param { tiles: 2 }", {{2, 32, 3, 5}}),
      Case("TileOneChannel", "type: 'Tile' tile_param { tiles: 5 }", {{2, 1, 3, 5}}),
      Case("TileImages", "type: 'Tile' tile_param { axis: 0 tiles: 2 }", {{3, 4, 5}}),
      Case("TileLastAxis", "type: 'Tile' tile_param { axis: -1 tiles: 4 }", {{2, 3, 4, 5}}),
      Case("Reduction", "type: 'Reduction'", {small}),
      Case("ReductionAbsolute", reduction + "operation: ASUM axis: 1 coeff: -0.5 }", {small}),
      Case("ReductionSquares", reduction + "operation: SUMSQ axis: 2 }", {kImage}),
      Case("ReductionMean", reduction + "operation: MEAN axis: -1 coeff: 2 }", {kImage}),
      Case("ReductionLoss", reduction + "operation: SUMSQ coeff: 0.5 } loss_weight: 0.3", {small}),
      Case("Prelu", "type: 'PReLU'", {kImage}),
      Case("PreluBlocks", "type: 'PReLU' prelu_param { filler { value: -0.4 } }", {{2, 32, 3, 5}}),
      Case("PreluShared", "type: 'PReLU' prelu_param { channel_shared: true }", {kImage}),
      Case("PreluVector", "type: 'PReLU'", {{5, 37}}),
      Case("ReductionLosses", reduction + "axis: 1 operation: ASUM } loss_weight: 0.3", {small}),
  };
}

Cases Deconvolutions() {
  const std::string up = "type: 'Deconvolution' convolution_param { num_output: ";
  const std::string oblong =
      "7 kernel_h: 3 kernel_w: 2 pad_h: 2 pad_w: 1 stride_h: 2 stride_w: 1 dilation: [2, 3] }";
  Cases cases = {
      Case("Deconvolution", up + "21 kernel_size: 3 pad: 1 }", {kImage}),
      Case("DeconvolutionOfOne", up + "5 kernel_size: 3 stride: 2 bias_term: false }",
           {{1, 3, 5, 4}}),
      Case("DeconvolutionOfOnePixel", up + "19 kernel_size: 1 }", {{3, 5, 1, 1}}),
      Case("DeconvolutionTwice", up + "32 kernel_size: 4 stride: 2 pad: 1 }", {{2, 16, 5, 3}}),
      // Windows that leave gaps.
      Case("DeconvolutionSparse", up + "4 kernel_size: 2 stride: 3 }", {{2, 3, 4, 3}}),
      Case("DeconvolutionGroups", up + "6 kernel_size: 3 stride: 2 group: 2 }", {{2, 4, 4, 5}}),
      Case("DeconvolutionDepthwise", up + "16 kernel_size: 4 stride: 2 pad: 1 group: 16 }",
           {{2, 16, 3, 4}}),
      Case("DeconvolutionDilated", up + oblong, {{2, 5, 4, 6}}),
      Case("DeconvolutionPoint", up + "33 kernel_size: 1 }", {{3, 17, 4, 4}}),
  };
  for (LayerCase& test : cases) test = SplitsSums(std::move(test));
  return cases;
}

Cases SizesAndLayerNorm() {
  const std::string crop = "type: 'Crop' crop_param { ", interp = "type: 'Interp' interp_param { ";
  const std::string norm = "type: 'LayerNorm' layer_norm_param { ";
  return {
      Case("Crop", crop + "offset: [1, 2] }", {kImage, {2, 7, 3, 3}}),
      Case("CropChannels", crop + "axis: 1 offset: [3, 0, 1] }", {kImage, {1, 11, 5, 4}}),
      Case("CropImages", crop + "axis: 0 offset: [1, 0, 0, 0] }", {{3, 16, 4, 5}, {2, 16, 4, 5}}),
      Case("CropLastAxis", crop + "axis: -1 offset: 5 }", {{3, 4, 21}, {1, 1, 8}}),
      Case("InterpSize", interp + "height: 7 width: 4 }", {kImage}),
      Case("InterpZoom", interp + "zoom_factor: 4 }", {{1, 16, 3, 4}}),
      Case("InterpShrink", interp + "shrink_factor: 3 }", {{2, 8, 10, 7}}),
      Case("InterpOfOnePixel", interp + "height: 3 width: 2 }", {{1, 33, 1, 1}}),
      Case("InterpToOnePixel", interp + "height: 1 width: 1 }", {{1, 5, 3, 2}}),
      Case("InterpReference", "type: 'Interp'", {{2, 70, 4, 5}, {1, 3, 6, 9}}),
      Case("LayerNorm", "type: 'LayerNorm'", {kImage}),
      Case("LayerNormTokens", norm + "axis: -1 }", {{3, 5, 40}}),
      Case("LayerNormLongRows", norm + "eps: 0.01 }", {{3, 2056}}),
      Case("LayerNormManyRows", "type: 'LayerNorm'", {{301, 9}}),
      Case("LayerNormBare", norm + "axis: 2 elementwise_affine: false }", {kImage}),
      Case("LayerNormOfChannels", norm + "channels_only: true }", {kImage}),
      Case("LayerNormOfManyChannels", norm + "channels_only: true }", {{2, 96, 9, 11}}),
      Case("LayerNormOfAnAxis", norm + "channels_only: true axis: 2 }", {{2, 3, 7, 70}}),
  };
}

}  // namespace

std::vector<LayerCase> LayerCases() {
  Cases all;
  for (const auto& some : {Elementwise, Eltwise, Copies, Normalization, LossCases, Weighted,
                           BatchNorm, Pooling, Large, FromOtherCaffes, PointwiseFunctions,
                           FurtherLayers, Deconvolutions, SizesAndLayerNorm, StochasticDepth}) {
    for (LayerCase& test : some()) all.push_back(std::move(test));
  }
  for (LayerCase& test : all) test.seed = SeedOf(test.name);
  return all;
}

}  // namespace gf
