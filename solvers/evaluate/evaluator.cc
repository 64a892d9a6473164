#include "solvers/evaluate/evaluator.h"

#include <algorithm>
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

// The batch with each image mirrored left to right.
Batch Mirrored(const Batch& batch) {
  Batch mirrored = batch;
  const Shape& shape = batch.images.desc.shape;
  if (batch.images.desc.dtype == DType::kUINT8) {
    mirrored.cuts.assign(shape[0], {0, 0, 1});
    return mirrored;
  }
  const auto pixels = std::make_shared<std::vector<float>>(shape.count());
  const int64_t width = shape[3];
  const auto* const from = batch.images.as<const float>();
  for (int64_t row = 0; row < shape.count(0, 3); ++row) {
    std::reverse_copy(from + row * width, from + (row + 1) * width, pixels->begin() + row * width);
  }
  mirrored.images.data = pixels->data();
  mirrored.images.owner = pixels;
  return mirrored;
}

// The net's outputs for a batch.
std::vector<float> OutputsFor(const Batch& batch, bool flips, Net* net) {
  net->Forward(batch);
  std::vector<float> outputs = net->Logits();
  if (!flips) return outputs;
  const Batch mirrored = Mirrored(batch);
  net->Forward(mirrored);
  const std::vector<float> others = net->Logits();
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = 0.5f * (outputs[i] + others[i]);
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
      const std::vector<float> scores = OutputsFor(batch, loader->test_flips(), net);
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
