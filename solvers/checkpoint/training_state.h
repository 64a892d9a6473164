#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gf {

// Where training stands, apart from the pools. Random numbers are functions of (seed, step,
// position), so nothing more is needed to continue.
struct TrainingState {
  int64_t step = 0;     // steps done
  int64_t updates = 0;  // those that were not skipped
  double last_lr = 0;   // of the last update, 0 if there was none
  double loss_scale = 1;
  int64_t clean_steps = 0;  // since the loss scale changed
  int64_t position = 0;     // global number of the next sample (Loader::Seek)
  double epoch = 0;         // passes over the data done: position / images
  uint64_t seed = 0;
  int world = 1;
  int threads = 1;     // compute threads of rank 0; sums may be rounded differently with others
  std::string solver;  // its registered name
  std::string net;     // the net's name
  std::string config;  // the resolved config as text
  std::vector<std::string> class_names;  // of the training data, by label; may be empty
  // Further files of the checkpoint by their names, which are written but not read here: what a
  // prediction needs. Null: none.
  std::shared_ptr<const std::map<std::string, std::string>> prediction_files;
  // The rung that comm.mode AUTO has taken (comm/choice/ladder.h); empty: no choice was made.
  std::string exchange;
  // Ranks whose residuals are in the checkpoint (solvers/checkpoint/residuals.h): all of them, or
  // 0 = there are none.
  int residual_ranks = 0;
};

// Images of the data that a state has counted in: position / epoch; 0 before the first step.
int64_t ImagesOf(const TrainingState& state);

// The state as a JSON object, and back from it. `where` names the object in errors. Throws
// UserError if a member is missing or of the wrong type, or has a value that no run can have
// written.
nlohmann::ordered_json ToJson(const TrainingState& state);
TrainingState StateFromJson(const nlohmann::ordered_json& object, const std::string& where);

// The same as text.
std::string ToText(const TrainingState& state);
TrainingState ParseTrainingState(const std::string& text, const std::string& where);

// A JSON value as text, with whatever is not UTF-8 replaced.
std::string JsonText(const nlohmann::ordered_json& value);

}  // namespace gf
