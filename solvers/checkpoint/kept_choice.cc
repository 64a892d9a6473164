#include "solvers/checkpoint/kept_choice.h"

#include "core/config/config.h"
#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

// What a choice depends on, as text.
std::string ThatMatters(CommConfig comm) {
  comm.clear_timeout_s();
  comm.clear_flight_recorder();
  return comm.ShortDebugString();
}

// Why a choice no longer holds; empty if it does.
std::string WhyNot(const TrainingState& checkpoint, const JobConfig& config, int world) {
  if (checkpoint.exchange.empty()) return "the checkpoint is from before a choice";
  if (checkpoint.world != world) {
    return StrCat("its choice ", checkpoint.exchange, " was for ",
                  Counted(checkpoint.world, "rank"));
  }
  JobConfig before;
  try {
    ParseTextProto(checkpoint.config, "the checkpoint's config", &before);
  } catch (const UserError&) {
    return "its config cannot be read";
  }
  if (ThatMatters(before.comm()) == ThatMatters(config.comm())) return "";
  return StrCat("its choice ", checkpoint.exchange, " was for other settings of comm");
}

}  // namespace

std::string KeepChoice(const TrainingState& checkpoint, const JobConfig& config, int world,
                       GradientFlow* flow, const std::function<void(const std::string&)>& note) {
  if (config.comm().mode() != CommConfig::AUTO || world == 1) return "";
  std::string why = WhyNot(checkpoint, config, world);
  if (why.empty()) {
    if (flow->Adopt(checkpoint.exchange)) {
      note(StrCat("comm.mode AUTO: ", checkpoint.exchange, ", as before the checkpoint"));
      return checkpoint.exchange;
    }
    why = StrCat("its choice ", checkpoint.exchange, " does not go with this job");
  }
  note(StrCat("comm.mode AUTO measures anew: ", why));
  return "";
}

}  // namespace gf
