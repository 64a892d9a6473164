#include "comm/gradient_flow.h"

#include <glog/logging.h>

#include <chrono>

#include "core/error.h"

namespace gf {

GradientFlow::GradientFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm)
    : layout_(layout), gradients_(gradients), comm_(comm), ready_(layout.entries().size()) {
  CHECK_GE(gradients.desc.storage_count(), layout.count());
}

void GradientFlow::BeginStep(int64_t step) {
  step_ = step;
  stats_ = {};
  ready_.assign(ready_.size(), false);
}

void GradientFlow::GradientsReady(const std::vector<int>& parameters) {
  for (int i : parameters) {
    CHECK(!ready_.at(i)) << layout_.entries()[i].name << " is ready twice in step " << step_;
    ready_[i] = true;
  }
  OnReady(parameters);
}

void GradientFlow::Finish(const std::function<void(const Bucket&)>& reduced) { OnFinish(reduced); }

void GradientFlow::AllReduce(const Bucket& bucket) {
  const PoolEntry& first = layout_.entries()[bucket.first_entry];
  const PoolEntry& last = layout_.entries()[bucket.last_entry];
  const std::string names =
      bucket.first_entry == bucket.last_entry ? first.name : first.name + " to " + last.name;
  const size_t element = SizeOf(gradients_.desc.dtype);
  const auto start = std::chrono::steady_clock::now();
  comm_->AllReduceSum(gradients_.as<char>() + bucket.offset * element, bucket.count,
                      gradients_.desc.dtype, StrCat(names, ", step ", step_));
  stats_.exposed_s +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats_.wire_bytes += bucket.count * element;
  ++stats_.allreduces;
}

std::unique_ptr<GradientFlow> NewGradientFlow(const std::string& mode, const PoolLayout& layout,
                                              const Tensor& gradients, Communicator* comm) {
  return GradientFlowRegistry::Get().Create("comm mode", mode, layout, gradients, comm);
}

}  // namespace gf
