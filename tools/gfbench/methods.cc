#include "tools/gfbench/methods.h"

#include <algorithm>
#include <utility>

#include "comm/choice/ladder.h"
#include "core/config/config.h"
#include "core/config/job_checks.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "tools/gfbench/named_values.h"

namespace gf {
namespace {

constexpr char kNothing[] = "nothing";

// Methods that are no rungs of mode AUTO. Their messages, except AUTO's, set wire_type, so that
// --compute does not change what travels.
struct Known {
  const char* name;
  const char* message;
};
constexpr Known kKnown[] = {
    {"FEEDBACK BF16", "mode: LAZY wire_type: BF16 error_feedback: true"},
    {"PERIODIC 8", "mode: PERIODIC wire_type: BF16 periodic { steps: 8 }"},
    {"AUTO", "mode: AUTO"},
};

// Without --methods: some rungs of AUTO, and the methods above but AUTO, which takes longer.
constexpr const char* kUsual[] = {
    "LAZY FP32",  "LAZY BF16",  "FEEDBACK BF16", "SPARSE 0.15", "SPARSE 0.02",         "TOPK 0.01",
    "TOPK 0.001", "LOW_RANK 1", "LOW_RANK 4",    "QUANTIZED 8", "QUANTIZED 4 rotated", "PERIODIC 8",
};

std::string PlaceOf(const std::string& name) { return StrCat("--methods: \"", name, "\""); }

CommConfig Parse(const std::string& name, const std::string& message) {
  CommConfig config;
  ParseTextProto(message, PlaceOf(name), &config);
  CheckComm(config, PlaceOf(name) + ": comm");
  return config;
}

std::vector<std::string> KnownNames() {
  std::vector<std::string> names = RungNames();
  for (const Known& known : kKnown) names.push_back(known.name);
  return names;
}

std::string ListOfKnown() { return StrCat(" (known: ", kNothing, ", ", Join(KnownNames()), ")"); }

CommConfig Find(const std::string& name) {
  for (const Known& known : kKnown) {
    if (name == known.name) return Parse(name, known.message);
  }
  if (const std::optional<CommConfig> rung = RungConfig(name)) return *rung;
  ThrowUserError(PlaceOf(name), " is unknown", ListOfKnown(),
                 "; for another method write \"NAME = MESSAGE\", for example \"", name,
                 " = mode: LAZY wire_type: BF16\"");
}

}  // namespace

std::vector<Method> ParseMethods(const std::string& text, ComputeType gradients) {
  std::vector<Method> methods = {{kNothing, std::nullopt}};
  const auto named = NamedValues("--methods", text);
  if (named.empty() && !text.empty()) {
    ThrowUserError("--methods=", text, " names no method", ListOfKnown());
  }
  for (const auto& [name, message] : named) {
    if (name == kNothing && message.empty()) continue;
    const auto same = [&, &name = name](const Method& method) { return method.name == name; };
    if (std::any_of(methods.begin(), methods.end(), same)) {
      ThrowUserError("--methods names \"", name, "\" twice; give each method a name of its own");
    }
    methods.push_back({name, message.empty() ? Find(name) : Parse(name, message)});
  }
  if (!text.empty()) return methods;
  for (const char* const name : kUsual) {
    const CommConfig config = Find(name);
    if (config.error_feedback() && gradients != FP32) continue;
    methods.push_back({name, config});
  }
  return methods;
}

std::string KnownMethods() {
  std::string text;
  for (const std::string& name : KnownNames()) {
    text +=
        StrCat("  ", name, std::string(22 - name.size(), ' '), Find(name).ShortDebugString(), "\n");
  }
  return text;
}

}  // namespace gf
