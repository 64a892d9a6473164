#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/exchange_choice.h"
#include "core/telemetry/console.h"
#include "core/telemetry/event_file.h"
#include "core/telemetry/json_lines.h"
#include "solvers/evaluate/tally.h"

namespace gf {

// What a line of progress says about the steps since the last one.
struct TrainRecord {
  int64_t step = 0, max_steps = 0;  // steps done, and where training ends
  double epoch = 0;
  double loss = 0;  // mean over steps and ranks
  double lr = 0;
  double images_per_s = 0;  // of all ranks
  double data_wait = 0;     // share of the time that rank 0 waited for data
  double comm_ms = 0;       // exposed communication per step
  double eta_s = 0;
};

// Tells people (standard output) and programs (JSON lines, TensorBoard's events) how training
// goes. On ranks other than 0 it says nothing.
class Report {
 public:
  // `log`: the file of JSON lines, "" = none; `tensorboard`: events beside it, or in the
  // working folder. Throws UserError if a file cannot be written.
  Report(const std::string& log, bool tensorboard, bool speaks);

  // Names and values: `settings` for programs, `shown` for people.
  void Start(const std::vector<std::pair<std::string, std::string>>& settings,
             const std::vector<std::pair<std::string, std::string>>& shown);
  void Train(const TrainRecord& record);
  void Validation(int64_t step, double epoch, const Tally& tally, double seconds);
  void Checkpoint(int64_t step, const std::string& path, double seconds);
  // What comm.mode AUTO has chosen, and the table by which.
  void Choice(const ExchangeChoice& choice);
  void End(int64_t step, double epoch, const std::string& reason);
  // A remark for people.
  void Note(const std::string& text);

 private:
  void Write(const std::string& kind, nlohmann::ordered_json record);

  const bool speaks_;
  std::unique_ptr<Console> console_;
  std::unique_ptr<JsonLines> lines_;
  std::unique_ptr<EventFile> events_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace gf
