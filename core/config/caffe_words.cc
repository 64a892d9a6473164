#include "core/config/caffe_words.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/str_cat.h"

namespace gf {
namespace {

using Words = std::map<std::string, std::string>;

// An empty text: such a setting has no counterpart.
const Words& SolverWords() {
  static const Words* const words = new Words{
      {"average_loss", "not needed: each line averages the steps since the one before"},
      {"clip_gradients", ""},
      {"debug_info", ""},
      {"delta", "solver.epsilon"},
      {"device_id", "not needed: each rank takes a GPU of its own (CUDA_VISIBLE_DEVICES)"},
      {"display", "telemetry.display_interval"},
      {"max_iter", "solver.max_steps"},
      {"momentum2", "solver.beta2"},
      {"net_param", "net: \"FILE\", which holds both phases"},
      {"rampup_interval", "solver.warmup_steps, with solver.warmup_to_base_lr: true"},
      {"rampup_lr", "solver.warmup_lr"},
      {"random_seed", "seed"},
      {"regularization_type", "L2 (solver.weight_decay); L1 is missing"},
      {"rms_decay", "solver.beta2"},
      {"snapshot", "checkpoint.interval_steps"},
      {"snapshot_after_train", "not needed: training ends with a checkpoint"},
      {"snapshot_diff", ""},
      {"snapshot_format", "not needed: checkpoints are safetensors files"},
      {"snapshot_prefix", "checkpoint.dir"},
      {"solver_mode", "device: \"cpu\" or \"cuda\""},
      {"solver_type", "solver.type"},
      {"stepsize", "solver.step_size"},
      {"stepvalue", "solver.step_value"},
      {"test_initialization", "validate_at_start"},
      {"test_interval", "validation_interval_steps"},
      {"test_iter", "not needed: validation takes all of validation_data"},
      {"test_net", "net: \"FILE\", which holds both phases"},
      {"train_net", "net: \"FILE\", which holds both phases"},
      {"weights", "--weights=FILE"},
  };
  return *words;
}

const Words& DataWords() {
  static const Words* const words = new Words{
      {"backend", "format, which is detected"},
      {"force_color", "channels: 3"},
      {"force_gray", "channels: 1"},
      {"is_color", "channels: 3, or 1"},
      {"mean_value", "mean"},
      {"new_height", "resize_height"},
      {"new_width", "resize_width"},
      {"rand_skip", "not needed: every rank takes images of its own"},
      {"scale", "std, of which it is 1 / scale"},
  };
  return *words;
}

}  // namespace

std::string CaffeFieldHere(const std::string& field) {
  for (const Words* words : {&SolverWords(), &DataWords()}) {
    const auto found = words->find(field);
    if (found == words->end()) continue;
    if (found->second.empty()) return StrCat("Caffe's ", field, " is not supported: leave it out");
    return StrCat("Caffe's ", field, " is ", found->second,
                  found->second.find("not needed") == 0 ? "" : " here");
  }
  return "";
}

std::string OtherSolverHere(const std::string& field, const std::string& value) {
  if (field != "solver.type") return "";
  std::string name = value;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (name == "nesterov") return "write type SGD with nesterov: true";
  return "";
}

bool IsCaffeSolverField(const std::string& field) { return SolverWords().count(field) != 0; }

}  // namespace gf
