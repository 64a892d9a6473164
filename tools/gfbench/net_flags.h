#pragma once

#include <gflags/gflags_declare.h>

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "models/net.h"

// Flags of the families that run a net.
DECLARE_string(net);
DECLARE_int32(batch);
DECLARE_string(compute);
DECLARE_string(device);
DECLARE_string(profile_out);

namespace gf {

// ParseFlags (tools/flags.h) for a family with the flags of `file`, of `more_files`, the common
// ones and these.
int ParseNetFamilyFlags(int argc, char** argv, const char* file, const char* usage,
                        const std::vector<std::string>& more_files = {});

// The device that --device names, with --threads.
std::unique_ptr<Device> DeviceOfFlags();

// What they say, for the training net. Throws UserError; `usage` is shown if --net is missing.
NetOptions NetOptionsOfFlags(const char* usage);

}  // namespace gf
