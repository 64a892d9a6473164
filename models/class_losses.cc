#include "models/class_losses.h"

namespace gf {

bool IsClassLoss(const std::string& type) {
  return type == "SoftmaxWithLoss" || type == "InfogainLoss" || type == "HingeLoss";
}

bool ReadsClassScores(const std::string& type) { return type == "Softmax" || IsClassLoss(type); }

}  // namespace gf
