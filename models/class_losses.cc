#include "models/class_losses.h"

#include "core/error.h"

namespace gf {

bool IsClassLoss(const std::string& type) {
  return type == "SoftmaxWithLoss" || type == "InfogainLoss" || type == "HingeLoss";
}

std::string MixMistake(const LayerParameter& loss, const Shape& scores, int64_t images) {
  const std::string cannot = "cannot be trained with mixed labels (train_data.mix): ";
  const std::string& type = loss.type();
  if (type == "ContrastiveLoss" || (IsClassLoss(type) && type != "SoftmaxWithLoss")) {
    return cannot + "use SoftmaxWithLoss, or remove mix";
  }
  if (type == "SigmoidCrossEntropyLoss" && loss.loss_param().has_ignore_label()) {
    return cannot + "remove ignore_label, or mix";
  }
  if (type == "SoftmaxWithLoss" && scores[0] != images) {
    return StrCat(cannot, "it has ", scores[0], " samples, but the batch has ", images,
                  " images: remove mix");
  }
  return "";
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
