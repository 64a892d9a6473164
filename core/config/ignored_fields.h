#pragma once

#include <string>

#include "core/config/net.pb.h"

namespace gf {

// A clause that names the fields of a net that have no effect here, each once, and what replaces
// them: "these fields have no effect (replacements in parentheses): cache (train_data.cache_mib of
// the job), ...". Empty if there are none.
std::string IgnoredFields(const NetParameter& net);

}  // namespace gf
