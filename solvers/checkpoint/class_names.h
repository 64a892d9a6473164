#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace gf {

// Checkpoints hold the names of the classes, so that an evaluation matches classes by name.

// The names as state.json can hold them; none, and a remark to `note`, if they are not UTF-8 or too
// many.
std::vector<std::string> StorableClassNames(const std::vector<std::string>& names,
                                            const std::function<void(const std::string&)>& note);

// The names in a checkpoint, on all ranks; none if `source` is a file, or the checkpoint has none.
// Throws UserError on all ranks if its state.json is damaged.
std::vector<std::string> CheckpointClassNames(const std::string& source, Communicator* comm);

}  // namespace gf
