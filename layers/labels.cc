#include "layers/labels.h"

#include <algorithm>

namespace gf {

void CheckLabels(const Layer& layer, const Shape& scores, const Shape& labels,
                 const ClassAxis& view) {
  if (labels.count() != view.predictions()) {
    layer.Fail("needs one label per prediction: scores ", scores.ToString(), " with ", view.classes,
               " classes make ", view.predictions(), " predictions, labels ", labels.ToString(),
               " are ", labels.count());
  }
}

int64_t CheckedLabel(const Layer& layer, const ClassAxis& view, const int64_t* labels,
                     int64_t outer, int64_t inner) {
  const int64_t label = labels[outer * view.inner + inner];
  if (label < 0 || label >= view.classes) {
    layer.Fail("label ", label, " of sample ", outer, " in the batch is outside 0..",
               view.classes - 1);
  }
  return label;
}

int64_t CountedSamples(const KernelArgs& args, int64_t samples) {
  if (args.batch == nullptr || args.batch->size() != samples) return samples;
  return std::max<int64_t>(0, samples - args.batch->padding);
}

float LabelShare(const Layer& layer, const KernelArgs& args, int64_t samples) {
  if (args.batch == nullptr || !args.batch->mix.any()) return 1;
  if (args.batch->size() != samples) {
    layer.Fail("has ", samples, " samples, but the batch has ", args.batch->size(),
               " images, which are mixed: leave out train_data.mix");
  }
  return args.batch->mix.label_share;
}

}  // namespace gf
