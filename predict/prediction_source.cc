#include "predict/prediction_source.h"

#include "core/config/job_checks.h"
#include "core/config/places.h"
#include "core/error.h"
#include "core/folder.h"
#include "data/augment/augment.h"
#include "models/job_net.h"
#include "predict/checkpoint_job.h"
#include "predict/preparation.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {
namespace {

// What messages call the preparation.
constexpr char kPreprocessing[] = "preprocessing";

using Note = std::function<void(const std::string&)>;

// What the options name.
struct Named {
  std::string weights;     // a file, or a folder with one
  std::string checkpoint;  // its folder; "" = none is named
  std::vector<std::string> class_names;
  bool has_job = false;
  JobConfig job;  // of the config, else the one that wrote the checkpoint
};

void CheckAnyIsNamed(const PredictionOptions& options) {
  const bool net_alone = options.without_weights && !options.net.empty();
  if (options.checkpoint.empty() && options.weights.empty() && options.config.empty() &&
      !net_alone) {
    ThrowUserError("nothing to predict with: name a checkpoint, or weights with their network");
  }
}

Named FindNamed(const PredictionOptions& options, const Note& note) {
  Named named;
  named.weights = options.weights;
  named.checkpoint = options.checkpoint;
  if (IsFile(named.checkpoint)) {
    if (!options.weights.empty()) {
      ThrowUserError("checkpoint: ", named.checkpoint,
                     " is a file, and weights are given, too: name the checkpoint's folder");
    }
    named.weights = named.checkpoint;
    named.checkpoint.clear();
  }
  if (!options.config.empty()) {
    named.job = ReadJobConfig(options.config, options.overrides, OpenedData::kNone);
    named.has_job = true;
  }
  if (named.checkpoint.empty() && named.weights.empty() && !options.without_weights) {
    named.checkpoint = named.job.checkpoint().dir();
    if (named.checkpoint.empty()) {
      ThrowUserError(options.config, ": checkpoint.dir is not set: name a checkpoint, or weights");
    }
  }
  if (named.checkpoint.empty()) return named;
  named.checkpoint = LocateCheckpoint(named.checkpoint, CheckpointUse::kPrediction, note);
  const TrainingState state = VerifyCheckpoint(named.checkpoint, CheckpointUse::kPrediction);
  named.class_names = state.class_names;
  if (named.weights.empty()) named.weights = named.checkpoint + "/" + kWeightsFile;
  if (!named.has_job) named.job = JobOfCheckpoint(named.checkpoint, state);
  named.has_job = true;
  return named;
}

// The job's changes of the net count for `file`, too.
NetSource NetOfJob(JobConfig job, const std::string& file) {
  if (!file.empty()) job.set_net(file);
  return ReadJobNet(job);
}

NetSource NetOf(const PredictionOptions& options, const Named& named) {
  if (named.has_job && (!options.config.empty() || !options.net.empty())) {
    return NetOfJob(named.job, options.net);
  }
  if (named.has_job) return ReadNet(NetFileOf(named.checkpoint));
  if (!options.net.empty()) return ReadNet(options.net);
  ThrowUserError(named.weights,
                 ": weights alone do not say which network they belong to: name it (net), or the "
                 "job (config)");
}

// Fills `data` and `prepared`; the data have the defaults where nothing says how to prepare them.
void FindPreparation(const PredictionOptions& options, const Named& named,
                     PredictionSource* source) {
  DataConfig data;
  if (!options.preprocessing.empty()) {
    data = ReadPreprocessing(options.preprocessing);
  } else {
    data = named.has_job ? PreparationOf(named.job) : WithoutRandomParts(DataConfig());
  }
  Places places;
  const bool set = SetPreparation(options.preprocessing_overrides, kPreprocessing, &data, &places);
  if (options.batch_size != 0) {
    data.set_batch_size(options.batch_size);
  } else if (options.most_images > 0 && options.most_images < data.batch_size()) {
    data.set_batch_size(static_cast<int>(options.most_images));
  }
  CheckData(data, /*training=*/false, kPreprocessing, places);
  source->data = data;
  source->prepared = named.has_job || !options.preprocessing.empty() || set;
}

}  // namespace

PredictionSource FindPredictionSource(const PredictionOptions& options) {
  CheckAnyIsNamed(options);
  const Named named =
      FindNamed(options, options.note ? options.note : Note([](const std::string&) {}));
  PredictionSource source;
  source.weights = named.weights;
  source.class_names = named.class_names;
  source.net = NetOf(options, named);
  FindPreparation(options, named, &source);
  if (named.has_job) source.options = NetOptionsOf(named.job, TEST);
  if (source.data.has_labels()) source.options.labels = source.data.labels();
  source.options.phase = TEST;
  source.options.batch_size = source.data.batch_size();
  if (source.prepared) source.options.image_shape = ImageShapeOf(source.data);
  return source;
}

}  // namespace gf
