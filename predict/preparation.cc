#include "predict/preparation.h"

#include <set>
#include <vector>

#include "core/config/config.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "data/loader/normalization.h"

namespace gf {

DataConfig WithoutRandomParts(const DataConfig& data) {
  DataConfig kept;
  kept.set_source("none");
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

DataConfig PreparationOf(const JobConfig& job) {
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

DataConfig ReadPreprocessing(const std::string& file) {
  static const std::set<std::string> kFields = {
      "batch_size", "channels", "crop_size",     "filter",         "mean",        "mean_file",
      "pad",        "std",      "resize_height", "resize_shorter", "resize_width"};
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
  return WithoutRandomParts(data);
}

}  // namespace gf
