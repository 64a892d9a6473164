#include "solvers/evaluate/evaluator.h"

namespace gf {

std::optional<Tally> Evaluate(Net* net, Loader* loader, Communicator* comm,
                              const std::function<bool()>& stop, Predictions* predictions) {
  Tally tally(net->classes());
  const int64_t batches = loader->batches();
  int64_t stopped = 0;
  loader->Seek(0);
  for (int64_t i = 0; i < batches && stopped == 0; ++i) {
    const Batch& batch = loader->Next();
    // A rank that has run out of images sits the last batch out.
    if (batch.padding < batch.size()) {
      net->Forward(batch);
      const std::vector<float> scores = net->Logits();
      tally.Add(scores, batch.labels, batch.size() - batch.padding);
      if (predictions) predictions->Add(scores, net->classes(), loader->samples());
      if (i + 1 < batches) net->parameters()->device()->Settle();
    }
    if (!stop) continue;
    stopped = stop() ? 1 : 0;
    comm->AllReduce(&stopped, 1, ReduceOp::kMax, "signals during the validation");
  }
  loader->Seek(0);
  if (stopped != 0) return std::nullopt;
  tally.Reduce(comm);
  if (predictions) predictions->Reduce(comm);
  return tally;
}

}  // namespace gf
