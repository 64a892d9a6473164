#include "solvers/train/data_and_net.h"

#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/printable.h"
#include "core/readable.h"
#include "models/class_losses.h"
#include "models/graph.h"
#include "solvers/evaluate/output_table.h"

namespace gf {
namespace {

const bool offered = OfferNames("JobConfig.device", [] { return DeviceRegistry::Get().Keys(); });

const char* NameOf(Phase phase) { return phase == TRAIN ? "train_data" : "validation_data"; }

std::unique_ptr<Loader> NewLoader(const DataConfig& data, Phase phase,
                                  const LoaderOptions& options) {
  try {
    return std::make_unique<Loader>(data, options);
  } catch (const UserError& error) {
    ThrowUserError(NameOf(phase), ": ", error.what());
  }
}

// A data set that is not as large as the config says.
void CheckSize(const DataConfig& data, Phase phase, int64_t size) {
  if (data.images() <= 0 || data.images() == size) return;
  ThrowUserError(NameOf(phase), ".images: there are ", size, " images at ", data.source(),
                 ", expected ", data.images(),
                 ": a part of them may be missing; set it to 0 to go on with those that are there");
}

// A net that has learned to tell more classes apart than it sees is usually a mistake.
void WarnOfFewClasses(const Loader& data, const Net& net, const NetSource& source) {
  if (data.label_type() != LabelConfig::CLASS) return;  // CheckOutputs
  if (data.classes() >= net.classes()) return;
  PrintWarning("train_data: ", data.Describe(), ", but ", source.file, " has ", net.classes(),
               " outputs: ", net.classes() - data.classes(),
               " of them have no training images; set classes: ", data.classes(),
               " in the job unless this is meant");
}

// The accuracy says nothing of classes that an evaluation does not meet.
void WarnOfMissingClasses(const DataConfig& config, const Loader& data, int64_t classes) {
  constexpr int64_t kListed = 5;
  if (data.label_type() == LabelConfig::VALUES) return;
  std::vector<bool> met(static_cast<size_t>(classes));
  std::vector<float> labels;
  for (int64_t i = 0; i < data.size(); ++i) {
    data.Labels(i, &labels);
    for (const float label : labels) {
      const auto number = static_cast<int64_t>(label);
      if (number >= 0 && number < classes) met[number] = true;
    }
  }
  const std::vector<std::string> names = data.class_names();
  std::string list;
  int64_t missing = 0;
  for (size_t i = 0; i < met.size(); ++i) {
    if (met[i]) continue;
    ++missing;
    if (missing > kListed) continue;
    list += StrCat(missing == 1 ? "" : ", ",
                   i < names.size() ? StrCat("\"", Printable(names[i]), "\"") : StrCat(i));
  }
  if (missing == 0) return;
  PrintWarning("validation_data: ", config.source(), " has no images of ", WithCommas(missing),
               " of ", Counted(classes, "class", "classes"), " (", list,
               missing > kListed ? ", ..." : "", "): the accuracy says nothing of them");
}

bool HasLoss(const NetSource& source, LabelConfig::Type labels) {
  for (const GraphNode& node : ResolveGraph(source, TRAIN)) {
    if (IsLossOf(labels, node.param.type())) return true;
  }
  return false;
}

// The data with the number of labels per image that the job says, where the data leave it open.
DataConfig WithCount(DataConfig data, const BuildOptions& options) {
  LabelConfig* const labels = data.mutable_labels();
  if (labels->type() == LabelConfig::CLASS) return data;
  if (labels->count() == 0 && options.net.labels) labels->set_count(options.net.labels->count());
  if (labels->count() == 0) labels->set_count(static_cast<int32_t>(options.trained_classes));
  return data;
}

// An evaluation reads a row of outputs per image, and each number of an image's labels has one.
void CheckOutputs(const Loader& data, const Net& net, const NetSource& source, Phase phase) {
  const Shape scores = net.scores_shape();
  const int64_t images = net.input_shape()[0];
  if (phase == TEST && (scores[0] != images || scores.count() != images * net.classes())) {
    ThrowUserError(source.file, ": the net has outputs of ", scores.ToString(), " for ",
                   Counted(images, "image"), ", expected ",
                   Shape({images, net.classes()}).ToString(),
                   ": it does not judge whole images; name a net that does");
  }
  if (data.label_type() == LabelConfig::CLASS) return;
  if (data.classes() != net.classes()) {
    ThrowUserError(source.file, ": the net has ", net.classes(), " outputs, expected ",
                   data.classes(), ", the numbers per image of the labels (", data.Describe(),
                   "): set classes: ", data.classes(), " in the job, or num_output in the net");
  }
  if (phase == TEST) OutputTable::CheckMemory(data.size(), net.classes());
}

// Of the net of `phase` for the images of a loader.
NetOptions OptionsFor(const DataConfig& data, Phase phase, const Loader& loader,
                      const BuildOptions& options) {
  NetOptions net = options.net;
  net.phase = phase;
  net.batch_size = data.batch_size();
  net.labels = data.labels();
  if (loader.label_type() != LabelConfig::CLASS) {
    net.labels->set_count(static_cast<int32_t>(loader.classes()));
  }
  net.image_shape = loader.image_shape();
  if (phase == TEST) {
    net.label_smoothing.reset();
    net.class_weights.clear();
    net.mixed = false;
  }
  return net;
}

}  // namespace

void CheckNetTakes(const DataConfig& data, const NetSource& source, const BuildOptions& options,
                   const DataAndNet& built, Device* device) {
  NetOptions net = OptionsFor(data, TRAIN, *built.loader, options);
  net.image_shape = {data.channels(), data.crop_size(), data.crop_size()};
  net.parameters = built.net->parameters();
  net.plan_only = true;
  Net(source, net, device);
}

DataAndNet BuildDataAndNet(const DataConfig& config, const NetSource& source, Phase phase,
                           const BuildOptions& options, std::shared_ptr<ParameterStore> parameters,
                           Device* device) {
  const DataConfig data = WithCount(config, options);
  LoaderOptions loader;
  loader.mode = phase == TRAIN ? LoaderOptions::kTrain : LoaderOptions::kEvaluate;
  loader.seed = options.net.seed;
  loader.rank = options.rank;
  loader.world = options.world;
  loader.workers = options.threads;
  loader.device = device;
  loader.class_names = options.class_names;
  DataAndNet result;
  result.loader = NewLoader(data, phase, loader);
  CheckSize(data, phase, result.loader->size());

  NetOptions net = OptionsFor(data, phase, *result.loader, options);
  net.parameters = std::move(parameters);
  const LabelConfig::Type type = result.loader->label_type();
  result.net = std::make_unique<Net>(source, net, device);
  if (phase == TRAIN && !HasLoss(source, type)) {
    ThrowUserError(source.file, ": the net has no ", LossesOf(type),
                   " in phase TRAIN: there is nothing to train. A deploy net can only be "
                   "evaluated; name the net that was trained");
  }
  if (result.net->classes() == 0) {
    ThrowUserError(source.file, ": the net has no ", ReadersOfOutputs(type), " in phase ",
                   Phase_Name(phase), ": there is nothing to evaluate");
  }
  CheckOutputs(*result.loader, *result.net, source, phase);
  if (result.loader->classes() > result.net->classes()) {
    // With the number of classes the loader checks each label and names the sample.
    loader.classes = result.net->classes();
    result.loader.reset();
    result.loader = NewLoader(data, phase, loader);
  }
  if (options.rank > 0 || !options.warns) return result;
  if (phase == TRAIN) {
    WarnOfFewClasses(*result.loader, *result.net, source);
  } else {
    WarnOfMissingClasses(
        data, *result.loader,
        options.trained_classes > 0 ? options.trained_classes : result.net->classes());
  }
  return result;
}

}  // namespace gf
