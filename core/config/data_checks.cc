// How the fields of DataConfig go together, and the labels of a job's two data sets.

#include <string>
#include <utility>
#include <vector>

#include "core/config/checked_proto.h"
#include "core/config/job_checks.h"

namespace gf {
namespace {

std::string NameOf(DataConfig::PixelType type) { return DataConfig::PixelType_Name(type); }

// The first change of colors that is asked for, or null.
const char* ColorChange(const DataConfig& data) {
  if (data.brightness() > 0) return "brightness";
  if (data.contrast() > 0) return "contrast";
  if (data.saturation() > 0) return "saturation";
  return data.lighting() > 0 ? "lighting" : nullptr;
}

void CheckResize(const DataConfig& data, const MistakeReport& report) {
  const bool height = data.resize_height() > 0, width = data.resize_width() > 0;
  if (height != width) {
    report.Fail(height ? "resize_height" : "resize_width",
                " stands alone: give resize_height and resize_width together");
  }
  report.RefuseBoth(data.resize_shorter() > 0 && height, "resize_shorter", "resize_height",
                    "give one of the two ways to resize");
}

// Of random windows: the config of crops, or of erasing.
template <typename Config>
void CheckWindowRanges(const Config& config, const MistakeReport& report) {
  report.Require(config.min_area() <= config.max_area(),
                 config.has_min_area() ? "min_area" : "max_area", " leaves no area: min_area (",
                 config.min_area(), ") must be at most max_area (", config.max_area(), ")");
  report.Require(config.min_aspect() <= config.max_aspect(),
                 config.has_min_aspect() ? "min_aspect" : "max_aspect",
                 " leaves no shape: min_aspect (", config.min_aspect(),
                 ") must be at most max_aspect (", config.max_aspect(), ")");
}

// The sides of images before they are padded, with the fields' names; 0: as the image has them.
std::vector<std::pair<const char*, int>> SidesOf(const DataConfig& data) {
  return {{"resize_shorter", data.resize_shorter()},
          {"resize_height", data.resize_height()},
          {"resize_width", data.resize_width()}};
}

void CheckPad(const DataConfig& data, const MistakeReport& report) {
  if (data.pad_mode() != DataConfig::REFLECT || data.pad() == 0) return;
  for (const auto& [name, side] : SidesOf(data)) {
    report.Require(side == 0 || data.pad() < side, "pad", " is ", data.pad(),
                   ", must be less than ", side, " (", name, ") with pad_mode: REFLECT");
  }
}

// Whether the padded images hold the window. `field`: where crop_size comes from.
void CheckFits(const DataConfig& data, const std::string& field, const MistakeReport& report) {
  for (const auto& [name, side] : SidesOf(data)) {
    const int64_t most = side + 2 * int64_t{data.pad()};
    report.Require(side == 0 || data.crop_size() <= most, field, " is ", data.crop_size(),
                   ", must be at most ", most, " (", name, " and 2 pad)");
  }
}

// `resized`: the window has a random size and is resized to crop_size.
void CheckCrop(const DataConfig& data, bool resized, const MistakeReport& report) {
  if (!resized) CheckFits(data, "crop_size", report);
  const std::pair<const char*, bool> crops[] = {
      {"random_crop", data.random_crop()}, {"random_resized_crop", data.random_resized_crop()}};
  for (const auto& [name, given] : crops) {
    report.Require(!given || data.crop_size() > 0, name,
                   " needs crop_size: set it to the window's size");
  }
  if (!data.random_resized_crop()) return;
  report.RefuseBoth(data.random_crop(), "random_resized_crop", "random_crop");
  report.Require(data.pad() == 0, "pad", " is ", data.pad(),
                 ", must be 0 with random_resized_crop");
  CheckWindowRanges(data, report);
}

void CheckSizes(const DataConfig& data, bool training, const MistakeReport& report) {
  if (data.size_phase().empty()) return;
  report.Require(training, "size_phase", " only applies to training; set crop_size here");
  report.Require(data.crop_size() > 0, "size_phase",
                 " needs crop_size, the size of the images before the first phase: set it");
  for (int i = 0; i < data.size_phase_size(); ++i) {
    const double epoch = data.size_phase(i).epoch();
    report.Require(i == 0 || epoch > data.size_phase(i - 1).epoch(),
                   StrCat("size_phase[", i, "].epoch"), " is ", epoch,
                   ", must be greater than the epoch of the phase before (",
                   i == 0 ? 0 : data.size_phase(i - 1).epoch(), ")");
    if (data.random_resized_crop()) continue;
    CheckFits(DataOfPhase(data, i), StrCat("size_phase[", i, "].crop_size"), report);
  }
}

void CheckShifts(const DataConfig& data, bool training, const MistakeReport& report) {
  if (data.test_shifts() == 0) return;
  report.Require(!training, "test_shifts",
                 " only applies to evaluation; set it in validation_data");
  report.Require(data.crop_size() == 0 || data.test_shifts() < data.crop_size(), "test_shifts",
                 " is ", data.test_shifts(), ", must be less than ", data.crop_size(),
                 " (crop_size)");
}

void CheckColorChange(const DataConfig& data, const MistakeReport& report) {
  const char* const change = ColorChange(data);
  if (change == nullptr) return;
  report.Require(data.channels() == 3, change, " needs channels: 3, but channels is ",
                 data.channels());
  report.Require(data.pixel_type() == DataConfig::UINT8, change,
                 " needs pixel_type: UINT8, but pixel_type is ", NameOf(data.pixel_type()),
                 ": leave one of them out");
}

void CheckPolicy(const DataConfig& data, const MistakeReport& report) {
  if (data.policy().type() == PolicyConfig::NONE) return;
  report.Require(data.channels() == 1 || data.channels() == 3, "policy.type",
                 " needs channels: 3 or 1, but channels is ", data.channels());
  report.Require(data.pixel_type() == DataConfig::UINT8, "policy.type",
                 " needs pixel_type: UINT8, but pixel_type is ", NameOf(data.pixel_type()),
                 ": leave one of them out");
}

void CheckMix(const DataConfig& data, bool training, const MistakeReport& report) {
  report.Require(!training || !MixesImages(data) || data.batch_size() > 1, "batch_size", " is ",
                 data.batch_size(), ", but mix needs at least 2 images per batch");
}

// A change of pixels, beside cropping and mirroring, that only the loader makes; null: none.
const char* LoadersChange(const DataConfig& data) {
  if (data.random_resized_crop()) return "random_resized_crop";
  if (data.policy().type() != PolicyConfig::NONE) return "policy.type";
  return data.erasing().probability() > 0 ? "erasing.probability" : ColorChange(data);
}

void CheckDeviceCache(const DataConfig& data, bool training, const MistakeReport& report) {
  if (data.device_cache_mib() == 0) return;
  report.Require(training, "device_cache_mib", " is ", data.device_cache_mib(),
                 ", but only applies to training; set it to 0 here");
  report.Require(data.pixel_type() == DataConfig::UINT8, "device_cache_mib",
                 " needs pixel_type: UINT8, but pixel_type is ", NameOf(data.pixel_type()),
                 "; leave one of them out, or use cache_mib");
  const char* const other = LoadersChange(data);
  report.RefuseBoth(other != nullptr, "device_cache_mib", other == nullptr ? "" : other,
                    "images that stay on the device are only cropped and mirrored there; leave one "
                    "of them out, or use cache_mib");
}

void CheckMeanFile(const DataConfig& data, const MistakeReport& report) {
  if (data.mean_file().empty()) return;
  report.RefuseBoth(data.mean_size() > 0, "mean_file", "mean");
  report.RefuseBoth(data.device_cache_mib() > 0, "mean_file", "device_cache_mib",
                    "images that stay on the device have no places in a mean image; use mean, or "
                    "cache_mib");
  report.Require(data.pad() == 0, "pad", " is ", data.pad(),
                 ", must be 0 with mean_file, which has no values around an image");
}

}  // namespace

DataConfig DataOfPhase(const DataConfig& data, int phase) {
  DataConfig of_phase = data;
  const SizePhase& size = data.size_phase(phase);
  of_phase.set_crop_size(size.crop_size());
  if (size.has_resize_shorter()) of_phase.set_resize_shorter(size.resize_shorter());
  return of_phase;
}

bool MixesImages(const DataConfig& data) {
  return (data.mix().mixup() > 0 || data.mix().cutmix() > 0) && data.mix().probability() > 0;
}

void CheckData(const DataConfig& data, bool training, const std::string& path,
               const Places& places) {
  CheckJobFields(data, path, places);
  const MistakeReport report(places, path);
  CheckResize(data, report);
  CheckPad(data, report);
  CheckCrop(data, training && data.random_resized_crop(), report);
  const std::pair<const char*, int> counts[] = {{"mean", data.mean_size()},
                                                {"std", data.std_size()}};
  for (const auto& [name, size] : counts) {
    report.Require(size <= 1 || size == data.channels(), name, " has ", size,
                   " values, must have 1",
                   data.channels() == 1 ? "" : StrCat(" or ", data.channels(), " (channels)"));
  }
  CheckColorChange(data, report);
  CheckPolicy(data, report);
  CheckWindowRanges(data.erasing(), report.Inner("erasing"));
  CheckMix(data, training, report);
  report.Require(!data.alternate_mirror() || data.mirror(), "alternate_mirror",
                 " needs mirror: true");
  report.Require(!training || !data.test_flips(), "test_flips",
                 " only applies to evaluation; set it in validation_data");
  CheckSizes(data, training, report);
  CheckShifts(data, training, report);
  report.RefuseBoth(data.exchange() < 1 && data.shuffle_window() > 0, "exchange", "shuffle_window");
  CheckDeviceCache(data, training, report);
  CheckMeanFile(data, report);
  report.Inner("labels").Require(
      data.labels().type() != LabelConfig::CLASS || data.labels().count() == 0, "count", " is ",
      data.labels().count(),
      ", but the type is CLASS, one class per image: set the type to CLASSES or VALUES, or remove "
      "count");
}

void CheckLabels(const JobConfig& config, const Places& places) {
  const LabelConfig& train = config.train_data().labels();
  const int64_t classes = config.classes();
  const auto check = [&](const LabelConfig& labels, const char* path) {
    const MistakeReport report(places, path);
    const int64_t count = labels.count();
    if (labels.type() == LabelConfig::VALUES) {
      report.RequireField(count > 0 || classes > 0, "count",
                          "labels of type VALUES need the number of values per image", "type");
    }
    report.Require(
        labels.type() == LabelConfig::CLASS || classes == 0 || count == 0 || classes == count,
        "count", " is ", count, ", but classes is ", classes,
        ", and both are the outputs of the net: make them equal, or remove one of them");
  };
  check(train, "train_data.labels");
  MistakeReport(places, "solver")
      .Require(train.type() == LabelConfig::CLASS || config.solver().class_weight().empty(),
               "class_weight", " does not go with train_data.labels.type ",
               LabelConfig::Type_Name(train.type()),
               ", whose loss has no class weights: remove it");
  if (!config.has_validation_data()) return;
  const LabelConfig& validation = config.validation_data().labels();
  check(validation, "validation_data.labels");
  // The message is about what --set wrote.
  const auto require_same = [&](bool same, const std::string& field, const std::string& in_train,
                                const std::string& in_validation) {
    const std::string paths[] = {"train_data.labels", "validation_data.labels"};
    const bool about_train =
        places.IsSet(PathOf(paths[0], field)) && !places.IsSet(PathOf(paths[1], field));
    MistakeReport(places, paths[about_train ? 0 : 1])
        .Require(same, field, " is ", about_train ? in_train : in_validation, ", but ",
                 PathOf(paths[about_train ? 1 : 0], field), " is ",
                 about_train ? in_validation : in_train, ": write the same in both");
  };
  require_same(train.type() == validation.type(), "type", LabelConfig::Type_Name(train.type()),
               LabelConfig::Type_Name(validation.type()));
  require_same(train.count() == 0 || validation.count() == 0 || train.count() == validation.count(),
               "count", StrCat(train.count()), StrCat(validation.count()));
}

}  // namespace gf
