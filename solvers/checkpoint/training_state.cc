#include "solvers/checkpoint/training_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/printable.h"

namespace gf {
namespace {

using json = nlohmann::ordered_json;

// Far beyond any run, and far from where sums of steps and images overflow 64 bits.
constexpr int64_t kMostSteps = 1'000'000'000'000'000;
constexpr int64_t kMostImages = 1'000'000'000'000'000;
constexpr int64_t kMostRanks = 1 << 16;
constexpr int64_t kMostThreads = 1 << 16;

// Reads members of a JSON object, each within the limits of its meaning.
class Members {
 public:
  Members(const json& object, const std::string& where) : object_(object), where_(where) {}

  bool Has(const char* key) const { return object_.contains(key); }

  // `most_is`: where the upper limit comes from, e.g. " (step)".
  int64_t Whole(const char* key, int64_t least, int64_t most, const char* most_is = "") const {
    const json& value = Member(key);
    const bool fits = value.is_number_unsigned()
                          ? value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                          : value.is_number_integer();
    if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most) {
      Refuse(key, value, StrCat("a whole number from ", least, " to ", most, most_is));
    }
    return value.get<int64_t>();
  }

  uint64_t Seed(const char* key) const {
    const json& value = Member(key);
    if (!value.is_number_unsigned()) {
      Refuse(key, value, StrCat("a whole number from 0 to ", UINT64_MAX));
    }
    return value.get<uint64_t>();
  }

  double Number(const char* key, double least, double most) const {
    const json& value = Member(key);
    const double number =
        value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(number >= least && number <= most)) {
      Refuse(key, value, StrCat("a number from ", least, " to ", most));
    }
    return number;
  }

  std::string Text(const char* key) const {
    const json& value = Member(key);
    if (!value.is_string()) Refuse(key, value, "a text");
    return value.get<std::string>();
  }

  std::vector<std::string> Texts(const char* key) const {
    const json& value = Member(key);
    if (!value.is_array() || !std::all_of(value.begin(), value.end(),
                                          [](const json& each) { return each.is_string(); })) {
      Refuse(key, value, "an array of texts");
    }
    return value.get<std::vector<std::string>>();
  }

  [[noreturn]] void Refuse(const char* key, const json& value, const std::string& expected) const {
    ThrowUserError(where_, ": ", key, " is ", Excerpt(JsonText(value)), ", expected ", expected,
                   ": the file is damaged or forged");
  }

  const json& Member(const char* key) const {
    const auto it = object_.find(key);
    if (it == object_.end()) ThrowUserError(where_, ": \"", key, "\" is missing");
    return *it;
  }

 private:
  const json& object_;
  const std::string& where_;
};

// Every step takes an image or more, and the epoch is the position as a fraction of the data.
void CheckPlaceInData(const TrainingState& state, const Members& members) {
  if (state.step == 0) {
    if (state.position != 0) members.Refuse("position", state.position, "0 before the first step");
    if (state.epoch != 0) members.Refuse("epoch", state.epoch, "0 before the first step");
    return;
  }
  if (state.position < state.step) {
    members.Refuse("position", state.position,
                   StrCat(state.step, " or more (an image or more in each of the steps)"));
  }
  constexpr double kRounding = 1e-12;
  const auto position = static_cast<double>(state.position);
  const double images = state.epoch > 0 ? position / state.epoch : 0;
  if (images < 0.5 || images > static_cast<double>(kMostImages) ||
      std::abs(position / std::round(images) - state.epoch) > kRounding * state.epoch) {
    members.Refuse("epoch", state.epoch,
                   StrCat("the position, ", state.position,
                          ", divided by the number of images, a whole number"));
  }
}

}  // namespace

std::string JsonText(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace);
}

int64_t ImagesOf(const TrainingState& state) {
  if (!(state.epoch > 0)) return 0;
  return std::llround(static_cast<double>(state.position) / state.epoch);
}

json ToJson(const TrainingState& state) {
  json object;
  object["step"] = state.step;
  object["updates"] = state.updates;
  object["last_lr"] = state.last_lr;
  object["loss_scale"] = state.loss_scale;
  object["clean_steps"] = state.clean_steps;
  object["position"] = state.position;
  object["epoch"] = state.epoch;
  object["seed"] = state.seed;
  object["world"] = state.world;
  object["threads"] = state.threads;
  object["solver"] = state.solver;
  object["net"] = state.net;
  object["config"] = state.config;
  if (!state.class_names.empty()) object["class_names"] = state.class_names;
  if (!state.exchange.empty()) object["exchange"] = state.exchange;
  if (state.residual_ranks > 0) object["residual_ranks"] = state.residual_ranks;
  return object;
}

TrainingState StateFromJson(const json& object, const std::string& where) {
  const Members members(object, where);
  TrainingState state;
  state.step = members.Whole("step", 0, kMostSteps);
  state.updates = state.step;
  if (members.Has("updates")) {  // not in older ones
    state.updates = members.Whole("updates", 0, state.step, " (step)");
    state.last_lr = members.Number("last_lr", 0, std::numeric_limits<float>::max());
    state.loss_scale =
        members.Number("loss_scale", std::numeric_limits<double>::denorm_min(), kLargestLossScale);
    state.clean_steps = members.Whole("clean_steps", 0, state.step, " (step)");
  }
  state.position = members.Whole("position", 0, kMostImages);
  state.epoch = members.Number("epoch", 0, static_cast<double>(kMostImages));
  CheckPlaceInData(state, members);
  state.seed = members.Seed("seed");
  state.world = static_cast<int>(members.Whole("world", 1, kMostRanks));
  state.threads = static_cast<int>(members.Whole("threads", 1, kMostThreads));
  state.solver = members.Text("solver");
  state.net = members.Text("net");
  state.config = members.Text("config");
  if (members.Has("class_names")) state.class_names = members.Texts("class_names");
  if (members.Has("exchange")) state.exchange = members.Text("exchange");
  if (members.Has("residual_ranks")) {
    state.residual_ranks =
        static_cast<int>(members.Whole("residual_ranks", state.world, state.world, " (world)"));
  }
  return state;
}

std::string ToText(const TrainingState& state) { return JsonText(ToJson(state)); }

TrainingState ParseTrainingState(const std::string& text, const std::string& where) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) ThrowUserError(where, ": not a JSON object: incomplete or damaged");
  return StateFromJson(object, where);
}

}  // namespace gf
