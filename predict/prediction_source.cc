#include "predict/prediction_source.h"

#include <set>

#include "core/config/job_checks.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "data/augment/augment.h"
#include "data/loader/normalization.h"
#include "models/job_net.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/checkpoint/checkpoint_folder.h"

namespace gf {
namespace {

using Note = std::function<void(const std::string&)>;

// The parts of a preparation that evaluation has; the rest is the loader's or random.
DataConfig WithoutRandomParts(const DataConfig& data) {
  DataConfig kept;
  kept.set_source("none");  // the checks ask for one
  kept.set_batch_size(data.batch_size());
  kept.set_channels(data.channels());
  kept.set_resize_shorter(data.resize_shorter());
  kept.set_resize_height(data.resize_height());
  kept.set_resize_width(data.resize_width());
  kept.set_pad(data.pad());
  kept.set_crop_size(data.crop_size());
  kept.set_filter(data.filter());
  *kept.mutable_mean() = data.mean();
  *kept.mutable_std() = data.std();
  if (data.has_mean_file()) kept.set_mean_file(data.mean_file());
  return kept;
}

// The preparation of a job's validation, else of its training images, without random parts.
DataConfig DataOf(const JobConfig& job) {
  if (job.has_validation_data()) return WithoutRandomParts(job.validation_data());
  DataConfig data = job.train_data();
  // Such a crop has a random size: its counterpart is the largest square.
  if (data.random_resized_crop()) {
    if (data.resize_shorter() == 0 && data.resize_height() == 0) {
      data.set_resize_shorter(data.crop_size());
    }
    UseMeanPerChannel(&data);  // as training with such a crop does
  }
  return WithoutRandomParts(data);
}

// The fields of a preparation in `file`. Its mean_file is relative to the file's folder.
DataConfig ReadPreprocessing(const std::string& file) {
  static const std::set<std::string> kFields = {
      "batch_size", "channels", "crop_size",     "filter",         "labels",       "mean",
      "mean_file",  "pad",      "resize_height", "resize_shorter", "resize_width", "std"};
  DataConfig data;
  ReadTextProto(file, &data);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  data.GetReflection()->ListFields(data, &fields);
  for (const auto* field : fields) {
    if (kFields.count(field->name()) > 0) continue;
    ThrowUserError(file, ": ", field->name(), " has no meaning for predictions, expected ",
                   Join({kFields.begin(), kFields.end()}), ": remove it");
  }
  if (!data.mean_file().empty() && data.mean_file()[0] != '/') {
    data.set_mean_file(file.substr(0, file.rfind('/') + 1) + data.mean_file());
  }
  DataConfig kept = WithoutRandomParts(data);
  if (data.has_labels()) {
    if (!data.labels().file().empty()) {
      ThrowUserError(file, ": labels.file has no meaning for predictions: remove it");
    }
    *kept.mutable_labels() = data.labels();
  }
  return kept;
}

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

std::string FindCheckpoint(const std::string& given, const Note& note) {
  std::string folder = given;
  if (!IsFolder(folder)) ThrowUserError("checkpoint: ", folder, " is not a file or folder");
  if (IsFile(folder + "/config.prototxt") && !HoldsCheckpoints(folder)) {
    folder = CheckpointDirOfRun(folder);
  }
  if (!HoldsCheckpoints(folder)) return folder;
  return NewestCheckpoint(folder, "checkpoint", "name another folder", note,
                          CheckpointUse::kPrediction);
}

// The job's changes of the net count for `file`, too.
NetSource NetOfJob(JobConfig job, const std::string& file) {
  if (!file.empty()) job.set_net(file);
  return ReadJobNet(job);
}

NetSource NetOfCheckpoint(const std::string& folder) {
  const std::string file = folder + "/" + kNetFile;
  if (!RecordsFile(folder, kNetFile)) {
    ThrowUserError(
        folder, ": has no ", kNetFile,
        ", as checkpoints of older versions: name the job (config) or its network (net)");
  }
  return ReadNet(file);
}

// The mean image of a job is the one in its checkpoint, wherever the job's own lies.
void TakeMeanFile(const std::string& checkpoint, JobConfig* job) {
  if (!RecordsFile(checkpoint, kMeanFile)) return;
  const std::string file = checkpoint + "/" + kMeanFile;
  const bool validates = job->has_validation_data();
  (validates ? job->mutable_validation_data() : job->mutable_train_data())->set_mean_file(file);
}

}  // namespace

PredictionSource FindPredictionSource(const PredictionOptions& options) {
  const Note note = options.note ? options.note : Note([](const std::string&) {});
  const bool has_config = !options.config.empty();
  const bool net_alone = options.without_weights && !options.net.empty();
  if (options.checkpoint.empty() && options.weights.empty() && !has_config && !net_alone) {
    ThrowUserError("nothing to predict with: name a checkpoint, or weights with their network");
  }
  PredictionSource source;
  source.weights = options.weights;
  std::string checkpoint = options.checkpoint;
  if (IsFile(checkpoint)) {
    if (!options.weights.empty()) {
      ThrowUserError("checkpoint: ", checkpoint,
                     " is a file, and weights are given, too: name the checkpoint's folder");
    }
    source.weights = checkpoint;
    checkpoint.clear();
  }
  JobConfig job;
  bool has_job = has_config;
  if (has_config) job = ReadJobConfig(options.config, options.overrides, OpenedData::kNone);
  if (checkpoint.empty() && source.weights.empty() && !options.without_weights) {
    checkpoint = job.checkpoint().dir();
    if (checkpoint.empty()) {
      ThrowUserError(options.config, ": checkpoint.dir is not set: name a checkpoint, or weights");
    }
  }
  if (!checkpoint.empty()) {
    checkpoint = FindCheckpoint(checkpoint, note);
    const TrainingState state = VerifyCheckpoint(checkpoint, CheckpointUse::kPrediction);
    source.class_names = state.class_names;
    if (source.weights.empty()) source.weights = checkpoint + "/" + kWeightsFile;
    if (!has_config) {
      ParseTextProto(state.config, checkpoint + "/state.json: config", &job);
      TakeMeanFile(checkpoint, &job);
      has_job = true;
    }
  }
  if (has_config || (has_job && !options.net.empty())) {
    source.net = NetOfJob(job, options.net);
  } else if (has_job) {
    source.net = NetOfCheckpoint(checkpoint);
  } else if (!options.net.empty()) {
    source.net = ReadNet(options.net);
  } else {
    ThrowUserError(source.weights,
                   ": weights alone do not say which network they belong to: name it (net), or the "
                   "job (config)");
  }
  if (!options.preprocessing.empty()) {
    source.data = ReadPreprocessing(options.preprocessing);
  } else {
    source.data = has_job ? DataOf(job) : WithoutRandomParts(DataConfig());
  }
  source.prepared = has_job || !options.preprocessing.empty();
  if (options.batch_size != 0) {
    source.data.set_batch_size(options.batch_size);
  } else if (options.most_images > 0 && options.most_images < source.data.batch_size()) {
    source.data.set_batch_size(static_cast<int>(options.most_images));
  }
  CheckData(source.data, /*training=*/false, "preprocessing");
  if (has_job) source.options = NetOptionsOf(job, TEST);
  if (source.data.has_labels()) source.options.labels = source.data.labels();
  source.options.phase = TEST;
  source.options.batch_size = source.data.batch_size();
  if (source.prepared) source.options.image_shape = ImageShapeOf(source.data);
  return source;
}

}  // namespace gf
