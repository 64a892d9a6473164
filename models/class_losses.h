#pragma once

#include <cstdint>
#include <string>

#include "core/config/job.pb.h"
#include "core/config/net.pb.h"
#include "core/shape.h"

namespace gf {

// The losses of class scores (bottom 0) against labels, for messages.
constexpr char kClassLosses[] = "SoftmaxWithLoss, InfogainLoss or HingeLoss";

// Why a loss cannot be trained with batches that are mixed (Batch::mix); empty: it can. `scores`:
// of its bottom 0; `images`: of the batch.
std::string MixMistake(const LayerParameter& loss, const Shape& scores, int64_t images);

// Whether a layer type is one of them.
bool IsClassLoss(const std::string& type);

// Whether bottom 0 of a layer type holds a score per class: one of them, or Softmax.
bool ReadsClassScores(const std::string& type);

// The same for labels of any type: a loss that compares the net's outputs with them
// (SigmoidCrossEntropyLoss for CLASSES, EuclideanLoss for VALUES), or a layer whose bottom 0 holds
// the outputs.
bool IsLossOf(LabelConfig::Type labels, const std::string& type);
bool ReadsOutputs(LabelConfig::Type labels, const std::string& type);
// The types of these layers, for messages: "A, B or C".
std::string LossesOf(LabelConfig::Type labels);
std::string ReadersOfOutputs(LabelConfig::Type labels);

}  // namespace gf
