#pragma once

#include <string>

#include "core/config/net.pb.h"

namespace gf {

// The fields of a net that are read and change nothing here, each once, with what decides in their
// place: "default_forward_type (compute_type of the job), shuffle (train_data.shuffle)". Empty:
// there are none.
std::string IgnoredFields(const NetParameter& net);

}  // namespace gf
