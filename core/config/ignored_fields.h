#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace gf {

// A clause that names the fields of a net or a Caffe solver that have no effect here, each once,
// and what replaces them: "these fields have no effect (replacements in parentheses): cache
// (train_data.cache_mib of the job), ...". Empty if there are none.
std::string IgnoredFields(const google::protobuf::Message& message);

}  // namespace gf
