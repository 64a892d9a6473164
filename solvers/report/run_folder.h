#pragma once

#include <string>

#include "core/config/job.pb.h"

namespace gf {

// Where a job writes of itself: where the config says, else to telemetry.run_dir if that is set,
// else to the working folder.
std::string LogPath(const JobConfig& config);  // "" = no log
std::string TimelinePath(const JobConfig& config);
std::string FlightRecorderPrefix(const JobConfig& config);

// Makes telemetry.run_dir (nothing if it is empty) and writes config.prototxt there: the config of
// this run as it was resolved, with absolute paths and without the folder, so that --config takes
// it from anywhere. Throws UserError if the folder cannot be written, or holds the log of another
// run that `go_on` does not continue.
void PrepareRunFolder(const JobConfig& config, bool go_on);

}  // namespace gf
