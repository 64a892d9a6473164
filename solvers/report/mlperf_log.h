#pragma once

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
  // The initialization of the run begins. A `resumed` run goes on in the file of the first one, any
  // other finds none or an empty one. Throws UserError if the file cannot be written or is not
  // empty. If it cannot be written later, a remark says so, and training goes on without it.
  MlperfLog(const std::string& path, bool resumed);

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
  void Drop(const char* reason);
  void Settings(const JobDescription& job);
  // A block is training between two evaluations.
  void StartBlock(double epoch);
  void StopBlock();

  std::unique_ptr<OutputFile> file_;  // null once it could not be written
  const std::string path_;
  double last_epoch_ = 0, interval_epochs_ = 0;
  double block_epoch_ = 0;  // in which the block began
  bool in_block_ = false;
};

}  // namespace gf
