#include "core/estimate/price.h"

namespace gf {
namespace {

OperationTime TimeOf(const Operation& operation, double bytes_per_s, double flops_per_s,
                     double launch_s) {
  OperationTime time;
  const double memory = static_cast<double>(operation.bytes) / bytes_per_s;
  const double arithmetic = static_cast<double>(operation.flops) / flops_per_s;
  // A kernel computes while it loads, so only the longer time counts.
  (memory >= arithmetic ? time.memory : time.arithmetic) =
      memory >= arithmetic ? memory : arithmetic;
  time.launches = operation.launches * launch_s;
  return time;
}

}  // namespace

const char* OperationTime::BoundBy() const {
  if (launches > memory && launches > arithmetic) return "launches";
  return arithmetic > memory ? "arithmetic" : "memory";
}

OperationTime& OperationTime::operator+=(const OperationTime& other) {
  memory += other.memory;
  arithmetic += other.arithmetic;
  launches += other.launches;
  return *this;
}

OperationTime StatedTime(const Operation& operation, const Gpu& gpu) {
  return TimeOf(operation, gpu.bytes_per_s, FlopsPerSecond(gpu, operation.arithmetic), 0);
}

OperationTime AssumedTime(const Operation& operation, const Gpu& gpu) {
  return TimeOf(operation, gpu.bytes_per_s * gpu.memory_share,
                FlopsPerSecond(gpu, operation.arithmetic) * gpu.arithmetic_share, gpu.launch_s);
}

double FlopsPerSecond(const Gpu& gpu, Arithmetic arithmetic) {
  double rate = 0;
  if (arithmetic == Arithmetic::kTF32) rate = gpu.tf32;
  if (arithmetic == Arithmetic::kFP16) rate = gpu.fp16;
  if (arithmetic == Arithmetic::kBF16) rate = gpu.bf16;
  return rate > 0 ? rate : gpu.fp32;
}

}  // namespace gf
