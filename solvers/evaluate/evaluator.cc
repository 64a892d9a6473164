#include "solvers/evaluate/evaluator.h"

#include <memory>
#include <vector>

#include "solvers/evaluate/class_tally.h"
#include "solvers/evaluate/classes_tally.h"
#include "solvers/evaluate/values_tally.h"

namespace gf {
namespace {

std::unique_ptr<Tally> NewTally(const Loader& loader, int64_t outputs) {
  const LabelsOfImage labels = [&loader](int64_t image, std::vector<float>* to) {
    loader.Labels(image, to);
  };
  switch (loader.label_type()) {
    case LabelConfig::CLASS:
      break;
    case LabelConfig::CLASSES:
      return std::make_unique<ClassesTally>(loader.size(), outputs, labels);
    case LabelConfig::VALUES:
      return std::make_unique<ValuesTally>(loader.size(), outputs, labels);
  }
  return std::make_unique<ClassTally>(outputs);
}

// The batch with each image moved down and to the right by `shift` pixels, which may be negative,
// and then mirrored left to right or not.
Batch Changed(const Batch& batch, int shift, bool mirrored) {
  Batch changed = batch;
  const Shape& shape = batch.images.desc.shape;
  if (batch.images.desc.dtype == DType::kUINT8) {
    changed.cuts.assign(shape[0], {-shift, -shift, mirrored ? 1 : 0, 1});
    return changed;
  }
  const auto pixels = std::make_shared<std::vector<float>>(shape.count());
  const int64_t height = shape[2], width = shape[3];
  const auto* const from = batch.images.as<const float>();
  float* to = pixels->data();
  for (int64_t row = 0; row < shape.count(0, 3); ++row) {
    const int64_t y = row % height, line = row - y + ReflectedPixel(y - shift, height);
    for (int64_t x = 0; x < width; ++x) {
      const int64_t place = (mirrored ? width - 1 - x : x) - shift;
      *to++ = from[line * width + ReflectedPixel(place, width)];
    }
  }
  changed.images.data = pixels->data();
  changed.images.owner = pixels;
  return changed;
}

std::vector<float> OutputsOf(const Batch& batch, Net* net) {
  net->Forward(batch);
  return net->Logits();
}

// The net's outputs for a batch moved by `shift`; with `flips`, their means over it and its mirror
// images.
std::vector<float> OutputsAt(const Batch& batch, int shift, bool flips, Net* net) {
  std::vector<float> outputs =
      shift == 0 ? OutputsOf(batch, net) : OutputsOf(Changed(batch, shift, false), net);
  if (!flips) return outputs;
  const std::vector<float> others = OutputsOf(Changed(batch, shift, true), net);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = 0.5f * (outputs[i] + others[i]);
  return outputs;
}

// The outputs that count for a batch.
std::vector<float> OutputsFor(const Batch& batch, const Loader& loader, Net* net) {
  const int shift = loader.test_shifts();
  const bool flips = loader.test_flips();
  std::vector<float> outputs = OutputsAt(batch, 0, flips, net);
  if (shift == 0) return outputs;
  const std::vector<float> up = OutputsAt(batch, -shift, flips, net);
  const std::vector<float> down = OutputsAt(batch, shift, flips, net);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = 0.5f * outputs[i] + 0.25f * (up[i] + down[i]);
  }
  return outputs;
}

}  // namespace

std::unique_ptr<Tally> Evaluate(Net* net, Loader* loader, Communicator* comm,
                                const std::function<bool()>& stop, Predictions* predictions) {
  std::unique_ptr<Tally> tally = NewTally(*loader, net->classes());
  const int64_t batches = loader->batches();
  int64_t stopped = 0;
  loader->Seek(0);
  for (int64_t i = 0; i < batches && stopped == 0; ++i) {
    const Batch& batch = loader->Next();
    // A rank that has run out of images sits the last batch out.
    if (batch.padding < batch.size()) {
      const std::vector<float> scores = OutputsFor(batch, *loader, net);
      tally->Add(scores, batch, loader->samples());
      if (predictions) predictions->Add(scores, net->classes(), loader->samples());
      if (i + 1 < batches) net->parameters()->device()->Settle();
    }
    if (!stop) continue;
    stopped = stop() ? 1 : 0;
    comm->AllReduce(&stopped, 1, ReduceOp::kMax, "signals during the validation");
  }
  loader->Seek(0);
  if (stopped != 0) return nullptr;
  tally->Reduce(comm);
  if (predictions) predictions->Reduce(comm);
  return tally;
}

}  // namespace gf
