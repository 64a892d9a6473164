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

// The settings that decide how long a step of a net computes, beside the threads, as text.
std::string ThatMatters(const JobConfig& config) {
  JobConfig compute;
  compute.set_device(config.device());
  compute.set_compute_type(config.compute_type());
  compute.set_recompute(config.recompute());
  *compute.mutable_input() = config.input();
  DataConfig* const data = compute.mutable_train_data();
  data->set_batch_size(config.train_data().batch_size());
  data->set_crop_size(config.train_data().crop_size());
  data->set_resize_height(config.train_data().resize_height());
  data->set_resize_width(config.train_data().resize_width());
  compute.mutable_solver()->set_iter_size(config.solver().iter_size());
  *compute.mutable_solver()->mutable_batch_phase() = config.solver().batch_phase();
  return compute.ShortDebugString();
}

// Why a choice no longer holds; empty if it does.
std::string WhyNot(const TrainingState& checkpoint, const JobConfig& config, int world,
                   int threads) {
  if (checkpoint.exchange.empty()) return "the checkpoint holds no choice";
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
  if (ThatMatters(before) != ThatMatters(config)) {
    return choice + " was for another batch, size of images or device";
  }
  return "";
}

}  // namespace

std::string KeepChoice(const TrainingState& checkpoint, const JobConfig& config, int threads,
                       GradientFlow* flow, Communicator* comm,
                       const std::function<void(const std::string&)>& note) {
  if (config.comm().mode() != CommConfig::AUTO || comm->size() == 1) return "";
  // Ranks may have different numbers of threads; all must do the same.
  std::string why = WhyNot(checkpoint, config, comm->size(), threads);
  comm->Broadcast(&why, 0, "whether the choice of comm.mode AUTO holds");
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
