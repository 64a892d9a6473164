#include "solvers/from_caffe/solver_file.h"

#include <initializer_list>
#include <vector>

#include "core/config/checked_proto.h"
#include "core/config/text_proto.h"

namespace gf {
namespace {

// Fields that NVIDIA's Caffe has added have numbers from here on.
constexpr int kFirstOfNvidia = 1001;

FieldRules SolverRules() {
  return {
      {"SolverParameter.base_lr", MoreThan(0).Required().Advice("give the learning rate")},
      {"SolverParameter.lr_policy",
       OneOf({"fixed", "step", "exp", "inv", "multistep", "poly", "sigmoid"})
           .Required()
           .Advice("\"fixed\" keeps base_lr")},
      {"SolverParameter.momentum", AtLeast(0).LessThan(1)},
      {"SolverParameter.weight_decay", AtLeast(0)},
      {"SolverParameter.max_iter", MoreThan(0)},
      {"SolverParameter.max_epoch", MoreThan(0)},
      {"SolverParameter.iter_size", MoreThan(0)},
      {"SolverParameter.display", AtLeast(0)},
      {"SolverParameter.stepsize", MoreThan(0)},
      {"SolverParameter.stepvalue", MoreThan(0)},
      {"SolverParameter.snapshot", AtLeast(0)},
      {"SolverParameter.test_interval", AtLeast(0)},
      {"SolverParameter.test_interval_epoch", MoreThan(0)},
      {"SolverParameter.delta", AtLeast(0)},
      {"SolverParameter.momentum2", AtLeast(0).LessThan(1)},
      {"SolverParameter.rms_decay", AtLeast(0).LessThan(1)},
      {"SolverParameter.rampup_interval", AtLeast(0)},
      {"SolverParameter.rampup_lr", AtLeast(0)},
      {"SolverParameter.min_lr", AtLeast(0)},
      {"SolverParameter.larc_policy", OneOf({"scale", "clip"})},
      {"SolverParameter.larc_eta", MoreThan(0)},
      {"SolverParameter.type",
       OneOf({"SGD", "Nesterov", "AdaGrad", "AdaDelta", "RMSProp", "Adam"})},
      {"SolverParameter.regularization_type",
       OneOf({"L2"}).Advice("other kinds of weight decay are not supported")},
      {"SolverParameter.momentum_policy",
       OneOf({"fixed"}).Advice("a momentum that changes is not supported")},
  };
}

void CheckState(const NetState& state, const std::string& field, const MistakeReport& report) {
  report.Require(state.level() == 0 && state.stage_size() == 0, field,
                 " selects layers by level or stage, which is not supported: remove it, and the "
                 "rules of the net's layers that name levels or stages");
}

// How a solver may name its network.
void CheckNets(const SolverParameter& solver, const MistakeReport& report) {
  const std::string advice =
      " is not supported: write the layers of both phases into one file, with include { phase: "
      "TRAIN } or TEST where they differ, and name it with net: \"FILE\"";
  report.Require(!solver.has_net_param(), "net_param", advice);
  report.Require(!solver.has_train_net_param(), "train_net_param", advice);
  report.Require(solver.test_net_param_size() == 0, "test_net_param[0]", advice);
  report.Require(!solver.has_train_net(), "train_net", advice);
  report.Require(solver.test_net_size() == 0, "test_net[0]", advice);
  report.RequireField(!solver.net().empty(), "net", "name the network's prototxt file");
  CheckState(solver.train_state(), "train_state", report);
  for (int i = 0; i < solver.test_state_size(); ++i) {
    CheckState(solver.test_state(i), StrCat("test_state[", i, "]"), report);
  }
}

// The fields that a policy needs.
void CheckPolicy(const SolverParameter& solver, const MistakeReport& report) {
  const std::string& policy = solver.lr_policy();
  const auto needs = [&](std::initializer_list<const char*> policies, bool set, const char* field) {
    for (const char* each : policies) {
      report.Require(policy != each || set, "lr_policy", " \"", each, "\" needs ", field);
    }
  };
  needs({"step", "sigmoid"}, solver.has_stepsize(), "stepsize");
  needs({"step", "multistep", "exp"}, solver.gamma() > 0, "gamma, greater than 0");
  needs({"multistep"}, solver.stepvalue_size() > 0, "stepvalue");
  for (int i = 1; i < solver.stepvalue_size(); ++i) {
    report.Require(solver.stepvalue(i) > solver.stepvalue(i - 1), StrCat("stepvalue[", i, "]"),
                   " is ", solver.stepvalue(i), ", must be greater than the one before (",
                   solver.stepvalue(i - 1), ")");
  }
  report.Require(solver.rampup_interval() == 0 || !solver.has_max_iter() ||
                     solver.rampup_interval() < solver.max_iter(),
                 "rampup_interval", " is ", solver.rampup_interval(),
                 ", must be less than max_iter (", solver.max_iter(), ")");
}

// The fields that an update rule needs or cannot have, as in Caffe.
void CheckRule(const SolverParameter& solver, const MistakeReport& report) {
  const std::string type = TypeOf(solver);
  report.Require((type != "AdaGrad" && type != "RMSProp") || solver.momentum() == 0, "momentum",
                 " does not go with the type ", type, ", which has none: remove it");
  report.Require((type != "Adam" && type != "AdaDelta") || solver.delta() > 0, "delta", " is ",
                 solver.delta(), ", must be greater than 0 for ", type);
  report.Require(!solver.larc() || type == "SGD", "larc",
                 " needs the type \"SGD\": remove one of them");
}

void CheckSolverFile(const SolverParameter& solver, const MistakeReport& report) {
  CheckNets(solver, report);
  report.Require(solver.clip_gradients() < 0, "clip_gradients",
                 " is not supported: remove it; a lower learning rate or a warm-up "
                 "(solver.warmup_steps of a job) often does instead");
  report.RequireField(solver.has_max_iter() || solver.has_max_epoch(), "max_iter",
                      "give the number of steps");
  report.RefuseBoth(solver.has_max_iter() && solver.has_max_epoch(), "max_epoch", "max_iter");
  report.RefuseBoth(solver.test_interval() > 0 && solver.has_test_interval_epoch(),
                    "test_interval_epoch", "test_interval");
  report.RefuseBoth(solver.has_type() && solver.has_solver_type(), "solver_type", "type");
  CheckRule(solver, report);
  CheckPolicy(solver, report);
  report.Require(solver.weights_size() <= 1, "weights[1]",
                 " is a second file of weights: put all weights into one file");
}

}  // namespace

SolverFile ReadSolverFile(const std::string& path) {
  SolverFile solver;
  solver.path = path;
  solver.places = ParseChecked(ReadTextFile(path), path, SolverRules(), &solver.param);
  CheckSolverFile(solver.param, MistakeReport(solver.places, ""));
  return solver;
}

std::string TypeOf(const SolverParameter& solver) {
  switch (solver.solver_type()) {
    case SolverParameter::SGD:
      return solver.type();
    case SolverParameter::NESTEROV:
      return "Nesterov";
    case SolverParameter::ADAGRAD:
      return "AdaGrad";
    case SolverParameter::RMSPROP:
      return "RMSProp";
    case SolverParameter::ADADELTA:
      return "AdaDelta";
    case SolverParameter::ADAM:
      return "Adam";
  }
  return solver.type();
}

bool IsNvidias(const SolverParameter& solver) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  solver.GetReflection()->ListFields(solver, &fields);
  return !fields.empty() && fields.back()->number() >= kFirstOfNvidia;
}

}  // namespace gf
