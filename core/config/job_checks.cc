// How the fields of JobConfig go together; data have a file of their own.

#include "core/config/job_checks.h"

#include <algorithm>
#include <utility>

#include "core/config/checked_proto.h"
#include "core/config/solver_facts.h"

namespace gf {
namespace {

template <typename Values>
void CheckAscending(const Values& values, const char* name, const MistakeReport& report) {
  for (int i = 1; i < values.size(); ++i) {
    report.Require(values[i] > values[i - 1], StrCat(name, "[", i, "]"), " is ", values[i],
                   ", must be greater than the one before (", values[i - 1], ")");
  }
}

void CheckPolicy(const SolverConfig& solver, const MistakeReport& report) {
  const auto policy = solver.lr_policy();
  const std::string name = SolverConfig::Policy_Name(policy);
  const auto exactly_one = [&](bool by_steps, bool by_epochs, const char* step_field,
                               const char* epoch_field) {
    report.RequireField(by_steps || by_epochs, step_field,
                        StrCat("lr_policy ", name, " needs ", step_field, " or ", epoch_field),
                        "lr_policy");
    report.RefuseBoth(by_steps && by_epochs, step_field, epoch_field);
  };
  if (policy == SolverConfig::STEP) {
    exactly_one(solver.has_step_size(), solver.has_step_epochs(), "step_size", "step_epochs");
  }
  if (policy == SolverConfig::MULTISTEP) {
    exactly_one(solver.step_value_size() > 0, solver.epoch_value_size() > 0, "step_value",
                "epoch_value");
    CheckAscending(solver.step_value(), "step_value", report);
    CheckAscending(solver.epoch_value(), "epoch_value", report);
  }
  report.RequireField(policy != SolverConfig::SIGMOID || solver.has_step_size(), "step_size",
                      "lr_policy SIGMOID needs step_size, where the rate is half of base_lr",
                      "lr_policy");
  // Caffe's curve falls with a negative one.
  report.Require(policy == SolverConfig::SIGMOID || solver.gamma() >= 0, "gamma", " is ",
                 solver.gamma(), ", must be at least 0 with lr_policy ", name);
  if (policy == SolverConfig::STEP || policy == SolverConfig::MULTISTEP ||
      policy == SolverConfig::EXP) {
    report.Require(solver.gamma() > 0, "gamma", " is ", solver.gamma(),
                   ", must be greater than 0 with lr_policy ", name);
  }
}

void CheckSolver(const SolverConfig& solver, const MistakeReport& report) {
  report.RequireField(solver.has_base_lr() || solver.has_base_lr_per_256(), "base_lr",
                      "give the learning rate");
  report.RefuseBoth(solver.has_base_lr() && solver.has_base_lr_per_256(), "base_lr",
                    "base_lr_per_256");
  report.RequireField(solver.has_max_steps() || solver.has_max_epochs(), "max_epochs",
                      "give max_epochs or max_steps, the length of training");
  report.RefuseBoth(solver.has_max_steps() && solver.has_max_epochs(), "max_steps", "max_epochs");
  report.RefuseBoth(solver.warmup_steps() > 0 && solver.warmup_epochs() > 0, "warmup_steps",
                    "warmup_epochs");
  // In different units it takes the data to tell (LearningRate).
  const auto check_warmup = [&](const char* field, double warmup, const char* whole, double all) {
    report.Require(warmup == 0 || all == 0 || warmup < all, field, " is ", warmup,
                   ", must be less than ", whole, " (", all, "): shorten the warm-up, or set ",
                   field, " to 0");
  };
  check_warmup("warmup_steps", static_cast<double>(solver.warmup_steps()), "max_steps",
               static_cast<double>(solver.max_steps()));
  check_warmup("warmup_epochs", solver.warmup_epochs(), "max_epochs", solver.max_epochs());
  const auto& weights = solver.class_weight();
  report.Require(
      weights.empty() || std::any_of(weights.begin(), weights.end(), [](float w) { return w > 0; }),
      "class_weight",
      " is 0 for all classes, must be more than 0 for at least one: correct it, or remove it");
  for (int i = 1; i < solver.batch_phase_size(); ++i) {
    const double epoch = solver.batch_phase(i).epoch(), before = solver.batch_phase(i - 1).epoch();
    report.Require(epoch > before, StrCat("batch_phase[", i, "].epoch"), " is ", epoch,
                   ", must be greater than the epoch of the phase before (", before, ")");
  }
}

void CheckValidation(const JobConfig& config, const Places& places) {
  const MistakeReport report(places, "");
  const bool by_steps = config.validation_interval_steps() > 0;
  const bool by_epochs =
      config.has_validation_interval_epochs() && config.validation_interval_epochs() > 0;
  report.RefuseBoth(by_steps && by_epochs, "validation_interval_steps",
                    "validation_interval_epochs");
  // --set validation_data= removes the block, and with it the settings that need it.
  if (!config.has_validation_data() && places.IsSet("validation_data")) return;
  const std::pair<const char*, bool> fields[] = {{"validation_interval_steps", by_steps},
                                                 {"validate_at_start", config.validate_at_start()}};
  for (const auto& [field, set] : fields) {
    report.Require(!set || config.has_validation_data(), field,
                   " needs validation_data: say what to evaluate on, or remove the field");
  }
}

void CheckLeast(const LossScaleConfig& config, const MistakeReport& report) {
  report.Require(config.least() <= config.scale(), config.has_least() ? "least" : "scale",
                 " does not fit: least (", config.least(), ") must be at most scale (",
                 config.scale(), ")");
}

void CheckEpsilon(const SolverConfig& config, const std::string& type,
                  const MistakeReport& report) {
  const SolverFacts* const facts = FindSolverFacts(type);
  const bool divides = facts != nullptr && facts->divides_by_epsilon;
  report.Require(!divides || !config.has_epsilon() || config.epsilon() > 0, "epsilon", " is ",
                 config.epsilon(), ", must be greater than 0 for ", type);
}

// For a field that needs gradients to travel as they are, in every step.
void RefuseCompressor(const CommConfig& comm, const char* field, const MistakeReport& report) {
  const bool dense = comm.mode() < CommConfig::SPARSE;
  report.Require(dense, field, " does not go with comm.mode ", CommConfig::Mode_Name(comm.mode()),
                 ": set another mode, e.g. LAZY");
}

void CheckFeedback(const CommConfig& comm, const MistakeReport& report) {
  if (!comm.error_feedback()) return;
  const bool periodic = comm.mode() == CommConfig::PERIODIC;  // which refuses FP16
  if (periodic) {
    const CommConfig::Mode exchange = comm.periodic().exchange();
    report.Require(exchange == CommConfig::LAZY, "error_feedback",
                   " needs comm.periodic.exchange LAZY, got ", CommConfig::Mode_Name(exchange),
                   ", which keeps what it does not send by itself: set error_feedback to false");
  } else {
    RefuseCompressor(comm, "error_feedback", report);
  }
  const bool rounded = comm.wire_type() == CommConfig::BF16 || comm.wire_type() == CommConfig::FP16;
  report.Require(rounded, "error_feedback", " needs comm.wire_type BF16",
                 periodic ? "" : " or FP16", ", got ", CommConfig::WireType_Name(comm.wire_type()),
                 ": set ", periodic ? "it" : "one of them", ", or error_feedback to false");
  const char* const advice = "set one of them to false";
  report.RefuseBoth(comm.sharded_update(), "error_feedback", "sharded_update", advice);
  report.RefuseBoth(comm.threshold_auto(), "error_feedback", "threshold_auto", advice);
}

// What mode AUTO chooses must be left to it.
void CheckAutomatic(const CommConfig& comm, const MistakeReport& report) {
  if (comm.mode() != CommConfig::AUTO) return;
  const auto free = [&](bool set, const char* field) {
    report.Require(!set, field,
                   " does not go with comm.mode AUTO, which chooses it: remove it, or set a mode");
  };
  free(comm.has_wire_type(), "wire_type");
  free(comm.sparse().has_density(), "sparse.density");
  free(comm.topk().has_density(), "topk.density");
  free(comm.low_rank().has_rank(), "low_rank.rank");
  free(comm.quantized().has_bits(), "quantized.bits");
  free(comm.quantized().has_rotate(), "quantized.rotate");
}

void CheckPeriodic(const CommConfig& comm, const MistakeReport& report) {
  if (comm.mode() != CommConfig::PERIODIC) return;
  const CommConfig::Mode exchange = comm.periodic().exchange();
  const bool known = exchange == CommConfig::LAZY ||
                     (exchange >= CommConfig::SPARSE && exchange <= CommConfig::QUANTIZED);
  report.Inner("periodic")
      .Require(known, "exchange", " is ", CommConfig::Mode_Name(exchange),
               ", expected LAZY, SPARSE, TOPK, LOW_RANK or QUANTIZED");
  report.Require(
      comm.topk().local_clip() == 0, "topk.local_clip",
      " does not go with comm.mode PERIODIC: the part of a difference of weights that it "
      "cuts off would be lost; remove it");
  report.Require(comm.wire_type() != CommConfig::FP16, "wire_type",
                 " FP16 does not go with comm.mode PERIODIC, whose differences of weights may be "
                 "too small for it: set BF16 or FP32");
}

// By default a job that cannot step ahead does without (StepsAhead in comm/flow has the same
// rules). Setting the field to true is then a mistake.
void CheckStepAhead(const JobConfig& config, const MistakeReport& report) {
  const SparseConfig& sparse = config.comm().sparse();
  if (!sparse.has_step_ahead() || !sparse.step_ahead()) return;
  const CommConfig::Mode mode = config.comm().mode();
  const bool exchanges =
      mode == CommConfig::PERIODIC && config.comm().periodic().exchange() == CommConfig::SPARSE;
  report.Require(!exchanges, "step_ahead", " does not go with comm.mode PERIODIC: remove it");
  if (mode != CommConfig::SPARSE) return;
  report.Require(config.solver().type() == "SGD", "step_ahead", " needs solver.type SGD, got ",
                 config.solver().type(), ": remove it");
  report.Require(config.device() != "cpu" || config.compute_type() == FP32, "step_ahead",
                 " needs compute_type FP32 on CPUs, got ", ComputeType_Name(config.compute_type()),
                 ": remove it");
}

void CheckExchange(const CommConfig& comm, const MistakeReport& report) {
  const std::string mode = CommConfig::Mode_Name(comm.mode());
  const bool automatic = comm.threshold_auto(), sharded = comm.sharded_update();
  report.Require(!automatic || comm.mode() == CommConfig::LAZY, "threshold_auto",
                 " needs comm.mode LAZY, got ", mode, ": set it to false, or the mode to LAZY");
  report.Require(!automatic || comm.algorithm() == "auto", "threshold_auto",
                 " needs comm.algorithm \"auto\", got \"", comm.algorithm(),
                 "\": set it to false, or the algorithm to \"auto\"");
  report.RefuseBoth(automatic && sharded, "threshold_auto", "sharded_update",
                    "set one of them to false");
  if (sharded) RefuseCompressor(comm, "sharded_update", report);
  report.Require(!sharded || comm.algorithm() == "auto" || comm.algorithm() == "ring",
                 "sharded_update", " needs comm.algorithm \"auto\" or \"ring\", got \"",
                 comm.algorithm(), "\": set one of these, or sharded_update to false");
  CheckFeedback(comm, report);
  CheckAutomatic(comm, report);
  CheckPeriodic(comm, report);
}

}  // namespace

void CheckComm(const CommConfig& config, const std::string& path, const Places& places) {
  CheckJobFields(config, path, places);
  CheckExchange(config, MistakeReport(places, path));
}

void CheckLossScale(const LossScaleConfig& config, const std::string& path, const Places& places) {
  CheckJobFields(config, path, places);
  CheckLeast(config, MistakeReport(places, path));
}

void CheckUpdate(const SolverConfig& config, const std::string& type, const std::string& path,
                 const Places& places) {
  CheckJobFields(config, path, places);
  CheckEpsilon(config, type, MistakeReport(places, path));
}

void CheckJob(const JobConfig& config, const Places& places) {
  CheckJobFields(config, "", places);
  CheckData(config.train_data(), true, "train_data", places);
  if (config.has_validation_data()) {
    CheckData(config.validation_data(), false, "validation_data", places);
  }
  CheckLabels(config, places);
  CheckValidation(config, places);
  const SolverConfig& solver = config.solver();
  const MistakeReport report(places, "solver");
  CheckSolver(solver, report);
  CheckPolicy(solver, report);
  CheckEpsilon(solver, solver.type(), report);
  CheckLeast(solver.loss_scale(), report.Inner("loss_scale"));
  const MistakeReport comm(places, "comm");
  CheckExchange(config.comm(), comm);
  comm.Require(
      !config.comm().sharded_update() || solver.loss_scale().policy() == LossScaleConfig::NONE,
      "sharded_update",
      " does not go with loss scaling, which may skip an update: set solver.loss_scale.policy to "
      "NONE");
  const SolverFacts* const facts = FindSolverFacts(solver.type());
  comm.Require(
      !config.comm().sharded_update() || facts == nullptr || facts->norms == SolverFacts::kNoNorms,
      "sharded_update", " does not go with solver.type ", solver.type(),
      ", which needs whole tensors: set sharded_update to false, or solver.type to SGD or "
      "AdamW");
  comm.Require(config.comm().mode() != CommConfig::TOPK || solver.type() == "SGD", "mode",
               " TOPK needs solver.type SGD, got ", solver.type(),
               ": set solver.type to SGD, or the mode to LOW_RANK, SPARSE or LAZY");
  comm.Require(config.comm().mode() != CommConfig::SPARSE || solver.type() != "Muon", "mode",
               " SPARSE updates parts of matrices, but solver.type Muon needs whole ones: set the "
               "mode to LOW_RANK, QUANTIZED or LAZY, or another solver.type");
  comm.Require(config.comm().mode() != CommConfig::AUTO || config.device() == "cpu", "mode",
               " AUTO cannot measure on the device \"", config.device(),
               "\": set a mode, e.g. LAZY with wire_type BF16, or QUANTIZED; gfsim --gpu with "
               "--set device=cpu shows what AUTO would take");
  CheckStepAhead(config, comm.Inner("sparse"));
  const bool periodic = config.comm().mode() == CommConfig::PERIODIC;
  comm.Require(!periodic || solver.loss_scale().policy() == LossScaleConfig::NONE, "mode",
               " PERIODIC does not go with loss scaling, whose skipped steps would differ between "
               "the ranks: set solver.loss_scale.policy to NONE and compute_type to BF16 or FP32");
  comm.Require(
      !periodic || config.batch_norm_group() == 1, "mode",
      " PERIODIC does not go with batch_norm_group, whose ranks need the same weights: set "
      "batch_norm_group to 1, or the mode to LAZY");
  const bool averages = solver.average().decay() > 0;
  const AverageConfig& average = solver.average();
  report.Require(average.has_decay() || !(average.has_interval_steps() || average.has_warmup() ||
                                          average.has_decay_power() || average.has_lookahead()),
                 "average",
                 " has no decay, so there is no average: set average.decay, e.g. 0.99, "
                 "or remove its other settings");
  report.Require(!averages || !config.comm().sharded_update(), "average",
                 " does not go with comm.sharded_update, whose ranks have some of the new weights "
                 "only: set sharded_update to false");
  report.Require(
      !averages || !periodic, "average",
      " does not go with comm.mode PERIODIC, whose ranks have different weights within a "
      "round: set another mode, e.g. SPARSE");
  comm.Require(!config.comm().error_feedback() || periodic || config.compute_type() == FP32,
               "error_feedback",
               " needs gradients in FP32: set compute_type to FP32, or error_feedback to false");
}

}  // namespace gf
