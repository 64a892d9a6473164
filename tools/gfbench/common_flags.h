#pragma once

#include <gflags/gflags_declare.h>

#include <nlohmann/json_fwd.hpp>

// Flags that mean the same for every family.
DECLARE_int32(steps);
DECLARE_int32(warmup);
DECLARE_int32(threads);
DECLARE_string(json);

namespace gf {

// The source file of these flags, for FlagSpec.
extern const char kCommonFlagsFile[];

// Throws UserError for values out of range.
void CheckCommonFlags();

// Writes the figures to the file of --json, if it is given. Throws UserError.
void WriteJson(const nlohmann::ordered_json& figures);

}  // namespace gf
