#pragma once

#include <string>

#include "core/config/net.pb.h"

namespace gf {

// The fields of a net that are read and change nothing here, each once, with what decides in their
// place: "cache (train_data.cache_mib of the job), shuffle (train_data.shuffle of the job)". Empty:
// there are none.
std::string IgnoredFields(const NetParameter& net);

}  // namespace gf
