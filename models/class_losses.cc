#include "models/class_losses.h"

namespace gf {

bool IsClassLoss(const std::string& type) {
  return type == "SoftmaxWithLoss" || type == "InfogainLoss" || type == "HingeLoss";
}

bool ReadsClassScores(const std::string& type) { return type == "Softmax" || IsClassLoss(type); }

bool IsLossOf(LabelConfig::Type labels, const std::string& type) {
  return labels == LabelConfig::CLASS ? IsClassLoss(type) : type == LossesOf(labels);
}

bool ReadsOutputs(LabelConfig::Type labels, const std::string& type) {
  return labels == LabelConfig::CLASS ? ReadsClassScores(type) : type == LossesOf(labels);
}

std::string LossesOf(LabelConfig::Type labels) {
  if (labels == LabelConfig::CLASS) return kClassLosses;
  return labels == LabelConfig::CLASSES ? "SigmoidCrossEntropyLoss" : "EuclideanLoss";
}

std::string ReadersOfOutputs(LabelConfig::Type labels) {
  return (labels == LabelConfig::CLASS ? "Softmax, " : "") + LossesOf(labels);
}

}  // namespace gf
