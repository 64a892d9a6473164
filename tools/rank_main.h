#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/config/job.pb.h"
#include "tools/flags.h"

namespace gf {

// Sets up logging: warnings and errors of all ranks to standard error, no files.
void InitLogging(const char* program);

// Runs a tool's body on the ranks that mpirun started and ends MPI properly. An error that all
// ranks agree on is printed once; one rank's own error ends the job. Returns the exit code.
// `timeout_s`: the deadline of every wait for other ranks. `flight_recorder`: where the last
// collectives go if the job ends badly (Communicator::Guard).
int RunOnRanks(int* argc, char*** argv, double timeout_s,
               const std::function<int(Communicator*)>& body,
               const std::string& flight_recorder = "");

// The main function of a tool that works on a job: reads the flags, of which --set may be
// repeated, lets `read_config` make the config of them and of the values of --set, and runs
// `body` on the ranks with the compute threads of this one. A mistake in flags or config, which
// every rank makes, is told once. Returns the exit code.
int RunJob(int argc, char** argv, FlagSpec flags,
           const std::function<JobConfig(const std::vector<std::string>& overrides)>& read_config,
           const std::function<int(const JobConfig&, int threads, Communicator*)>& body);

}  // namespace gf
