#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/config/job.pb.h"

namespace gf {

// Checkpoints hold the names of the classes, so that an evaluation matches classes by name.

// The names as state.json can hold them; none, and a remark to `note`, if they are not UTF-8 or too
// many.
std::vector<std::string> StorableClassNames(const std::vector<std::string>& names,
                                            const std::function<void(const std::string&)>& note);

// The names in the checkpoint from which LoadEvaluationWeights(config, path, ...) will read, on all
// ranks; none if it reads a weights file, or if the checkpoint has none or cannot be read.
std::vector<std::string> CheckpointClassNames(const JobConfig& config, const std::string& path,
                                              Communicator* comm);

}  // namespace gf
