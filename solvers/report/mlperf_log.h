#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/output_file.h"
#include "solvers/evaluate/tally.h"
#include "solvers/report/announce.h"

namespace gf {

// The log of a result as MLPerf Training 4.0 asks for it, the last version with ResNet: a line
// ":::MLLOG {...}" for each event. For rank 0.
class MlperfLog {
 public:
  // The initialization of the run begins. A `resumed` run appends to the file; otherwise the file
  // must be new or empty. Throws UserError if the file is not empty or cannot be opened. A write
  // that fails later ends the log with a warning, and training continues.
  MlperfLog(const std::string& path, bool resumed);
  // A run that has not been stopped has failed: it ends as aborted.
  ~MlperfLog();

  // What the job is; the initialization ends, and training begins at this epoch.
  void StartRun(const JobDescription& job, double epoch);
  void StartEvaluation(double epoch);
  // `tally`: null if a signal has ended the evaluation.
  void StopEvaluation(double epoch, const Tally* tally);
  // Closes the file.
  void StopRun(bool complete);

 private:
  enum class Kind { kPoint, kStart, kStop };
  void Write(Kind kind, const char* key, const nlohmann::ordered_json& value,
             const nlohmann::ordered_json& metadata);
  // Drops the file if the action, which writes to it, fails.
  void Attempt(const std::function<void()>& action);
  void Settings(const JobDescription& job);
  // A block is training between two evaluations.
  void StartBlock(double epoch);
  void StopBlock();
  // From this epoch on to the next evaluation or the end.
  double EpochsToEvaluation(double epoch) const;

  std::unique_ptr<OutputFile> file_;  // null once it could not be written
  double last_epoch_ = 0, interval_epochs_ = 0, step_epochs_ = 0;
  double block_epoch_ = 0;  // in which the block began
  bool in_run_ = false, in_block_ = false;
};

}  // namespace gf
