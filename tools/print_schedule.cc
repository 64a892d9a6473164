#include "tools/print_schedule.h"

#include "comm/flow/gradient_flow.h"
#include "comm/sparse/selection.h"
#include "comm/topk/topk_buckets.h"
#include "core/config/config.h"
#include "data/loader/loader.h"
#include "solvers/batch_schedule.h"
#include "solvers/lr_policy.h"

namespace gf {
namespace {

// See PrintSchedule.
double DensityIn(int64_t step, int64_t steps, const JobConfig& config, int ranks) {
  const CommConfig& comm = config.comm();
  if (comm.mode() == CommConfig::SPARSE) {
    return DensityAt(step, steps, comm.sparse().density(), comm.sparse().warmup_fraction());
  }
  if (comm.mode() != CommConfig::TOPK) return 1;
  const double density =
      TopkDensityAt(step, steps, comm.topk().density(), comm.topk().warmup_fraction());
  const DType wire = WireTypeOf(comm, ToDType(config.compute_type()));
  return density > TopkLimit(ranks, wire) ? 1 : density;
}

}  // namespace

void PrintSchedule(const JobConfig& config, int ranks, int64_t interval, FILE* out) {
  const DataConfig& data = config.train_data();
  const int64_t images = data.images() > 0 ? data.images() : Loader(data, LoaderOptions()).size();
  const BatchSchedule batches(config.solver(), images, int64_t{data.batch_size()} * ranks);
  const LearningRate rate(config.solver(), batches);
  std::fprintf(out, "step,epoch,lr,images,density\n");
  const int64_t steps = rate.max_steps();
  for (int64_t step = 0; step < steps; ++step) {
    const bool changes = step > 0 && batches.IterSize(step) != batches.IterSize(step - 1);
    if (step % interval != 0 && step + 1 != steps && !changes) continue;
    std::fprintf(out, "%lld,%.6f,%.9g,%lld,%.6g\n", static_cast<long long>(step),
                 batches.EpochsBefore(step), rate.At(step),
                 static_cast<long long>(batches.ImagesOf(step)),
                 DensityIn(step, steps, config, ranks));
  }
}

}  // namespace gf
