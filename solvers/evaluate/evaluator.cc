#include "solvers/evaluate/evaluator.h"

#include <memory>
#include <vector>

#include "solvers/evaluate/averaged_outputs.h"
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

}  // namespace

std::unique_ptr<Tally> Evaluate(Net* net, Loader* loader, Communicator* comm,
                                const std::function<bool()>& stop, Predictions* predictions) {
  std::unique_ptr<Tally> tally = NewTally(*loader, net->classes());
  const OutputAverage average = {loader->test_flips(), loader->test_shifts()};
  const int64_t batches = loader->batches();
  int64_t stopped = 0;
  loader->Seek(0);
  for (int64_t i = 0; i < batches && stopped == 0; ++i) {
    const Batch& batch = loader->Next();
    // A rank that has run out of images sits the last batch out.
    if (batch.padding < batch.size()) {
      const std::vector<float> scores = AveragedOutputs(batch, average, net);
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
