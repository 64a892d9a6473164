#include "core/config/config.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.h"

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Reports mistakes of one config file.
class Checker {
 public:
  explicit Checker(std::string file) : file_(std::move(file)) {}

  // Throws unless `ok`: "file: path: what".
  template <typename... Args>
  void Require(bool ok, const std::string& path, const Args&... what) const {
    if (!ok) ThrowUserError(file_, ": ", path, ": ", what...);
  }

  template <typename T>
  void Positive(T value, const std::string& path) const {
    Require(value > 0, path, "must be greater than 0, got ", value);
  }

  template <typename T>
  void NotNegative(T value, const std::string& path) const {
    Require(value >= 0, path, "must not be negative, got ", value);
  }

  // No number anywhere in the message is NaN or infinite.
  void Finite(const Message& message, const std::string& path) const {
    const auto* reflection = message.GetReflection();
    std::vector<const FieldDescriptor*> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      const std::string name = path + (path.empty() ? "" : ".") + field->name();
      const int size = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < size; ++i) {
        const bool one = !field->is_repeated();
        double value = 0;
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
          value = one ? reflection->GetFloat(message, field)
                      : reflection->GetRepeatedFloat(message, field, i);
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
          value = one ? reflection->GetDouble(message, field)
                      : reflection->GetRepeatedDouble(message, field, i);
        } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          Finite(one ? reflection->GetMessage(message, field)
                     : reflection->GetRepeatedMessage(message, field, i),
                 name);
        }
        Require(std::isfinite(value), name, "must be a finite number, got ", value);
      }
    }
  }

 private:
  std::string file_;
};

void CheckData(const DataConfig& data, const std::string& path, const Checker& check) {
  check.Require(!data.source().empty(), path + ".source",
                "missing: name a folder, a file or a glob of shards");
  check.Positive(data.batch_size(), path + ".batch_size");
  check.NotNegative(data.workers(), path + ".workers");
  check.Positive(data.prefetch(), path + ".prefetch");
  check.NotNegative(data.images(), path + ".images");
  check.Require(data.channels() == 1 || data.channels() == 3, path + ".channels",
                "must be 1 (grayscale) or 3 (RGB), got ", data.channels());
  check.NotNegative(data.resize_shorter(), path + ".resize_shorter");
  check.NotNegative(data.resize_height(), path + ".resize_height");
  check.NotNegative(data.resize_width(), path + ".resize_width");
  check.NotNegative(data.pad(), path + ".pad");
  check.NotNegative(data.crop_size(), path + ".crop_size");
  check.Require((data.resize_height() > 0) == (data.resize_width() > 0), path + ".resize_height",
                "resize_height and resize_width must be given together, got ", data.resize_height(),
                " and ", data.resize_width());
  check.Require(data.resize_shorter() == 0 || data.resize_height() == 0, path + ".resize_shorter",
                "give either resize_shorter or resize_height and resize_width, not both");
  const auto fits = [&](int64_t side, const char* name) {
    check.Require(side == 0 || data.crop_size() <= side + 2 * int64_t{data.pad()},
                  path + ".crop_size", data.crop_size(), " does not fit into ", name, " ", side,
                  " with pad ", data.pad());
  };
  fits(data.resize_shorter(), "resize_shorter");
  fits(data.resize_height(), "resize_height");
  fits(data.resize_width(), "resize_width");
  const auto per_channel = [&](int size, const char* name) {
    check.Require(size <= 1 || size == data.channels(), path + "." + name, "1 or ", data.channels(),
                  " values are expected (channels: ", data.channels(), "), got ", size);
  };
  per_channel(data.mean_size(), "mean");
  per_channel(data.std_size(), "std");
  for (float std : data.std()) check.Positive(std, path + ".std");
}

template <typename Values>
void CheckAscending(const Values& values, const char* name, const Checker& check) {
  for (int i = 0; i < values.size(); ++i) {
    check.Positive(values[i], name);
    check.Require(i == 0 || values[i] > values[i - 1], name, "must ascend, got ", values[i],
                  " after ", values[std::max(i, 1) - 1]);
  }
}

void CheckPolicy(const SolverConfig& solver, const Checker& check) {
  switch (solver.lr_policy()) {
    case SolverConfig::STEP:
      check.Require(!(solver.has_step_size() && solver.has_step_epochs()), "solver.step_size",
                    "give either step_size or step_epochs, not both");
      if (solver.has_step_epochs()) {
        check.Positive(solver.step_epochs(), "solver.step_epochs");
      } else {
        check.Positive(solver.step_size(), "solver.step_size");
      }
      check.Positive(solver.gamma(), "solver.gamma");
      break;
    case SolverConfig::MULTISTEP:
      check.Require((solver.step_value_size() > 0) != (solver.epoch_value_size() > 0),
                    "solver.step_value",
                    "lr_policy MULTISTEP needs step_value or epoch_value, one of them");
      CheckAscending(solver.step_value(), "solver.step_value", check);
      CheckAscending(solver.epoch_value(), "solver.epoch_value", check);
      check.Positive(solver.gamma(), "solver.gamma");
      break;
    case SolverConfig::EXP:
      check.Positive(solver.gamma(), "solver.gamma");
      break;
    case SolverConfig::INV:
      check.NotNegative(solver.gamma(), "solver.gamma");
      check.NotNegative(solver.power(), "solver.power");
      break;
    case SolverConfig::POLY:
      check.NotNegative(solver.power(), "solver.power");
      break;
    case SolverConfig::FIXED:
    case SolverConfig::COSINE:
      break;
  }
}

void CheckSolver(const SolverConfig& solver, const Checker& check) {
  check.Require(solver.has_base_lr() || solver.has_base_lr_per_256(), "solver.base_lr",
                "missing: give the learning rate");
  check.Require(!(solver.has_base_lr() && solver.has_base_lr_per_256()), "solver.base_lr",
                "give either base_lr or base_lr_per_256, not both");
  if (solver.has_base_lr()) {
    check.Positive(solver.base_lr(), "solver.base_lr");
  } else {
    check.Positive(solver.base_lr_per_256(), "solver.base_lr_per_256");
  }
  check.NotNegative(solver.end_lr(), "solver.end_lr");
  check.Require(solver.has_max_steps() || solver.has_max_epochs(), "solver.max_epochs",
                "missing: give max_epochs or max_steps, the length of training");
  check.Require(!(solver.has_max_steps() && solver.has_max_epochs()), "solver.max_steps",
                "give either max_steps (", solver.max_steps(), ") or max_epochs (",
                solver.max_epochs(), "), not both");
  if (solver.has_max_steps()) check.Positive(solver.max_steps(), "solver.max_steps");
  if (solver.has_max_epochs()) check.Positive(solver.max_epochs(), "solver.max_epochs");
  check.NotNegative(solver.warmup_steps(), "solver.warmup_steps");
  check.NotNegative(solver.warmup_epochs(), "solver.warmup_epochs");
  check.Require(solver.warmup_steps() == 0 || solver.warmup_epochs() == 0, "solver.warmup_steps",
                "give either warmup_steps (", solver.warmup_steps(), ") or warmup_epochs (",
                solver.warmup_epochs(), "), not both");
  check.NotNegative(solver.warmup_lr(), "solver.warmup_lr");
  check.Require(solver.momentum() >= 0 && solver.momentum() < 1, "solver.momentum",
                "must be at least 0 and less than 1, got ", solver.momentum());
  check.NotNegative(solver.weight_decay(), "solver.weight_decay");
  check.Positive(solver.iter_size(), "solver.iter_size");
  double last_epoch = -1;
  for (int i = 0; i < solver.batch_phase_size(); ++i) {
    const BatchPhase& phase = solver.batch_phase(i);
    const std::string path = StrCat("solver.batch_phase[", i, "]");
    check.NotNegative(phase.epoch(), path + ".epoch");
    check.Require(phase.epoch() > last_epoch, path + ".epoch", "must ascend, got ", phase.epoch(),
                  " after ", last_epoch);
    check.Positive(phase.iter_size(), path + ".iter_size");
    last_epoch = phase.epoch();
  }
  check.Require(solver.label_smoothing() >= 0 && solver.label_smoothing() < 1,
                "solver.label_smoothing", "must be at least 0 and less than 1, got ",
                solver.label_smoothing());
  CheckPolicy(solver, check);
}

void CheckJob(const JobConfig& config, const Checker& check) {
  check.Finite(config, "");
  check.Require(!config.net().empty(), "net", "missing: name the network's prototxt file");
  check.Require(!config.device().empty(), "device", "must not be empty (\"cpu\")");
  check.NotNegative(config.threads(), "threads");
  check.Require(config.has_train_data(), "train_data", "missing: say what to train on");
  CheckData(config.train_data(), "train_data", check);
  if (config.has_validation_data()) {
    CheckData(config.validation_data(), "validation_data", check);
  }
  check.Positive(config.validation_interval_epochs(), "validation_interval_epochs");
  check.NotNegative(config.batch_norm_group(), "batch_norm_group");
  for (int i = 0; i < config.init_size(); ++i) {
    check.Require(config.init(i).has_filler(), StrCat("init[", i, "].filler"),
                  "missing: say how to fill the parameters, e.g. filler { type: 'constant' }");
  }
  CheckSolver(config.solver(), check);
  check.Positive(config.comm().timeout_s(), "comm.timeout_s");
  check.NotNegative(config.checkpoint().interval_epochs(), "checkpoint.interval_epochs");
  check.NotNegative(config.checkpoint().interval_steps(), "checkpoint.interval_steps");
  check.NotNegative(config.checkpoint().keep(), "checkpoint.keep");
  check.Positive(config.telemetry().display_interval(), "telemetry.display_interval");
}

// A path that is relative to `folder` ("" or ending in a slash).
std::string Resolved(const std::string& folder, const std::string& path) {
  return path[0] == '/' ? path : folder + path;
}

}  // namespace

DType ToDType(ComputeType type) {
  switch (type) {
    case FP32:
      break;
    case BF16:
      return DType::kBF16;
    case FP16:
      return DType::kFP16;
  }
  return DType::kFP32;
}

JobConfig ReadJobConfig(const std::string& file, const std::vector<std::string>& overrides) {
  JobConfig config;
  ReadTextProto(file, &config);
  for (const std::string& assignment : overrides) SetField(assignment, &config);
  CheckJob(config, Checker(file));

  const std::string folder = file.substr(0, file.rfind('/') + 1);
  config.set_net(Resolved(folder, config.net()));
  const auto resolve_source = [&](DataConfig* data) {
    data->set_source(Resolved(folder, data->source()));
  };
  resolve_source(config.mutable_train_data());
  if (config.has_validation_data()) resolve_source(config.mutable_validation_data());
  return config;
}

}  // namespace gf
