#pragma once

#include <gflags/gflags_declare.h>

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/flags.h"

// Flags that mean the same for every benchmark.
DECLARE_int32(steps);
DECLARE_int32(warmup);
DECLARE_int32(threads);
DECLARE_string(json);
// Of benchmarks that compare, which list it themselves.
DECLARE_int32(rounds);

namespace gf {

// These flags, for FlagSpec.
FlagGroup CommonFlags();

// Throws UserError for values out of range.
void CheckCommonFlags();
// CheckOutputFile for --json.
void CheckJsonFile();

// Writes the figures to the file of --json, if it is given. Throws UserError.
void WriteJson(const nlohmann::ordered_json& figures);

}  // namespace gf
