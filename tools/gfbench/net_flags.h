#pragma once

#include <gflags/gflags_declare.h>

#include <memory>
#include <string>

#include "core/device.h"
#include "models/net.h"
#include "tools/flags.h"

// Flags of the benchmarks that run a net.
DECLARE_string(net);
DECLARE_int32(batch);
DECLARE_string(compute);
DECLARE_string(device);
DECLARE_string(profile_out);
DECLARE_string(solver);

namespace gf {

// These flags but for --solver, for FlagSpec.
FlagGroup NetFlags();

// What --solver says, `otherwise` if it is not given.
std::string SolverOfFlag(const std::string& otherwise);

// For ranks on processors: with one thread unless --threads says more, as torchrun and DDP do.
// Throws UserError for another --device.
std::unique_ptr<Device> DeviceOfRank();
// The device that --device names, with --threads.
std::unique_ptr<Device> DeviceOfFlags();

// What they say, for the training net. Throws UserError.
NetOptions NetOptionsOfFlags();
// The same without --net, for benchmarks that have nets of their own.
NetOptions OptionsOfFlags();

}  // namespace gf
