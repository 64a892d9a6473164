#include "solvers/train/advice.h"

#include "comm/flow/mode_advice.h"
#include "core/config/ignored_fields.h"
#include "core/error.h"
#include "models/data_layers.h"
#include "models/graph.h"

namespace gf {
namespace {

// A data layer's settings without counterpart, and the fields of the job that they need.
class Unused {
 public:
  // `crops`: the layer cuts its crop out of larger images.
  Unused(const DataConfig& data, Phase phase, bool crops)
      : data_(data),
        block_(phase == TRAIN ? "train_data." : "validation_data."),
        phase_(phase),
        crops_(crops) {}

  // Of a TransformationParameter, or of a data layer's own block with such fields.
  template <typename Settings>
  void Add(const Settings& settings) {
    if (settings.has_mean_file()) Add("mean_file", "mean_file", HasMean());
    if (settings.scale() != 1) Add("scale", "std", data_.std_size() > 0);
    if (phase_ != TRAIN) return;
    if (settings.mirror()) Add("mirror", "mirror", data_.mirror());
    // Images that are as large as the crop have only one place for it.
    const bool as_large = data_.resize_height() + 2 * data_.pad() == data_.crop_size() &&
                          data_.resize_width() + 2 * data_.pad() == data_.crop_size();
    if (crops_ && settings.crop_size() > 0 && data_.crop_size() > 0 && !as_large) {
      Add("cropping at random", "random_crop", data_.random_crop() || data_.random_resized_crop());
    }
  }
  // NVCaffe's.
  void AddRandomSize(const TransformationParameter& settings) {
    const bool is_set = data_.random_resized_crop();
    if (phase_ != TRAIN) return;
    if (settings.has_img_rand_resize_lower() || settings.has_img_rand_resize_upper()) {
      Add("img_rand_resize", "random_resized_crop", is_set);
    }
    if (settings.has_rand_resize_ratio_lower() || settings.has_rand_resize_ratio_upper()) {
      Add("rand_resize_ratio", "random_resized_crop", is_set);
    }
    if (settings.has_vertical_stretch_lower() || settings.has_vertical_stretch_upper() ||
        settings.has_horizontal_stretch_lower() || settings.has_horizontal_stretch_upper()) {
      Add("stretching", "random_resized_crop", is_set);
    }
  }
  void AddMeanValue() { Add("mean_value", "mean", HasMean()); }
  void AddSize() { Add("new_height", "resize_height", data_.resize_height() > 0); }

  // "" if every setting has its counterpart.
  std::string Sentence() const {
    if (settings_.empty()) return "";
    return StrCat(settings_, settings_.find(',') == std::string::npos ? " is" : " are",
                  " not used: set ", fields_, " in the job");
  }

 private:
  bool HasMean() const { return data_.mean_size() > 0 || !data_.mean_file().empty(); }
  void Add(const std::string& setting, const std::string& field, bool is_set) {
    if (is_set) return;
    Append(setting, &settings_);
    Append(block_ + field, &fields_);
  }
  static void Append(const std::string& word, std::string* list) {
    if (list->find(word) == std::string::npos) *list += (list->empty() ? "" : ", ") + word;
  }

  const DataConfig& data_;
  const std::string block_;
  const Phase phase_;
  const bool crops_;
  std::string settings_, fields_;
};

}  // namespace

std::vector<std::string> UnusedDataSettings(const NetSource& net, const DataConfig& data,
                                            Phase phase) {
  std::vector<std::string> sentences;
  for (const GraphNode& node : ResolveGraph(net, phase)) {
    const LayerParameter& layer = node.param;
    if (!IsDataLayer(layer.type())) continue;
    // A WindowData layer resizes windows to its crop_size.
    Unused unused(data, phase, layer.type() != "WindowData");
    unused.Add(layer.transform_param());
    unused.Add(layer.data_param());
    unused.Add(layer.image_data_param());
    unused.Add(layer.window_data_param());
    unused.AddRandomSize(layer.transform_param());
    if (layer.transform_param().mean_value_size() > 0) unused.AddMeanValue();
    if (layer.image_data_param().new_height() > 0) unused.AddSize();
    const std::string sentence = unused.Sentence();
    if (sentence.empty()) continue;
    sentences.push_back(StrCat(node.location, ": layer \"", layer.name(), "\": ", sentence));
  }
  return sentences;
}

void WarnAtStart(const JobConfig& config, const PoolLayout& layout, int world) {
  const NetSource net = ReadNet(config.net());  // without the job's changes
  if (const std::string ignored = IgnoredFields(net.param); !ignored.empty()) {
    PrintWarning(net.file, ": ", ignored);
  }
  for (const std::string& sentence : UnusedDataSettings(net, config.train_data(), TRAIN)) {
    PrintWarning(sentence);
  }
  if (config.has_validation_data()) {
    for (const std::string& sentence : UnusedDataSettings(net, config.validation_data(), TEST)) {
      PrintWarning(sentence);
    }
  }
  for (const std::string& sentence :
       ModeAdvice(config.comm(), layout, ToDType(config.compute_type()), world)) {
    PrintWarning(sentence);
  }
}

}  // namespace gf
