#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/config/job.pb.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace gf {

// Sets up logging: warnings and errors of all ranks to standard error, no files.
void InitLogging(const char* program);

// Sets the number of compute threads of this rank and returns it: `configured`, or (0) the
// processors that this process may use, shared out among the ranks of its host that may use the
// same ones. Called by all ranks.
int SetComputeThreads(int configured, Communicator* comm);

// Runs a tool's body on the ranks that mpirun started and ends MPI properly. An error that all
// ranks agree on is printed once; one rank's own error ends the job. Returns the exit code.
// `timeout_s`: the deadline of every wait for other ranks. `flight_recorder`: where the last
// collectives go if the job ends badly (Watchdog::Guard).
int RunOnRanks(int* argc, char*** argv, double timeout_s,
               const std::function<int(Communicator*)>& body,
               const std::string& flight_recorder = "");

// As RunOnRanks for a command that tells mistakes, after `check` has checked the values of its
// flags and returned `timeout_s`. A mistake that every rank makes is told once. Ranks
// whose flags differ, or of which some ask for help, are refused.
int CheckAndRunOnRanks(const Arguments& arguments, const std::function<double()>& check,
                       const std::function<int(Communicator*)>& body);

// What a tool that works on a job does with its config.
class JobTool {
 public:
  virtual ~JobTool() = default;

  // Makes the config of the flags, which are read, and of the values of --set. MPI has not started.
  // Throws UserError.
  virtual JobConfig ReadConfig(const std::vector<std::string>& overrides) = 0;
  // The tool's work, on every rank; `threads`: the compute threads of this one.
  virtual void Run(const JobConfig& config, int threads, Communicator* comm) = 0;
};

// The main function of such a tool: reads the flags, of which --set may be repeated, and runs
// `tool` on the ranks. A mistake in flags or config, which every rank makes, is told once. Returns
// the exit code.
int RunJob(int argc, char** argv, FlagSpec flags, JobTool* tool);

}  // namespace gf
