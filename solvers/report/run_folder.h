#pragma once

#include <string>

#include "core/config/job.pb.h"
#include "core/file_descriptor.h"

namespace gf {

// Where a job writes of itself: where the config says, else to telemetry.run_dir if that is set,
// else to the working folder.
std::string LogPath(const JobConfig& config);  // "" = no log
std::string TimelinePath(const JobConfig& config);
std::string FlightRecorderPrefix(const JobConfig& config);

// Makes telemetry.run_dir (nothing if it is empty) and writes config.prototxt there: the config of
// this run as it was resolved, with absolute paths and without the folder, so that --config takes
// it from anywhere. The folder belongs to this run as long as the descriptor is open; for another
// run that is just ending waits up to `patience_s` seconds. Throws UserError if the folder cannot
// be written, another run uses it, or it holds the log of a run that `go_on` does not continue.
FileDescriptor PrepareRunFolder(const JobConfig& config, bool go_on, double patience_s = 30);

}  // namespace gf
