#include "comm/flow/gradient_flow.h"

#include <glog/logging.h>

#include <utility>

#include "core/error.h"

namespace gf {
namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

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
      transport_(
          options.transport != nullptr
              ? options.transport
              : NewGradientTransport(options.config, options.deterministic, options.device, comm)),
      wire_(WireTypeOf(options.config, gradients.desc.dtype)),
      ready_(layout.entries().size()) {
  CHECK_GE(gradients.desc.storage_count(), layout.count());
}

void GradientFlow::BeginStep(int64_t step) {
  step_ = step;
  in_step_ = true;
  stats_ = {};
  ready_.assign(ready_.size(), false);
  ready_prefix_ = 0;
  comm_->watchdog()->SetActivity(StrCat("step ", step + 1));
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
  in_step_ = false;
  TakeSpans();
  stats_.exposed_s = std::exchange(taken_.exposed_s, 0);
  stats_.transfer_s = std::exchange(taken_.transfer_s, 0);
}

void GradientFlow::Settle() {
  transport_->Settle();
  TakeSpans();
}

std::string GradientFlow::Describe() const {
  if (comm_->size() == 1) return "none: one rank";
  const size_t buckets = Buckets().size();
  return StrCat(transport_->Describe(), ", ", buckets, buckets == 1 ? " bucket" : " buckets");
}

GradientFlow::Flight GradientFlow::Launch(const Tensor& tensor, const ElementRange& range,
                                          DType wire, const std::string& name,
                                          Collective::Kind kind) {
  stats_.wire_bytes += (range.end - range.begin) * static_cast<int64_t>(SizeOf(wire));
  ++stats_.allreduces;
  const int64_t number =
      transport_->Start({kind, tensor, range, wire, StrCat(name, ", step ", step_ + 1)});
  return {range, name, number};
}

void GradientFlow::Await(const Flight& flight) {
  transport_->Await(flight.number);
  const int64_t count = flight.range.end - flight.range.begin;
  awaited_.push_back({flight.name, count * static_cast<int64_t>(SizeOf(wire_)),
                      options_.timeline != nullptr ? options_.timeline->step() : 0, in_step_});
}

void GradientFlow::TakeSpans() {
  Timeline* const timeline = options_.timeline;
  for (const TransferSpan& span : transport_->TakeSpans()) {
    const Awaited flight = std::move(awaited_.front());
    awaited_.pop_front();
    if (flight.in_step) {
      taken_.exposed_s += Seconds(span.resume - span.stall);
      taken_.transfer_s += Seconds(span.end - span.begin);
    }
    if (timeline == nullptr) continue;
    timeline->AddTo(flight.timeline_step, lane::kBucketTransfer, flight.name, span.begin, span.end,
                    {{"bytes", flight.bytes}});
    timeline->AddTo(flight.timeline_step, lane::kBucketWait, flight.name, span.stall, span.resume);
  }
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
