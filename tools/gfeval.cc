// Evaluates a network: gfeval --help.
#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/agree.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/folder.h"
#include "models/job_net.h"
#include "predict/checkpoint_job.h"
#include "solvers/checkpoint/class_names.h"
#include "solvers/checkpoint/load.h"
#include "solvers/evaluate/evaluation_report.h"
#include "solvers/evaluate/evaluator.h"
#include "solvers/train/advice.h"
#include "solvers/train/data_and_net.h"
#include "solvers/train/same_job.h"
#include "tools/flags.h"
#include "tools/rank_main.h"

DEFINE_string(config, "",
              "the job: a prototxt `FILE`; its net and validation_data are used. Without it, the "
              "checkpoint's own");
DEFINE_string(checkpoint, "",
              "a checkpoint's folder, a folder of several (the newest valid one is taken), with "
              "--config also a safetensors file, without --config also a run's folder; without "
              "this `PATH`, the newest of checkpoint.dir");
DEFINE_string(weights, "",
              "the weights of a `FILE` instead of a checkpoint: safetensors, or a Caffe model "
              "(x.caffemodel, layers of the same names)");
DEFINE_bool(bgr, false,
            "with --weights=x.caffemodel: it was trained on BGR images, as Caffe reads JPEGs");
DEFINE_string(data, "", "evaluate on this `SOURCE` instead of validation_data.source");
DEFINE_bool(per_class, false, "print a table of the classes, or of the values");
DEFINE_int32(confusions, 0,
             "print the `N` pairs of classes that are confused most (also in --json)");
DEFINE_string(misclassified, "",
              "write a line \"shard:key:offset, class, taken for\" (tabs) to this `FILE` for each "
              "image that is taken for another class");
DEFINE_string(json, "", "write the result to this `FILE`");

namespace gf {
namespace {

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "gfeval: evaluates a network on a data set, each image exactly once.";
  spec.usage = {"mpirun -n RANKS gfeval --config=FILE [FLAGS]",
                "mpirun -n RANKS gfeval --checkpoint=PATH [--data=SOURCE] [FLAGS]"};
  spec.examples = {
      "gfeval --config=configs/quickstart.prototxt",
      "gfeval --checkpoint=runs/quickstart --data=images",
      "mpirun -n 4 gfeval --config=FILE --checkpoint=DIR/step-00001000 --json=result.json"};
  spec.groups = {{"Job", {"config", "set", "checkpoint", "weights", "bgr", "data"}},
                 {"Results", {"per_class", "confusions", "misclassified", "json"}}};
  return spec;
}

void CheckFlags() {
  if (FLAGS_config.empty() && FLAGS_checkpoint.empty()) {
    ThrowUserError("--config is missing: name the job's file, or a checkpoint with --checkpoint ",
                   "(see --help)");
  }
  if (!FLAGS_checkpoint.empty() && !FLAGS_weights.empty()) {
    ThrowUserError("give --checkpoint or --weights, not both");
  }
  if (FLAGS_confusions < 0) {
    ThrowUserError("--confusions is ", FLAGS_confusions, ", must be at least 0");
  }
  if (FLAGS_bgr && FLAGS_weights.empty()) ThrowUserError("--bgr goes with --weights");
}

// Refuses flags that have no meaning for the labels of the data.
void CheckResults(const JobConfig& config) {
  const LabelConfig::Type labels = config.validation_data().labels().type();
  const char* const flag = FLAGS_confusions > 0           ? "confusions"
                           : !FLAGS_misclassified.empty() ? "misclassified"
                                                          : nullptr;
  if (labels != LabelConfig::CLASS && flag != nullptr) {
    ThrowUserError("--", flag, " is for images of one class, but validation_data.labels.type is ",
                   LabelConfig::Type_Name(labels), ": leave it out");
  }
}

bool Sets(const std::vector<std::string>& overrides, const std::string& field) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& assignment) {
    return StartsWith(assignment, field + "=");
  });
}

// Takes --data in place of the job's own images, whose number, format and labels it does not have.
void TakeData(const std::vector<std::string>& overrides, DataConfig* data) {
  data->set_source(FLAGS_data);
  if (!Sets(overrides, "validation_data.images")) data->clear_images();
  if (!Sets(overrides, "validation_data.format")) data->clear_format();
  if (!Sets(overrides, "validation_data.root_folder")) data->clear_root_folder();
  if (data->has_labels() && !Sets(overrides, "validation_data.labels.file")) {
    data->mutable_labels()->clear_file();
  }
}

JobConfig ReadConfig(const std::vector<std::string>& overrides) {
  JobConfig config = ReadJobConfig(
      FLAGS_config, overrides, FLAGS_data.empty() ? OpenedData::kValidation : OpenedData::kNone);
  if (!config.has_validation_data()) {
    ThrowUserError(FLAGS_config, ": validation_data is missing: say what to evaluate on");
  }
  if (!FLAGS_data.empty()) TakeData(overrides, config.mutable_validation_data());
  return config;
}

// The job that the checkpoint holds, and in `folder` the checkpoint that --checkpoint means.
// `note` gets remarks for people.
JobConfig ReadCheckpointConfig(const std::vector<std::string>& overrides,
                               const std::function<void(const std::string&)>& note,
                               std::string* folder) {
  if (IsFile(FLAGS_checkpoint)) {
    ThrowUserError("--checkpoint: ", FLAGS_checkpoint,
                   " is a file, and weights alone do not say which network they belong to: name "
                   "the checkpoint's folder, or the job with --config");
  }
  *folder = LocateCheckpoint(FLAGS_checkpoint, CheckpointUse::kTraining, note);
  JobConfig config = EvaluationJob(*folder);
  DataConfig* const data = config.mutable_validation_data();
  if (!FLAGS_data.empty()) {
    TakeData(overrides, data);
  } else if (data->source().empty()) {
    ThrowUserError("--data is missing: the job that wrote ", *folder,
                   " has no validation_data: name the images");
  }
  return FinishJobConfig(config, *folder + "/state.json", overrides);
}

// `named`: the weights or checkpoints that the flags name; "" = none.
void Evaluate(const JobConfig& config, const std::string& named, int threads, Communicator* comm) {
  CheckSameConfig(config, comm);
  AgreeOnErrors(comm, "checking the output files", [&] {
    if (comm->rank() > 0) return;
    CheckOutputFile("json", FLAGS_json);
    CheckOutputFile("misclassified", FLAGS_misclassified);
  });
  const std::string weights = FindEvaluationWeights(config, named, comm);
  BuildOptions options = {NetOptionsOf(config, TEST), comm->rank(), comm->size(), threads,
                          CheckpointClassNames(weights, comm)};
  options.trained_classes = static_cast<int64_t>(options.class_names.size());
  std::unique_ptr<Device> device;
  DataAndNet job;
  AgreeOnErrors(comm, "building the net", [&] {
    device = DeviceRegistry::Get().Create("device", config.device(), threads);
    const NetSource net = ReadJobNet(config);
    job = BuildDataAndNet(config.validation_data(), net, TEST, options, nullptr, device.get());
    if (comm->rank() > 0) return;
    const NetSource file = ReadNet(config.net());
    for (const std::string& each : UnusedDataSettings(file, config.validation_data(), TEST)) {
      PrintWarning(each);
    }
  });
  LoadEvaluationWeights(weights, FLAGS_bgr, job.net->parameters().get(), comm);
  const auto start = std::chrono::steady_clock::now();
  const Loader& data = *job.loader;
  Predictions predictions(data.size());
  const bool one_class = data.label_type() == LabelConfig::CLASS;
  std::shared_ptr<const Tally> tally =
      Evaluate(job.net.get(), job.loader.get(), comm, nullptr, one_class ? &predictions : nullptr);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EvaluationReport report{
      weights, config.validation_data().source(), tally, data.class_names(), seconds, {}};
  if (one_class) {
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < data.size(); ++i) labels.push_back(data.Label(i));
    report.confusions = TopConfusions(predictions, labels, FLAGS_confusions);
  }
  AgreeOnErrors(comm, "writing the result", [&] {
    if (comm->rank() != 0) return;
    PrintEvaluation(report, FLAGS_per_class, stdout);
    if (!FLAGS_json.empty()) WriteEvaluation(report, FLAGS_json);
    if (!FLAGS_misclassified.empty()) {
      WriteMisclassified(
          predictions, [&](int64_t i) { return data.Where(i); },
          [&](int64_t i) { return data.Label(i); }, FLAGS_misclassified);
    }
  });
}

class EvaluationTool : public JobTool {
 public:
  JobConfig ReadConfig(const std::vector<std::string>& overrides) override {
    CheckFlags();
    named_ = FLAGS_weights.empty() ? FLAGS_checkpoint : FLAGS_weights;
    const auto note = [this](const std::string& text) { remarks_.push_back(text); };
    const JobConfig config = FLAGS_config.empty() ? ReadCheckpointConfig(overrides, note, &named_)
                                                  : gf::ReadConfig(overrides);
    CheckResults(config);
    return config;
  }
  void Run(const JobConfig& config, int threads, Communicator* comm) override {
    for (const std::string& each : remarks_) {
      if (comm->rank() == 0) PrintWarning(each);
    }
    Evaluate(config, named_, threads, comm);
  }

 private:
  std::string named_;                 // weights or checkpoints
  std::vector<std::string> remarks_;  // of every rank the same
};

int Main(int argc, char** argv) {
  EvaluationTool tool;
  return RunJob(argc, argv, Spec(), &tool);
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
