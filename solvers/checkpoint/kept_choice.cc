#include "solvers/checkpoint/kept_choice.h"

#include "core/config/config.h"
#include "core/error.h"
#include "core/printable.h"
#include "core/readable.h"

namespace gf {
namespace {

// The settings of comm on which a choice depends, as text.
std::string ThatMatters(CommConfig comm) {
  comm.clear_timeout_s();
  comm.clear_flight_recorder();
  return comm.ShortDebugString();
}

// What decides how long a step computes, beside the machine and the threads, as text.
std::string ComputeOf(const JobConfig& config) {
  return StrCat(config.net(), " ", config.device(), " ", config.compute_type(), " ",
                config.train_data().batch_size(), " ", config.solver().iter_size(), " ",
                config.train_data().crop_size());
}

// Why a choice no longer holds; empty if it does.
std::string WhyNot(const TrainingState& checkpoint, const JobConfig& config, int world,
                   int threads) {
  if (checkpoint.exchange.empty()) return "the checkpoint is from before a choice";
  const std::string choice = StrCat("its choice ", Excerpt(checkpoint.exchange));
  if (checkpoint.world != world) {
    return StrCat(choice, " was for ", Counted(checkpoint.world, "rank"));
  }
  if (checkpoint.threads != threads) {
    return StrCat(choice, " was for ", Counted(checkpoint.threads, "thread"), " per rank");
  }
  JobConfig before;
  try {
    ParseTextProto(checkpoint.config, "the checkpoint's config", &before);
  } catch (const UserError&) {
    return "its config cannot be read";
  }
  if (ThatMatters(before.comm()) != ThatMatters(config.comm())) {
    return choice + " was for other settings of comm";
  }
  if (ComputeOf(before) != ComputeOf(config)) {
    return choice + " was for another net, batch or device";
  }
  return "";
}

}  // namespace

std::string KeepChoice(const TrainingState& checkpoint, const JobConfig& config, int world,
                       int threads, GradientFlow* flow,
                       const std::function<void(const std::string&)>& note) {
  if (config.comm().mode() != CommConfig::AUTO || world == 1) return "";
  std::string why = WhyNot(checkpoint, config, world, threads);
  if (why.empty()) {
    if (flow->Adopt(checkpoint.exchange)) {
      note(StrCat("comm.mode AUTO: ", checkpoint.exchange, ", as before the checkpoint"));
      return checkpoint.exchange;
    }
    why = StrCat("its choice ", Excerpt(checkpoint.exchange), " does not go with this job");
  }
  note(StrCat("comm.mode AUTO measures anew: ", why));
  return "";
}

}  // namespace gf
