#include "solvers/checkpoint/caffemodel.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/config/caffe_blob.h"
#include "core/config/name_pattern.h"
#include "core/error.h"
#include "core/printable.h"
#include "solvers/checkpoint/caffemodel_file.h"
#include "solvers/checkpoint/pool_file.h"

namespace gf {
namespace {

// Index of the factor among a BatchNorm's blobs, after mean and variance.
constexpr int kFactorOfNorm = 2;

// Extents of 1 in front are Caffe's old way to write vectors and matrices.
Shape WithoutLeadingOnes(const Shape& shape) {
  const auto& dims = shape.dims();
  const auto begin = std::find_if(dims.begin(), dims.end(), [](int64_t d) { return d != 1; });
  return Shape(std::vector<int64_t>(begin, dims.end()));
}

// The values of N x 3 x ... weights with the first and the third input channel exchanged.
void ExchangeRedAndBlue(const Shape& shape, std::vector<float>* values) {
  const int64_t plane = shape.count(2, shape.rank());
  for (int64_t n = 0; n < shape[0]; ++n) {
    float* red = values->data() + n * 3 * plane;
    std::swap_ranges(red, red + plane, red + 2 * plane);
  }
}

// Takes what the net needs out of a file's layers, in their order.
class Collector {
 public:
  Collector(const std::string& path, const CaffeModelOptions& options, const ParameterStore& store)
      : path_(path), options_(options), store_(store), tensors_(WeightTensors(store)) {
    for (const PoolTensor& tensor : tensors_) by_name_[tensor.name] = &tensor;
  }

  void AddLayer(LayerParameter* layer) {
    if (layer->blobs_size() > 0) TakeBlobs(layer);
    NoteBlobs(*layer);
  }

  // Writes the pools once all layers are there and right.
  CaffeModelReport Finish(ParameterStore* store) {
    CaffeModelReport report;
    for (const PoolTensor& tensor : tensors_) {
      auto& names = IsSkipped(tensor.name)            ? report.skipped
                    : values_.count(tensor.name) != 0 ? report.loaded
                                                      : report.missing;
      names.push_back(tensor.name);
    }
    report.unused = std::move(unused_);
    if (values_.empty() && report.missing.empty()) {
      ThrowUserError(path_,
                     ": --weights_skip leaves out all parameters of the net: name fewer, or "
                     "start without weights");
    }
    if (values_.empty()) {
      ThrowUserError(path_, ": none of its layers is in the net; the file has ",
                     SomeNames(report.unused), ", the net ", SomeNames(report.missing),
                     ": layers are matched by their names");
    }
    if (options_.complete && !report.missing.empty()) {
      ThrowUserError(path_, ": these parameters of the net are not in the file: ",
                     SomeNames(report.missing), ". Use the net that wrote the file");
    }
    report.reads_color_images = reads_color_images_;
    if (options_.bgr && !reads_color_images_) {
      ThrowUserError("--bgr: no convolution of ", path_,
                     " is known to read images of 3 channels, so no channels can be exchanged; "
                     "leave --bgr out if the model was trained on RGB or gray images");
    }
    for (const auto& [name, values] : values_) CheckValues(path_, name, values);
    for (const PoolTensor& tensor : tensors_) {
      const auto it = values_.find(tensor.name);
      if (it != values_.end()) store->Import(it->second, *tensor.entry, tensor.pool);
    }
    return report;
  }

 private:
  bool IsSkipped(const std::string& name) const { return FitsOne(options_.skip, name); }

  std::string Where(const LayerParameter& layer) const {
    return StrCat(path_, ": layer \"", Excerpt(layer.name()), "\" (", Excerpt(layer.type()), ")");
  }

  // What the net calls the tensors of a layer, in the order of Caffe's blobs; empty if the net
  // lacks the layer.
  std::vector<std::string> NamesInNet(const LayerParameter& layer) const {
    std::string owner = layer.name();
    std::vector<const char*> kinds = {"weight", "bias"};
    if (layer.type() == "BatchNorm") {
      kinds = {"running_mean", "running_var"};
      // NVCaffe's scale_bias; the factor is between the states and these.
      if (layer.blobs_size() == 5) kinds.insert(kinds.end(), {"weight", "bias"});
    } else if (layer.type() == "Scale" && by_name_.count(owner + ".weight") == 0 &&
               layer.bottom_size() > 0) {
      const auto norm = norms_.find(layer.bottom(0));
      if (norm != norms_.end()) owner = norm->second;
    }
    std::vector<std::string> names;
    for (const char* kind : kinds) {
      const std::string name = owner + "." + kind;
      if (by_name_.count(store_.Resolve(name)) != 0) names.push_back(name);
    }
    return names;
  }

  void TakeBlobs(LayerParameter* layer) {
    const std::vector<std::string> names = NamesInNet(*layer);
    if (names.empty()) {
      unused_.push_back(layer->name());
      return;
    }
    if (layer->inner_product_param().transpose()) {
      ThrowUserError(Where(*layer),
                     ": has transposed weights, which are not supported; store them as "
                     "[num_output, K]");
    }
    const bool norm = layer->type() == "BatchNorm";
    const int expected = static_cast<int>(names.size()) + norm;
    if (layer->blobs_size() != expected) {
      ThrowUserError(Where(*layer), ": has ", layer->blobs_size(), " blobs, expected ", expected,
                     ": ", SomeNames(names), norm ? ", and their factor" : "");
    }
    for (size_t i = 0; i < names.size(); ++i) {
      TakeBlob(layer, static_cast<int>(i) + (norm && i >= size_t{kFactorOfNorm}), names[i]);
    }
    if (norm) DivideByFactor(layer, names);
  }

  void TakeBlob(LayerParameter* layer, int index, const std::string& name) {
    // Layers that share a parameter have equal blobs.
    if (IsSkipped(name) || store_.Resolve(name) != name) return;
    BlobProto* blob = layer->mutable_blobs(index);
    const std::string where = StrCat(Where(*layer), ": ", name);
    const Shape got = CaffeBlobShape(*blob, where), wanted = by_name_.at(name)->entry->shape;
    if (WithoutLeadingOnes(got) != WithoutLeadingOnes(wanted)) {
      ThrowUserError(where, ": has the shape ", got.ToString(), " in the file, expected ",
                     wanted.ToString(), " in the net: use the net that wrote the file",
                     options_.complete ? "" : SkipAdvice(name));
    }
    std::vector<float>& values = values_[name];
    if (!values.empty()) ThrowUserError(where, ": is in the file twice");
    values = TakeCaffeBlob(blob);
    // The second axis of a Deconvolution's filters belongs to its top.
    if (wanted.rank() == 4 && wanted[1] == 3 && layer->type() != "Deconvolution" &&
        layer->bottom_size() > 0 && computed_.count(layer->bottom(0)) == 0) {
      reads_color_images_ = true;
      if (options_.bgr) ExchangeRedAndBlue(wanted, &values);
    }
  }

  // Caffe keeps sums that decay; the factor is the sum of their weights.
  void DivideByFactor(LayerParameter* layer, const std::vector<std::string>& names) {
    BlobProto* blob = layer->mutable_blobs(kFactorOfNorm);
    const Shape shape = CaffeBlobShape(*blob, StrCat(Where(*layer), ": its factor"));
    if (shape.count() != 1) {
      ThrowUserError(Where(*layer), ": its factor has the shape ", shape.ToString(),
                     ", expected one number");
    }
    const float factor = TakeCaffeBlob(blob)[0];
    const float inverse = factor == 0 ? 0 : 1 / factor;
    for (int i = 0; i < kFactorOfNorm; ++i) {
      const auto values = values_.find(names[i]);
      if (values == values_.end()) continue;  // skipped
      for (float& value : values->second) value *= inverse;
    }
  }

  // Follows the blobs that are no images, and those that a BatchNorm has just written.
  void NoteBlobs(const LayerParameter& layer) {
    const bool source = layer.bottom_size() == 0;
    const bool copies = layer.type() == "Split" && !source && computed_.count(layer.bottom(0)) == 0;
    for (const std::string& top : layer.top()) {
      norms_.erase(top);
      if (source || copies) {
        computed_.erase(top);
      } else {
        computed_.insert(top);
      }
    }
    if (layer.type() == "BatchNorm" && layer.top_size() == 1) norms_[layer.top(0)] = layer.name();
  }

  const std::string path_;
  const CaffeModelOptions options_;
  const ParameterStore& store_;
  const std::vector<PoolTensor> tensors_;
  std::map<std::string, const PoolTensor*> by_name_;
  std::map<std::string, std::vector<float>> values_;  // plain order, by the net's names
  std::vector<std::string> unused_;
  std::set<std::string> computed_;            // blobs that hold no images
  std::map<std::string, std::string> norms_;  // blob -> the BatchNorm that wrote it last
  bool reads_color_images_ = false;
};

}  // namespace

bool IsCaffeModel(const std::string& path) {
  for (const std::string end : {".caffemodel", ".caffemodel.h5"}) {
    if (path.size() > end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0) {
      return true;
    }
  }
  return false;
}

CaffeModelReport LoadCaffeModel(const std::string& path, const CaffeModelOptions& options,
                                ParameterStore* store) {
  Collector collector(path, options, *store);
  ReadCaffeModel(path, [&](LayerParameter* layer) { collector.AddLayer(layer); });
  CaffeModelReport report = collector.Finish(store);
  store->SyncCompute();
  store->BumpVersion();
  return report;
}

}  // namespace gf
