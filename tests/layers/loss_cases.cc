#include "tests/layers/case_parts.h"

namespace gf {
namespace {

// A third bottom follows the labels.
LayerCase WithLabelsInside(LayerCase test, std::vector<int64_t> labels) {
  test.label_bottom = 1;
  return WithLabels(std::move(test), std::move(labels));
}

// Label 2 for every eighth pixel and 1 for the others, which are to be ignored: the gradients of
// few pixels are large beside the rounding of the loss.
std::vector<int64_t> EighthsOf(int pixels) {
  std::vector<int64_t> labels(pixels, 1);
  for (int i = 0; i < pixels; i += 8) labels[i] = 2;
  return labels;
}

// Field of loss_param; every fourth weight is 0.
std::string ClassWeights(int classes) {
  std::string text;
  for (int c = 0; c < classes; ++c) text += StrCat("class_weight: ", 0.6 * ((c + 1) % 4), " ");
  return text;
}

}  // namespace

// HingeLoss with the norm L1 has few scores here, as none may lie exactly at a kink, 1 or -1.
Cases LossCases() {
  const std::string loss = "type: 'SoftmaxWithLoss' ", hinge = "type: 'HingeLoss' ";
  const std::string infogain = "type: 'InfogainLoss' ";
  const std::string contrastive = "type: 'ContrastiveLoss' contrastive_loss_param { margin: ";
  const Shape scores = {4, 33}, labels = {4}, map = {2, 5, 3, 3}, map_labels = {2, 1, 3, 3};
  const std::vector<int64_t> some = {0, 32, 5, 5};
  const std::vector<int64_t> pixels = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2};
  return {
      Case("Softmax", "type: 'Softmax'", {scores}),
      Case("SoftmaxOverChannels", "type: 'Softmax'", {{2, 5, 9, 9}}),
      Case("SoftmaxLastAxis", "type: 'Softmax' softmax_param { axis: -1 }", {{3, 4, 21}}),
      WithLabels(Case("Loss", loss, {scores, labels}), some),
      WithTops(WithLabels(Case("LossAndProbabilities", loss, {scores, labels}), some), 2),
      WithLabels(Case("LossSmoothed", loss + "loss_param { label_smoothing: 0.1 } loss_weight: 0.3",
                      {scores, labels}),
                 some),
      WithLabels(Case("LossIgnoring", loss + "loss_param { ignore_label: 5 }", {scores, labels}),
                 some),
      WithLabels(Case("LossPerPixel",
                      loss + "loss_param { normalization: BATCH_SIZE label_smoothing: 0.2 }",
                      {map, map_labels}),
                 pixels),
      WithLabels(Case("LossPerPixelWide", loss + "softmax_param { axis: 0 }", {{3, 81}, {81}}),
                 std::vector<int64_t>(81, 1)),
      WithLabels(
          Case("LossWeighted", loss + "loss_param { " + ClassWeights(33) + "}", {scores, labels}),
          some),
      WithLabels(Case("LossWeightedSmoothed",
                      loss + "loss_param { label_smoothing: 0.1 " + ClassWeights(33) +
                          "} loss_weight: 0.3",
                      {scores, labels}),
                 some),
      WithLabels(
          Case("LossWeightedIgnoring",
               loss + "loss_param { ignore_label: 5 label_smoothing: 0.2 " + ClassWeights(33) + "}",
               {scores, labels}),
          some),
      WithLabels(Case("LossWeightedPerPixel",
                      loss + "loss_param { normalization: BATCH_SIZE label_smoothing: 0.2 " +
                          ClassWeights(5) + "}",
                      {map, map_labels}),
                 pixels),
      WithLabels(Case("LossWeightedPerPixelWide",
                      loss + "softmax_param { axis: 0 } loss_param { ignore_label: 1 " +
                          ClassWeights(3) + "}",
                      {{3, 81}, {81}}),
                 EighthsOf(81)),
      WithLabels(Case("LossWeightedLastAxis",
                      loss + "softmax_param { axis: -1 } loss_param { label_smoothing: 0.1 " +
                          ClassWeights(5) + "}",
                      {{2, 9, 5}, {18}}),
                 pixels),
      WithLabels(Case("Contrastive", contrastive + "12 } loss_weight: 0.3", {scores, scores, {4}}),
                 {0, 1, 0, 7}),
      WithLabels(Case("ContrastiveLegacy", contrastive + "100 legacy_version: true }",
                      {scores, scores, {4, 1}}),
                 {0, 1, 0, 0}),
      WithLabels(
          Case("ContrastiveOfImages", contrastive + "5 }", {{2, 3, 1, 1}, {2, 3, 1, 1}, {2}}),
          {0, 1}),
      WithLabels(Case("Hinge", hinge + "loss_weight: 0.3", {{3, 5}, {3}}), {4, 0, 2}),
      WithLabels(Case("HingeOfImages", hinge, {{2, 3, 2, 1}, {2}}), {0, 5}),
      WithLabels(Case("HingeSquared", hinge + "hinge_loss_param { norm: L2 }", {scores, labels}),
                 some),
      WithLabelsInside(Case("Infogain", infogain + "loss_weight: 0.3", {scores, labels, {33, 33}}),
                       some),
      WithTops(WithLabelsInside(Case("InfogainPerPixel",
                                     infogain + "loss_param { ignore_label: 1 normalization: "
                                                "BATCH_SIZE }",
                                     {map, map_labels, {1, 1, 5, 5}}),
                                pixels),
               2),
      WithLabelsInside(Case("InfogainPerPixelWide",
                            infogain + "infogain_loss_param { axis: 0 } "
                                       "loss_param { ignore_label: 1 }",
                            {{3, 81}, {81}, {9}}),
                       EighthsOf(81)),
  };
}

}  // namespace gf
