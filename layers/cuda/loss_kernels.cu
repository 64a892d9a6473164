#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "layers/cuda/loss_kernels.h"

namespace gf {
namespace {

__global__ void SumLosses(const float* losses, int64_t count, double divisor, float* loss) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += losses[i];
  sum = BlockSum(sum);
  if (threadIdx.x == 0) *loss = static_cast<float>(sum / divisor);
}

}  // namespace

void MeanLoss(const float* losses, int64_t count, double divisor, float* loss,
              cudaStream_t stream) {
  Launch({1, kThreads, stream}, SumLosses, losses, count, divisor, loss);
}

}  // namespace gf
