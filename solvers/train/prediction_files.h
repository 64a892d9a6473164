#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "solvers/train/setup.h"

namespace gf {

// What checkpoints hold for predictions, contents by file name: the net and, if images need one,
// the mean image. `note` gets a remark where there is no net for predictions. Throws UserError.
std::shared_ptr<const std::map<std::string, std::string>> PredictionFiles(
    const JobConfig& config, const TrainingParts& parts,
    const std::function<void(const std::string&)>& note);

}  // namespace gf
