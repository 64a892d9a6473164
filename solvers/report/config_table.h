#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <utility>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// Every field of a config, unset ones with their defaults, as ("solver.base_lr", "0.1").
// Repeated numbers are joined by commas; fields that are unset and have no default are left
// out.
std::vector<std::pair<std::string, std::string>> ConfigTable(
    const google::protobuf::Message& config);

// The rows of ConfigTable whose values differ from the defaults of job.proto.
std::vector<std::pair<std::string, std::string>> ChangedSettings(const JobConfig& config);

}  // namespace gf
