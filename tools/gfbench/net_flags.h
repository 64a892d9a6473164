#pragma once

#include <gflags/gflags_declare.h>

#include <memory>

#include "core/device.h"
#include "models/net.h"
#include "tools/flags.h"

// Flags of the benchmarks that run a net.
DECLARE_string(net);
DECLARE_int32(batch);
DECLARE_string(compute);
DECLARE_string(device);
DECLARE_string(profile_out);

namespace gf {

// These flags, for FlagSpec.
FlagGroup NetFlags();

// The device that --device names, with --threads.
std::unique_ptr<Device> DeviceOfFlags();

// What they say, for the training net. Throws UserError.
NetOptions NetOptionsOfFlags();

}  // namespace gf
