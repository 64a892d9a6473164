#include "solvers/from_caffe/caffe_job.h"

#include <algorithm>
#include <filesystem>

#include "core/config/config.h"
#include "core/config/ignored_fields.h"
#include "core/device.h"
#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/output_file.h"
#include "solvers/from_caffe/data_fields.h"
#include "solvers/from_caffe/solver_fields.h"
#include "solvers/from_caffe/solver_file.h"

namespace gf {
namespace {

// Why there is no GPU to compute on; "" if there is one.
std::string WhyNoGpu() {
  try {
    DeviceRegistry::Get().Create("device", "cuda", 1);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

// Whether NVIDIA's Caffe computes the net in FP16.
bool IsHalf(const NetParameter& net) { return net.default_forward_type() == FLOAT16; }

// Sets the device, unless --set does, and the type of numbers on it.
void ChooseDevice(const SolverFile& solver, const NetParameter& net, const JobConfig& wanted,
                  CaffeJob* job) {
  std::string device = wanted.device();
  if (!wanted.has_device()) {
    const bool gpu = solver.param.solver_mode() == SolverParameter::GPU;
    const std::string reason = gpu ? WhyNoGpu() : "";
    device = gpu && reason.empty() ? "cuda" : "cpu";
    job->config.set_device(device);
    if (!reason.empty()) {
      job->remarks.push_back(StrCat(solver.path,
                                    ": solver_mode GPU: no GPU was found, so the job runs on the "
                                    "CPU (",
                                    reason, ")"));
    }
  }
  if (!IsHalf(net)) return;
  job->config.set_compute_type(device == "cpu" ? BF16 : FP16);
  if (device == "cpu") {
    job->remarks.push_back(StrCat(solver.param.net(), ": FLOAT16 is BF16 on the CPU"));
    return;
  }
  LossScaleConfig* const scale = job->config.mutable_solver()->mutable_loss_scale();
  const bool fixed = net.has_global_grad_scale() && !net.global_grad_scale_adaptive();
  scale->set_policy(fixed ? LossScaleConfig::STATIC : LossScaleConfig::DYNAMIC);
  if (fixed) scale->set_scale(std::max(1.0F, net.global_grad_scale()));
}

// Images of both phases have the channels and the type of pixels that the training images have,
// unless a layer or --set says otherwise.
void SetPixels(const JobConfig& wanted, JobConfig* job) {
  const DataConfig& train = wanted.train_data();
  PixelFormat format = {PixelType::kUINT8, train.channels()};
  if (!train.has_channels()) format = PixelsOf(train);
  if (train.has_pixel_type()) format.type = static_cast<PixelType>(train.pixel_type());
  if (format.channels == 0) return;
  const auto set = [&](const DataConfig& given, DataConfig* data) {
    if (!given.has_channels()) data->set_channels(format.channels);
    if (given.has_pixel_type() || format.type == PixelType::kUINT8) return;
    data->set_pixel_type(static_cast<DataConfig::PixelType>(format.type));
  };
  set(train, job->mutable_train_data());
  if (wanted.has_validation_data()) {
    set(wanted.validation_data(), job->mutable_validation_data());
  }
}

// Whether --set gives the field.
bool IsSet(const std::vector<std::string>& overrides, const std::string& field) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& assignment) {
    return assignment.compare(0, field.size() + 1, field + "=") == 0;
  });
}

// Another source is not a list with the layer's root folder.
void DropListOfLayer(const std::vector<std::string>& overrides, const std::string& block,
                     DataConfig* data) {
  if (!IsSet(overrides, block + ".source")) return;
  data->clear_format();
  data->clear_root_folder();
}

// Removes the fields of the solver that --set replaces by their alternatives.
void DropReplaced(const std::vector<std::string>& overrides, JobConfig* job) {
  const auto is_set = [&](const std::string& field) { return IsSet(overrides, field); };
  SolverConfig* const solver = job->mutable_solver();
  if (is_set("validation_interval_epochs")) job->clear_validation_interval_steps();
  if (is_set("validation_interval_steps")) job->clear_validation_interval_epochs();
  if (is_set("solver.max_epochs")) solver->clear_max_steps();
  if (is_set("solver.max_steps")) solver->clear_max_epochs();
  if (is_set("solver.warmup_epochs")) solver->clear_warmup_steps();
  if (is_set("solver.base_lr_per_256")) solver->clear_base_lr();
  if (is_set("solver.step_epochs")) solver->clear_step_size();
  if (is_set("solver.epoch_value")) solver->clear_step_value();
}

void RequireSource(const DataConfig& wanted, const DataFields& fields) {
  if (!wanted.source().empty()) return;
  if (!fields.no_source.empty()) ThrowUserError(fields.no_source);
}

// NVIDIA's Caffe divides batch_size among the GPUs that it uses.
void RemarkBatch(const SolverFile& solver, const NetParameter& net, const DataConfig& layer,
                 const DataConfig& data, CaffeJob* job) {
  if (!data.has_batch_size()) {
    job->remarks.push_back(StrCat(solver.param.net(), ": the data layer has no batch_size: ",
                                  data.batch_size(), " images per rank are taken"));
  }
  if (layer.batch_size() != data.batch_size()) return;  // --set has another one
  if (!IsNvidias(solver.param) && !net.has_default_forward_type() &&
      !net.has_eltwise_mem_sharing()) {
    return;
  }
  job->remarks.push_back(
      StrCat(solver.param.net(), ": batch_size ", data.batch_size(),
             " is the batch of each rank; NVIDIA's Caffe divides it among its GPUs: for N ranks "
             "set train_data.batch_size to ",
             data.batch_size(), " / N"));
}

// An error that names the solver where the text of the job would have a place.
JobConfig Finish(const std::string& solver, const JobConfig& config,
                 const std::vector<std::string>& overrides) {
  try {
    return FinishJobConfig(config, solver, overrides);
  } catch (const UserError& error) {
    const std::string what = error.what();
    const bool placed = what.rfind("--set ", 0) == 0 || what.rfind(solver + ":", 0) == 0;
    ThrowUserError(placed ? "" : solver + ": as a job: ", what);
  }
}

}  // namespace

CaffeJob ReadCaffeJob(const std::string& path, const std::vector<std::string>& overrides) {
  const SolverFile solver = ReadSolverFile(path);
  CaffeJob job;
  job.config.set_net(solver.param.net());
  if (solver.param.weights_size() > 0) job.weights = solver.param.weights(0);
  TranslateSolver(solver, &job.config);

  DropReplaced(overrides, &job.config);
  // What --set names decides what else must be found out.
  JobConfig wanted = job.config;
  for (const std::string& assignment : overrides) SetField(assignment, &wanted);
  if (!Exists(wanted.net())) {
    const std::string place = wanted.net() == solver.param.net()
                                  ? solver.places.Before("net")
                                  : StrCat("--set net=", wanted.net(), ": ");
    ThrowUserError(place, "net: ", wanted.net(),
                   " does not exist: paths in a Caffe solver and its net are relative to the "
                   "working folder; start the program where Caffe is started");
  }
  const NetSource net = ReadNet(wanted.net());
  const DataFields train = TranslateData(net, TRAIN);
  *job.config.mutable_train_data() = train.config;
  DropListOfLayer(overrides, "train_data", job.config.mutable_train_data());
  job.remarks = train.remarks;
  DataFields test;
  if (Tests(solver.param) || wanted.has_validation_data()) {
    test = TranslateData(net, TEST);
    *job.config.mutable_validation_data() = test.config;
    DropListOfLayer(overrides, "validation_data", job.config.mutable_validation_data());
  }
  wanted = job.config;
  for (const std::string& assignment : overrides) SetField(assignment, &wanted);
  RequireSource(wanted.train_data(), train);
  if (wanted.has_validation_data()) RequireSource(wanted.validation_data(), test);
  SetPixels(wanted, &job.config);
  ChooseDevice(solver, net.param, wanted, &job);
  RemarkBatch(solver, net.param, train.config, wanted.train_data(), &job);
  if (const std::string ignored = IgnoredFields(solver.param); !ignored.empty()) {
    job.remarks.push_back(StrCat(path, ": ", ignored));
  }
  job.config = Finish(path, job.config, overrides);
  return job;
}

std::string WriteCaffeJob(const std::string& solver, const JobConfig& config,
                          const std::string& weights) {
  const auto absolute = [](const std::string& path) {
    return std::filesystem::absolute(path).string();
  };
  const std::string path = config.checkpoint().dir() + "/job.prototxt";
  MakeFolders(config.checkpoint().dir());
  JobConfig resolved = config;
  MakePathsAbsolute(&resolved);
  resolved.mutable_checkpoint()->set_dir(absolute(config.checkpoint().dir()));
  std::string start = weights.empty() ? "" : " --weights=" + absolute(weights);
  if (HasEnding(weights, ".caffemodel")) start += " --bgr";
  const std::string text = StrCat("# ", absolute(solver), " as a job: gftrain --config=FILE", start,
                                  ", gfeval --config=FILE\n", resolved.DebugString());
  constexpr int64_t kMostJobBytes = 64 << 20;
  std::string kept;
  if (IsFile(path) && ReadSmallFile(path, kMostJobBytes) != text) {
    kept = path + ".old";
    for (int i = 2; Exists(kept); ++i) kept = StrCat(path, ".old", i);
    Rename(path, kept);
  }
  ReplaceFile(path, text);
  return kept.empty() ? path : StrCat(path, " (the one that was there is now ", kept, ")");
}

}  // namespace gf
