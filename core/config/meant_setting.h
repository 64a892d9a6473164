#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace gf {

// The path of the job's setting that has this name, or that other programs call by it:
// "solver.base_lr" for "base_lr" and for "lr". "" if there is none, or if it is in a repeated
// block.
std::string MeantSetting(const std::string& name);

// The same for a name that `type` does not have as a field: the field of `type`, where it has one
// of that meaning ("workers" of "num_workers"). "" for messages that are no part of a job, too.
std::string MeantField(const google::protobuf::Descriptor* type, const std::string& name);

}  // namespace gf
