#include "predict/checkpoint_job.h"

#include "core/error.h"
#include "core/folder.h"
#include "models/job_net.h"
#include "predict/preparation.h"
#include "solvers/checkpoint/checkpoint_folder.h"

namespace gf {
namespace {

// The folder of a run names its checkpoints' folder in the config that it keeps.
std::string CheckpointDirOfRun(const std::string& run) {
  const std::string file = run + "/config.prototxt";
  JobConfig config;
  ReadTextProto(file, &config);
  const std::string& folder = config.checkpoint().dir();
  if (folder.empty()) ThrowUserError(file, ": checkpoint.dir is not set: the run has none");
  if (IsFolder(folder)) return folder;
  ThrowUserError(file, ": checkpoint.dir is ", folder,
                 ", which is not a folder here: name the folder of the checkpoints itself");
}

}  // namespace

std::string LocateCheckpoint(const std::string& path, CheckpointUse use,
                             const std::function<void(const std::string&)>& note) {
  std::string folder = path;
  if (!IsFolder(folder)) ThrowUserError("checkpoint: ", folder, " is not a file or folder");
  if (IsFile(folder + "/config.prototxt") && !HoldsCheckpoints(folder)) {
    folder = CheckpointDirOfRun(folder);
  }
  if (!HoldsCheckpoints(folder)) return folder;
  return NewestCheckpoint(folder, "checkpoint", "name another folder", note, use);
}

JobConfig JobOfCheckpoint(const std::string& folder, const TrainingState& state) {
  JobConfig job;
  ParseTextProto(state.config, folder + "/state.json: config", &job);
  if (!RecordsFile(folder, kMeanFile)) return job;
  const bool validates = job.has_validation_data();
  (validates ? job.mutable_validation_data() : job.mutable_train_data())
      ->set_mean_file(folder + "/" + kMeanFile);
  return job;
}

std::string NetFileOf(const std::string& folder) {
  if (!RecordsFile(folder, kNetFile)) {
    ThrowUserError(
        folder, ": has no ", kNetFile,
        ", as checkpoints of older versions: name the job (config) or its network (net)");
  }
  return folder + "/" + kNetFile;
}

JobConfig EvaluationJob(const std::string& folder) {
  JobConfig job = JobOfCheckpoint(folder, ReadState(folder));
  job.set_net(NetFileOf(folder));
  const LabelConfig labels = LabelsOf(job, TEST);  // while `classes` is there
  const bool several = labels.type() != LabelConfig::CLASS;
  // The job has made these changes of its net already.
  job.clear_input();
  job.clear_classes();
  // `classes` may have said it.
  if (several) job.mutable_train_data()->mutable_labels()->set_count(labels.count());
  if (job.has_validation_data()) {
    if (several) job.mutable_validation_data()->mutable_labels()->set_count(labels.count());
    return job;
  }
  DataConfig data = PreparationOf(job);
  data.clear_source();
  if (several) *data.mutable_labels() = labels;
  *job.mutable_validation_data() = data;
  return job;
}

}  // namespace gf
