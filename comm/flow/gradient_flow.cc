#include "comm/flow/gradient_flow.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

DType WireTypeOf(const CommConfig& config, DType gradients) {
  switch (config.wire_type()) {
    case CommConfig::GRADIENT:
      return gradients;
    case CommConfig::FP32:
      return DType::kFP32;
    case CommConfig::BF16:
      return DType::kBF16;
    case CommConfig::FP16:
      return DType::kFP16;
  }
  return gradients;
}

GradientFlow::GradientFlow(const PoolLayout& layout, const Tensor& gradients, Communicator* comm,
                           const GradientFlowOptions& options)
    : layout_(layout),
      gradients_(gradients),
      comm_(comm),
      options_(options),
      on_host_(options.device == nullptr || options.device->shares_host_memory()),
      wire_(WireTypeOf(options.config, gradients.desc.dtype)),
      algorithms_(options.config, options.deterministic, comm),
      ready_(layout.entries().size()) {
  CHECK_GE(gradients.desc.storage_count(), layout.count());
  ExchangeChoice choice = options.exchange != nullptr
                              ? std::move(*options.exchange)
                              : ChooseExchange(options.config, options.device, comm);
  exchange_ = std::move(choice.exchange);
  why_not_exchange_ = std::move(choice.why_not);
}

void GradientFlow::BeginStep(int64_t step) {
  step_ = step;
  stats_ = {};
  ready_.assign(ready_.size(), false);
  ready_prefix_ = 0;
  busy_until_ = {};
  comm_->SetActivity(StrCat("step ", step + 1));
  OnBegin();
}

void GradientFlow::GradientsReady(const std::vector<int>& parameters) {
  for (int i : parameters) {
    CHECK(!ready_.at(i)) << layout_.entries()[i].name << " is ready twice in step " << step_;
    ready_[i] = true;
  }
  while (ready_prefix_ < static_cast<int>(ready_.size()) && ready_[ready_prefix_]) ++ready_prefix_;
  if (options_.config.overlap()) OnReady();
}

void GradientFlow::Finish(const Reduced& reduced) {
  ready_prefix_ = static_cast<int>(ready_.size());
  OnReady();
  OnFinish(reduced);
  if (exchange_ == nullptr) return;
  TakeSpans();
  stats_.exposed_s = std::exchange(exchanges_.exposed_s, 0);
  stats_.transfer_s = std::exchange(exchanges_.transfer_s, 0);
}

void GradientFlow::Settle() {
  if (exchange_ == nullptr) return;
  exchange_->Settle();
  TakeSpans();
}

void GradientFlow::TakeSpans() {
  for (const ExchangeSpan& span : exchange_->TakeSpans()) {
    const Exchanged e = std::move(exchanged_.front());
    exchanged_.pop_front();
    exchanges_.exposed_s += Seconds(span.resume - span.stall);
    exchanges_.transfer_s += Seconds(span.end - span.begin);
    Show(e, span);
  }
}

void GradientFlow::Show(const Exchanged& e, const ExchangeSpan& span) {
  Timeline* const timeline = options_.timeline;
  if (timeline == nullptr) return;
  timeline->AddTo(e.step, lane::kBucketTransfer, e.name, span.begin, span.end,
                  {{"bytes", e.bytes}});
  timeline->AddTo(e.step, lane::kBucketWait, e.name, span.stall, span.resume);
}

GradientFlow::Exchanged GradientFlow::ExchangedBy(const Flight& flight) const {
  const int64_t count = flight.range.end - flight.range.begin;
  const int64_t step = options_.timeline != nullptr ? options_.timeline->step() : 0;
  return {step, flight.name, count * static_cast<int64_t>(SizeOf(wire_))};
}

std::string GradientFlow::Describe() const {
  if (comm_->size() == 1) return "none: one rank";
  std::string how = exchange_ != nullptr ? exchange_->Describe() : algorithms_.Describe();
  if (exchange_ != nullptr && !plan_name().empty()) how += ", " + plan_name();
  if (!on_host_ && exchange_ == nullptr) {
    const std::string why = why_not_exchange_.empty() ? "" : StrCat(" (", why_not_exchange_, ")");
    how = StrCat("through host memory", why, ", ", how);
  }
  const size_t buckets = Plan().size();
  return StrCat(how, ", ", buckets, buckets == 1 ? " bucket" : " buckets");
}

std::string GradientFlow::NameOf(int first_entry, int last_entry) const {
  const std::string& first = layout_.entries()[first_entry].name;
  return first_entry == last_entry ? first
                                   : StrCat(first, " to ", layout_.entries()[last_entry].name);
}

void GradientFlow::MeasureAlgorithms(int64_t largest, DType dtype) {
  if (exchange_ != nullptr) return;
  algorithms_.Measure(largest, on_host_ ? dtype : HostMirror::TypeFor(dtype), wire_, comm_);
}

HostMirror* GradientFlow::MirrorOf(const Tensor& tensor) {
  if (on_host_ || comm_->size() == 1) return nullptr;
  std::unique_ptr<HostMirror>& mirror = mirrors_[tensor.data];
  if (!mirror) mirror = std::make_unique<HostMirror>(options_.device, tensor);
  return mirror.get();
}

GradientFlow::Flight GradientFlow::Launch(const Tensor& tensor, const ElementRange& range,
                                          DType wire, const std::string& name,
                                          Collective::Kind kind) {
  const std::string label = StrCat(name, ", step ", step_ + 1);
  const int64_t bytes = (range.end - range.begin) * static_cast<int64_t>(SizeOf(wire));
  stats_.wire_bytes += bytes;
  ++stats_.allreduces;
  Flight flight;
  flight.range = range;
  flight.name = name;
  if (exchange_ != nullptr) {
    flight.number = exchange_->Start(
        {kind, tensor, range, wire, label, kind == Collective::kAllReduce ? plan_name() : ""});
    return flight;
  }
  flight.mirror = MirrorOf(tensor);
  if (flight.mirror != nullptr) flight.mirror->Fetch(range);
  const Tensor& memory = flight.mirror != nullptr ? flight.mirror->host() : tensor;
  const DType dtype = memory.desc.dtype;
  Collective collective;
  collective.kind = kind;
  collective.data = memory.as<char>() + range.begin * SizeOf(dtype);
  collective.count = range.end - range.begin;
  collective.dtype = dtype;
  collective.wire = wire;
  collective.owner = memory.owner;
  collective.algorithm = algorithms_.For(bytes);
  flight.pending = Start(collective, label);
  return flight;
}

std::shared_ptr<Pending> GradientFlow::Start(const Collective& collective,
                                             const std::string& label) {
  if (on_host_ || comm_->size() > 1) return comm_->Start(collective, label);
  // Not even to be looked at by the host.
  auto pending = std::make_shared<Pending>(label);
  pending->Begin();
  pending->End(nullptr);
  return pending;
}

void GradientFlow::Await(const Flight& flight) {
  if (exchange_ == nullptr) return AwaitHost(flight);
  exchange_->Await(flight.number);
  exchanged_.push_back(ExchangedBy(flight));
}

void GradientFlow::AwaitHost(const Flight& flight) {
  const auto start = Clock::now();
  comm_->Await(flight.pending.get());
  if (flight.mirror != nullptr) flight.mirror->Return(flight.range);
  const auto end = Clock::now();
  stats_.exposed_s += Seconds(end - start);
  const auto began = std::max(flight.pending->started(), busy_until_);
  busy_until_ = std::max(busy_until_, flight.pending->ended());
  if (busy_until_ > began) stats_.transfer_s += Seconds(busy_until_ - began);
  Show(ExchangedBy(flight), {flight.pending->started(), flight.pending->ended(), start, end});
}

std::unique_ptr<GradientFlow> NewGradientFlow(const PoolLayout& layout, const Tensor& gradients,
                                              Communicator* comm,
                                              const GradientFlowOptions& options) {
  if (options.config.threshold_auto() &&
      (options.config.mode() != CommConfig::LAZY || options.config.algorithm() != "auto" ||
       options.config.sharded_update())) {
    ThrowUserError(
        "comm.threshold_auto needs comm.mode: LAZY and comm.algorithm: auto, without "
        "comm.sharded_update: leave it out, or set the thresholds by hand");
  }
  const bool sharded = options.config.sharded_update() && comm->size() > 1;
  const std::string mode = sharded ? "sharded" : CommConfig::Mode_Name(options.config.mode());
  return GradientFlowRegistry::Get().Create("comm.mode", mode, layout, gradients, comm, options);
}

}  // namespace gf
