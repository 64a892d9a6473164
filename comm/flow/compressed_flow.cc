#include "comm/flow/compressed_flow.h"

namespace gf {

CompressedFlow::CompressedFlow(const PoolLayout& layout, const Tensor& gradients,
                               Communicator* comm, const GradientFlowOptions& options,
                               const Factory& compressor)
    : GradientFlow(layout, gradients, comm, options),
      compressor_(compressor(CompressedPool{layout, gradients, comm->rank(), comm->size(), wire(),
                                            this->options()})) {}

void CompressedFlow::Measure() {
  if (layout().entries().empty()) return;
  transport()->Measure(compressor_->LargestMessage(), compressor_->memory_type(), wire());
}

void CompressedFlow::Start(const std::vector<Parcel>& parcels) {
  for (const Parcel& p : parcels) {
    flights_.push_back(Launch(p.tensor, p.range, p.wire, p.name, p.kind, p.sum));
  }
}

void CompressedFlow::OnBegin() {
  flights_.clear();
  compressor_->Begin(step());
}

void CompressedFlow::OnReady() {
  std::vector<Parcel> parcels;
  Work([&] { parcels = compressor_->Ready(ready_entries()); });
  Start(parcels);
}

void CompressedFlow::OnFinish(const Reduced& reduced) {
  while (!flights_.empty()) {
    Await(flights_.front());
    flights_.pop_front();
    Arrival arrival;
    Work([&] { arrival = compressor_->Arrived(); });
    Start(arrival.next);
    if (!arrival.reduced.empty()) reduced(arrival.reduced);
  }
}

}  // namespace gf
