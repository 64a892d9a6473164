#pragma once

#include <gflags/gflags_declare.h>

#include "models/net.h"

// Flags of the families that run a net.
DECLARE_string(net);
DECLARE_int32(batch);
DECLARE_string(compute);

namespace gf {

// The source file of these flags, for FlagSpec.
extern const char kNetFlagsFile[];

// What they say, for the training net. Throws UserError; `usage` is shown if --net is missing.
NetOptions NetOptionsOfFlags(const char* usage);

}  // namespace gf
