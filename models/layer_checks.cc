#include "models/layer_checks.h"

#include <algorithm>
#include <string>

#include "core/config/nearest.h"
#include "core/error.h"
#include "models/class_losses.h"
#include "models/data_layers.h"

namespace gf {
namespace {

// `what`: "bottom" or "top". max < 0: any number.
void CheckCount(const Layer& layer, const char* what, int got, int min, int max) {
  if (got >= min && (max < 0 || got <= max)) return;
  layer.Fail("expects ",
             min == max ? StrCat(min)
             : max < 0  ? StrCat("at least ", min)
                        : StrCat(min, " to ", max),
             " ", what, (max < 0 ? min : max) == 1 ? "" : "s", ", got ", got);
}

}  // namespace

void CheckType(const GraphNode& node) {
  const std::string& type = node.param.type();
  if (type[0] != '_' && LayerRegistry::Get().Has(type)) return;
  std::vector<std::string> known = DataLayerTypes();
  for (const std::string& name : LayerRegistry::Get().Keys()) {
    if (name[0] != '_') known.push_back(name);
  }
  std::sort(known.begin(), known.end());
  ThrowUserError(node.location, ": layer \"", node.param.name(), "\": unknown type \"", type, "\"",
                 Suggestion(type, known));
}

void CheckCounts(const Layer& layer) {
  const LayerParameter& p = layer.param();
  CheckCount(layer, "bottom", p.bottom_size(), layer.MinBottoms(), layer.MaxBottoms());
  CheckCount(layer, "top", p.top_size(), layer.MinTops(), layer.MaxTops());
}

void CheckBottomTypes(const CompiledOp& op, const std::vector<CompiledBlob>& blobs, DType compute) {
  if (op.layer->param().top_size() == 0) return;
  for (size_t i = 0; i < op.bottoms.size(); ++i) {
    const CompiledBlob& blob = blobs[op.bottoms[i]];
    if (op.layer->ReadsShapeOnly(static_cast<int>(i))) continue;
    const bool wants_labels = op.layer->WantsLabels(static_cast<int>(i));
    const bool labels = blob.desc.dtype == DType::kINT64;
    if (wants_labels && blob.label_values) {
      op.layer->Fail("bottom \"", PlainBlobName(blob.name), "\" (", blob.desc.shape.ToString(),
                     ") holds labels of type CLASSES or VALUES, expected one class per image: use ",
                     LossesOf(LabelConfig::CLASSES), " for classes or ",
                     LossesOf(LabelConfig::VALUES),
                     " for values, leave out an Accuracy, or set labels { type: CLASS }");
    }
    if (labels != wants_labels) {
      op.layer->Fail(
          "bottom \"", PlainBlobName(blob.name), "\" (", blob.desc.shape.ToString(),
          labels ? ") holds labels, expected numbers" : ") does not hold labels of the data",
          "; an Input of N x C x H x W holds images, any other Input holds labels",
          labels ? ": one class per image, or numbers if the job's data say labels { type: CLASSES "
                   "} or VALUES"
                 : "");
    }
    const DType wanted = op.layer->BottomType(static_cast<int>(i), compute);
    if (labels || blob.desc.dtype == wanted) continue;
    op.layer->Fail("bottom \"", PlainBlobName(blob.name), "\" (", blob.desc.shape.ToString(),
                   ") holds ", Name(blob.desc.dtype), " numbers, expected ", Name(wanted),
                   ": set compute_type: ", Name(blob.desc.dtype), ", or remove the layer");
  }
}

}  // namespace gf
