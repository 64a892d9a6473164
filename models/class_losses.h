#pragma once

#include <string>

namespace gf {

// The losses of class scores (bottom 0) against labels, for messages.
constexpr char kClassLosses[] = "SoftmaxWithLoss, InfogainLoss or HingeLoss";

// Whether a layer type is one of them.
bool IsClassLoss(const std::string& type);

// Whether bottom 0 of a layer type holds a score per class: one of them, or Softmax.
bool ReadsClassScores(const std::string& type);

}  // namespace gf
