#include "comm/flow/host_transport.h"

#include <glog/logging.h>

#include <chrono>
#include <utility>

#include "core/error.h"

namespace gf {

HostTransport::HostTransport(AlgorithmChoice algorithms, Device* device, Communicator* comm,
                             std::string why_not_device)
    : algorithms_(std::move(algorithms)),
      device_(device),
      comm_(comm),
      why_not_device_(std::move(why_not_device)),
      on_host_(device == nullptr || device->shares_host_memory()) {}

std::string HostTransport::Describe() const {
  if (on_host_) return algorithms_.Describe();
  const std::string why = why_not_device_.empty() ? "" : StrCat(" (", why_not_device_, ")");
  return StrCat("through host memory", why, ", ", algorithms_.Describe());
}

void HostTransport::Measure(int64_t largest, DType dtype, DType wire) {
  algorithms_.Measure(largest, on_host_ ? dtype : HostMirror::TypeFor(dtype), wire, comm_);
}

HostMirror* HostTransport::MirrorOf(const Tensor& tensor) {
  if (on_host_) return nullptr;
  std::unique_ptr<HostMirror>& mirror = mirrors_[tensor.data];
  if (!mirror) mirror = std::make_unique<HostMirror>(device_, tensor);
  return mirror.get();
}

int64_t HostTransport::Start(const TensorCollective& c) {
  Flight flight;
  flight.range = c.range;
  if (comm_->size() == 1 && c.kind != Collective::kEncodedSum) {
    flight.pending = std::make_shared<Pending>(c.label);
    flight.pending->Begin();
    flight.pending->End(nullptr);
  } else {
    flight.mirror = MirrorOf(c.tensor);
    if (flight.mirror != nullptr) flight.mirror->Fetch(c.range);
    const Tensor& memory = flight.mirror != nullptr ? flight.mirror->host() : c.tensor;
    const DType dtype = memory.desc.dtype;
    Collective collective;
    collective.kind = c.kind;
    collective.data = memory.as<char>() + c.range.begin * SizeOf(dtype);
    collective.count = c.range.end - c.range.begin;
    collective.dtype = dtype;
    collective.wire = c.wire;
    collective.owner = memory.owner;
    collective.sum = c.sum;
    collective.algorithm = algorithms_.For(collective.count * static_cast<int64_t>(SizeOf(c.wire)));
    flight.pending = comm_->Start(collective, c.label);
  }
  flights_.push_back(std::move(flight));
  return next_++;
}

void HostTransport::Await(int64_t number) {
  CHECK_EQ(number, next_ - static_cast<int64_t>(flights_.size())) << "awaited out of order";
  const Flight flight = std::move(flights_.front());
  flights_.pop_front();
  const auto stall = std::chrono::steady_clock::now();
  comm_->Await(flight.pending.get());
  if (flight.mirror != nullptr) flight.mirror->Return(flight.range);
  spans_.push_back({flight.pending->started(), flight.pending->ended(), stall,
                    std::chrono::steady_clock::now()});
}

std::vector<TransferSpan> HostTransport::TakeSpans() { return std::exchange(spans_, {}); }

}  // namespace gf
