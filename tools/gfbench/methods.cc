#include "tools/gfbench/methods.h"

#include <algorithm>
#include <utility>

#include "core/config/config.h"
#include "core/config/job_checks.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "tools/gfbench/named_values.h"

namespace gf {
namespace {

constexpr char kNothing[] = "nothing";

// Each message sets wire_type, so that --compute does not change what travels.
struct Known {
  const char* name;
  const char* message;
};
constexpr Known kKnown[] = {
    {"LAZY FP32", "mode: LAZY wire_type: FP32"},
    {"LAZY BF16", "mode: LAZY wire_type: BF16"},
    {"FEEDBACK BF16", "mode: LAZY wire_type: BF16 error_feedback: true"},
    {"SPARSE 0.15", "mode: SPARSE wire_type: BF16 sparse { density: 0.15 }"},
    {"SPARSE 0.02", "mode: SPARSE wire_type: BF16 sparse { density: 0.02 }"},
    {"TOPK 0.01", "mode: TOPK wire_type: BF16 topk { density: 0.01 }"},
    {"TOPK 0.001", "mode: TOPK wire_type: BF16 topk { density: 0.001 }"},
    {"LOW_RANK 1", "mode: LOW_RANK wire_type: BF16 low_rank { rank: 1 }"},
    {"LOW_RANK 4", "mode: LOW_RANK wire_type: BF16 low_rank { rank: 4 }"},
    {"QUANTIZED 8", "mode: QUANTIZED wire_type: BF16 quantized { bits: 8 }"},
    {"QUANTIZED 4", "mode: QUANTIZED wire_type: BF16 quantized { bits: 4 rotate: true }"},
    {"PERIODIC 8", "mode: PERIODIC wire_type: BF16 periodic { steps: 8 }"},
};

Method NewMethod(const std::string& name, const std::string& message) {
  const std::string place = StrCat("--methods: \"", name, "\"");
  Method method;
  method.name = name;
  ParseTextProto(message, place, &method.config.emplace());
  CheckComm(*method.config, StrCat(place, ": comm"));
  if (method.config->mode() == CommConfig::AUTO) {
    ThrowUserError(place,
                   ": AUTO measures first and then takes a method for good; gfbench train "
                   "--comm='mode: AUTO' shows which one, and its steps");
  }
  return method;
}

Method FindMethod(const std::string& name) {
  for (const Known& known : kKnown) {
    if (name == known.name) return NewMethod(name, known.message);
  }
  std::vector<std::string> names = {kNothing};
  for (const Known& known : kKnown) names.push_back(known.name);
  ThrowUserError("--methods: unknown method \"", name, "\" (known: ", Join(names),
                 "); for another one write \"NAME = MESSAGE\", for example \"", name,
                 " = mode: LAZY wire_type: BF16\"");
}

}  // namespace

std::vector<Method> ParseMethods(const std::string& text, ComputeType gradients) {
  std::vector<Method> methods = {{kNothing, std::nullopt}};
  for (const auto& [name, message] : NamedValues(text)) {
    if (name == kNothing && message.empty()) continue;
    const auto same = [&, &name = name](const Method& method) { return method.name == name; };
    if (std::any_of(methods.begin(), methods.end(), same)) {
      ThrowUserError("--methods names \"", name, "\" twice; give each method a name of its own");
    }
    methods.push_back(message.empty() ? FindMethod(name) : NewMethod(name, message));
  }
  if (!text.empty()) return methods;
  for (const Known& known : kKnown) {
    Method method = FindMethod(known.name);
    if (method.config->error_feedback() && gradients != FP32) continue;
    methods.push_back(std::move(method));
  }
  return methods;
}

std::string KnownMethods() {
  std::string text;
  for (const Known& known : kKnown) {
    text += StrCat("  ", known.name, std::string(16 - std::string(known.name).size(), ' '),
                   known.message, "\n");
  }
  return text;
}

}  // namespace gf
