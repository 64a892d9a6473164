#pragma once

#include <string>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// A Caffe solver as a job.
struct CaffeJob {
  JobConfig config;                  // checked
  std::string weights;               // to start from; empty: none
  std::vector<std::string> remarks;  // for people: what is approximated or has no effect
};

// Reads a solver and its net, and applies the values of --set. As in Caffe, relative paths in
// both start at the working folder. solver_mode GPU takes a GPU if there is one, otherwise the CPU,
// with a remark. Opens the training data only where nothing else tells the number of channels.
// Throws UserError.
CaffeJob ReadCaffeJob(const std::string& solver, const std::vector<std::string>& overrides);

// Writes the job to "job.prototxt" in its checkpoint.dir, with absolute paths, so that --config
// takes it from anywhere; its first line names the solver and the weights. If another text
// stands there, that file is renamed to "job.prototxt.old" (.old2 and so on if there is one).
// Returns a text for the user: the path, and the new name of the other file. Throws UserError if
// the job cannot be written.
std::string WriteCaffeJob(const std::string& solver, const JobConfig& config,
                          const std::string& weights);

}  // namespace gf
