#include "tools/print_schedule.h"

#include "comm/sparse/selection.h"
#include "data/loader/loader.h"
#include "solvers/batch_schedule.h"
#include "solvers/lr_policy.h"

namespace gf {

void PrintSchedule(const JobConfig& config, int ranks, int64_t interval, FILE* out) {
  const DataConfig& data = config.train_data();
  const int64_t images = data.images() > 0 ? data.images() : Loader(data, LoaderOptions()).size();
  const BatchSchedule batches(config.solver(), images, int64_t{data.batch_size()} * ranks);
  const LearningRate rate(config.solver(), batches);
  const SparseConfig& sparse = config.comm().sparse();
  const bool is_sparse = config.comm().mode() == CommConfig::SPARSE;
  std::fprintf(out, "step,epoch,lr,images,density\n");
  const int64_t steps = rate.max_steps();
  for (int64_t step = 0; step < steps; ++step) {
    const bool changes = step > 0 && batches.IterSize(step) != batches.IterSize(step - 1);
    if (step % interval != 0 && step + 1 != steps && !changes) continue;
    const double density =
        is_sparse ? DensityAt(step, steps, sparse.density(), sparse.warmup_fraction()) : 1;
    std::fprintf(out, "%lld,%.6f,%.9g,%lld,%.6g\n", static_cast<long long>(step),
                 batches.EpochsBefore(step), rate.At(step),
                 static_cast<long long>(batches.ImagesOf(step)), density);
  }
}

}  // namespace gf
