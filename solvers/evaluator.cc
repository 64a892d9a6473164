#include "solvers/evaluator.h"

namespace gf {

Tally Evaluate(Net* net, Loader* loader, Communicator* comm) {
  Tally tally(net->classes());
  const int64_t batches = loader->batches();
  loader->Seek(0);
  for (int64_t i = 0; i < batches; ++i) {
    const Batch& batch = loader->Next();
    // A rank that has run out of images sits the last batch out.
    if (batch.padding == batch.size()) continue;
    net->Forward(batch);
    tally.Add(net->Logits(), batch.labels, batch.size() - batch.padding);
  }
  loader->Seek(0);
  tally.Reduce(comm);
  return tally;
}

}  // namespace gf
