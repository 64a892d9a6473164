#include "solvers/train/prediction_files.h"

#include "core/config/caffe_blob.h"
#include "core/error.h"
#include "core/file.h"
#include "models/prediction_net.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {
namespace {

// The net that checkpoints hold for predictions, as text; "", and a remark to `note`, if the net
// has no phase TEST.
std::string PredictionNetText(const TrainingParts& parts,
                              const std::function<void(const std::string&)>& note) {
  const Net& net = parts.validation.net ? *parts.validation.net : *parts.train.net;
  const Shape& input = net.input_shape();
  const Loader& data = *parts.train.loader;
  LabelConfig labels;
  labels.set_type(data.label_type());
  labels.set_count(static_cast<int32_t>(data.classes()));
  try {
    return PredictionNet(parts.source, {input[1], input[2], input[3]}, labels).DebugString();
  } catch (const UserError& error) {
    note(StrCat("checkpoints do not hold the net, and predictions will need it as --net=FILE: ",
                error.what()));
  }
  return "";
}

}  // namespace

std::shared_ptr<const std::map<std::string, std::string>> PredictionFiles(
    const JobConfig& config, const TrainingParts& parts,
    const std::function<void(const std::string&)>& note) {
  auto files = std::make_shared<std::map<std::string, std::string>>();
  if (const std::string net = PredictionNetText(parts, note); !net.empty()) {
    (*files)[kNetFile] = net;
  }
  const DataConfig& data =
      config.has_validation_data() ? config.validation_data() : config.train_data();
  if (!data.mean_file().empty()) {
    (*files)[kMeanFile] = ReadSmallFile(data.mean_file(), kLargestCaffeBlob);
  }
  return files;
}

}  // namespace gf
