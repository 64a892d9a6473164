#include "predict/preparation.h"

#include <set>
#include <vector>

#include "core/config/config.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "data/loader/normalization.h"

namespace gf {
namespace {

// `where` names the place of the field in messages.
void CheckHasMeaning(const std::string& where, const std::string& field) {
  static const auto* const kFields = new std::set<std::string>{
      "batch_size",   "channels", "crop_size",  "filter",     "labels",        "mean",
      "mean_file",    "pad",      "pad_mode",   "pixel_type", "resize_height", "resize_shorter",
      "resize_width", "std",      "test_flips", "test_shifts"};
  if (kFields->count(field) > 0) return;
  ThrowUserError(where, ": ", field, " has no meaning for predictions, expected ",
                 Join({kFields->begin(), kFields->end()}), ": remove it");
}

void CheckHasNoLabelFile(const std::string& where, const DataConfig& data) {
  if (data.labels().file().empty()) return;
  ThrowUserError(where, ": labels.file has no meaning for predictions: remove it");
}

}  // namespace

DataConfig WithoutRandomParts(const DataConfig& data) {
  DataConfig kept;
  kept.set_source("none");
  kept.set_batch_size(data.batch_size());
  kept.set_channels(data.channels());
  kept.set_pixel_type(data.pixel_type());
  kept.set_resize_shorter(data.resize_shorter());
  kept.set_resize_height(data.resize_height());
  kept.set_resize_width(data.resize_width());
  kept.set_pad(data.pad());
  kept.set_pad_mode(data.pad_mode());
  kept.set_crop_size(data.crop_size());
  kept.set_filter(data.filter());
  kept.set_test_flips(data.test_flips());
  kept.set_test_shifts(data.test_shifts());
  *kept.mutable_mean() = data.mean();
  *kept.mutable_std() = data.std();
  if (data.has_mean_file()) kept.set_mean_file(data.mean_file());
  return kept;
}

DataConfig PreparationOf(const JobConfig& job) {
  if (job.has_validation_data()) return WithoutRandomParts(job.validation_data());
  DataConfig data = job.train_data();
  UseLargestSquare(&data);
  return WithoutRandomParts(data);
}

DataConfig ReadPreprocessing(const std::string& file) {
  DataConfig data;
  ReadTextProto(file, &data);
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  data.GetReflection()->ListFields(data, &fields);
  for (const auto* field : fields) CheckHasMeaning(file, field->name());
  if (!data.mean_file().empty() && data.mean_file()[0] != '/') {
    data.set_mean_file(file.substr(0, file.rfind('/') + 1) + data.mean_file());
  }
  DataConfig kept = WithoutRandomParts(data);
  if (!data.has_labels()) return kept;
  CheckHasNoLabelFile(file, data);
  *kept.mutable_labels() = data.labels();
  return kept;
}

bool SetPreparation(const std::vector<std::string>& assignments, const std::string& path,
                    DataConfig* data, Places* places) {
  bool prepares = false;
  for (const std::string& assignment : assignments) {
    const std::string own = SetField(assignment, data);
    const std::string field = own.substr(0, own.find_first_of("[."));
    CheckHasMeaning("--set " + assignment, field);
    CheckHasNoLabelFile("--set " + assignment, *data);
    places->NoteSet(PathOf(path, own), assignment);
    if (field != "batch_size") prepares = true;
  }
  return prepares;
}

}  // namespace gf
