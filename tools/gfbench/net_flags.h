#pragma once

#include <gflags/gflags_declare.h>

#include "models/net.h"

// Flags of the families that run a net.
DECLARE_string(net);
DECLARE_int32(batch);
DECLARE_string(compute);

namespace gf {

// ParseFlags (tools/flags.h) for a family with the flags of `file`, the common ones and these.
int ParseNetFamilyFlags(int argc, char** argv, const char* file, const char* usage);

// What they say, for the training net. Throws UserError; `usage` is shown if --net is missing.
NetOptions NetOptionsOfFlags(const char* usage);

}  // namespace gf
