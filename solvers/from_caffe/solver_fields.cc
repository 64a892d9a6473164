#include "solvers/from_caffe/solver_fields.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace gf {
namespace {

SolverConfig::Policy PolicyOf(const std::string& name) {
  static const auto* const policies =
      new std::map<std::string, SolverConfig::Policy>{{"fixed", SolverConfig::FIXED},
                                                      {"step", SolverConfig::STEP},
                                                      {"exp", SolverConfig::EXP},
                                                      {"inv", SolverConfig::INV},
                                                      {"multistep", SolverConfig::MULTISTEP},
                                                      {"poly", SolverConfig::POLY},
                                                      {"sigmoid", SolverConfig::SIGMOID}};
  return policies->at(name);  // ReadSolverFile accepts no other name
}

void TranslateRate(const SolverParameter& from, SolverConfig* to) {
  const SolverConfig::Policy policy = PolicyOf(from.lr_policy());
  to->set_base_lr(from.base_lr());
  to->set_lr_policy(policy);
  switch (policy) {
    case SolverConfig::STEP:
    case SolverConfig::SIGMOID:
      to->set_gamma(from.gamma());
      to->set_step_size(from.stepsize());
      break;
    case SolverConfig::MULTISTEP:
      to->set_gamma(from.gamma());
      for (const int32_t step : from.stepvalue()) to->add_step_value(step);
      break;
    case SolverConfig::EXP:
      to->set_gamma(from.gamma());
      break;
    case SolverConfig::INV:
      to->set_gamma(from.gamma());
      to->set_power(from.power());
      break;
    case SolverConfig::POLY:
      to->set_power(from.power());
      if (from.min_lr() > 0) to->set_end_lr(from.min_lr());
      break;
    case SolverConfig::FIXED:
    case SolverConfig::COSINE:
      break;
  }
  if (from.rampup_interval() > 0) {
    to->set_warmup_steps(from.rampup_interval());
    to->set_warmup_lr(from.rampup_lr());
    to->set_warmup_to_base_lr(true);
  }
}

void TranslateRule(const SolverParameter& from, SolverConfig* to) {
  const std::string type = TypeOf(from);
  const bool has_velocity = type == "SGD" || type == "Nesterov";
  to->set_weight_decay(from.weight_decay());
  if (has_velocity) {
    to->set_type("SGD");
    to->set_momentum(from.momentum());
    if (type == "Nesterov") to->set_nesterov(true);
    if (from.larc()) {
      to->set_type(from.larc_policy() == "clip" ? "LARC" : "LARS");
      to->set_trust_coefficient(from.larc_eta());
    }
    return;
  }
  to->set_type(type);
  to->set_epsilon(from.delta());
  if (type == "Adam") {
    to->set_beta1(from.momentum());
    to->set_beta2(from.momentum2());
  } else if (type == "RMSProp") {
    to->set_beta2(from.rms_decay());
  } else if (type == "AdaDelta") {
    to->set_beta2(from.momentum());
  }
}

// "lenet_solver" of "examples/lenet_solver.prototxt".
std::string StemOf(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// The folder of checkpoints: Caffe's prefix; in a folder or without a prefix, a name after the
// solver.
std::string CheckpointDir(const SolverFile& file) {
  const std::string& prefix = file.param.snapshot_prefix();
  if (!prefix.empty() && prefix.back() != '/') return prefix;
  const std::string folder =
      prefix.empty() ? file.path.substr(0, file.path.rfind('/') + 1) : prefix;
  const std::string stem = StemOf(file.path);
  return folder + stem + (folder + stem == file.path ? "_checkpoints" : "");
}

}  // namespace

void TranslateSolver(const SolverFile& file, JobConfig* job) {
  const SolverParameter& from = file.param;
  SolverConfig* const solver = job->mutable_solver();
  TranslateRate(from, solver);
  TranslateRule(from, solver);
  if (from.has_max_iter()) solver->set_max_steps(from.max_iter());
  if (from.has_max_epoch()) solver->set_max_epochs(from.max_epoch());
  if (from.iter_size() > 1) solver->set_iter_size(from.iter_size());
  if (from.random_seed() >= 0) job->set_seed(static_cast<uint64_t>(from.random_seed()));

  if (from.has_test_interval_epoch()) {
    job->set_validation_interval_epochs(from.test_interval_epoch());
  } else if (from.test_interval() > 0) {
    job->set_validation_interval_steps(from.test_interval());
  }
  if (Tests(from)) job->set_validate_at_start(from.test_initialization());

  CheckpointConfig* const checkpoint = job->mutable_checkpoint();
  checkpoint->set_dir(CheckpointDir(file));
  checkpoint->set_interval_epochs(0);
  checkpoint->set_interval_steps(from.snapshot());
  checkpoint->set_keep(0);  // Caffe keeps all
  if (from.has_display()) {
    const auto never = std::numeric_limits<decltype(job->telemetry().display_interval())>::max();
    job->mutable_telemetry()->set_display_interval(from.display() > 0 ? from.display() : never);
  }
}

bool Tests(const SolverParameter& solver) {
  return solver.test_interval() > 0 || solver.has_test_interval_epoch();
}

}  // namespace gf
