#include "comm/flow/gradient_flow.h"

#include <glog/logging.h>

#include <utility>

#include "comm/agree.h"
#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/readable.h"

namespace gf {

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
      transport_(options.transport),
      wire_(WireTypeOf(options.config, gradients.desc.dtype)),
      ready_(layout.entries().size()),
      transfer_times_(options.transfer_times) {
  CHECK_GE(gradients.desc.storage_count(), layout.count());
}

void GradientFlow::BeginStep(int64_t step) {
  step_ = step;
  in_step_ = true;
  stats_ = {};
  ready_.assign(ready_.size(), false);
  ready_prefix_ = 0;
  if (!options_.counted.empty()) {
    comm_->watchdog()->SetActivity(StrCat(options_.counted, " ", step + 1));
  }
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
  transfer_times_->Add(transport_->TakeSpans());
  const TransferTimes::Sums sums = transfer_times_->Take();
  stats_.exposed_s += sums.exposed_s;
  stats_.transfer_s += sums.transfer_s;
}

void GradientFlow::Account(const CommStats& stats) {
  stats_.exposed_s += stats.exposed_s;
  stats_.transfer_s += stats.transfer_s;
  stats_.arithmetic_s += stats.arithmetic_s;
  stats_.wire_bytes += stats.wire_bytes;
  stats_.allreduces += stats.allreduces;
}

Tensor GradientFlow::StatePool(const std::string& name) const {
  for (const auto& [own, pool] : State()) {
    if (own == name) return pool;
  }
  return {};
}

void GradientFlow::Settle() {
  transport_->Settle();
  transfer_times_->Add(transport_->TakeSpans());
}

std::string GradientFlow::Describe() const {
  if (comm_->size() == 1) return "none: one rank";
  const size_t buckets = Buckets().size();
  return StrCat(transport_->Describe(), ", ", Counted(buckets, "bucket"));
}

GradientFlow::Flight GradientFlow::Launch(const Tensor& tensor, const ElementRange& range,
                                          DType wire, const std::string& name,
                                          Collective::Kind kind,
                                          std::shared_ptr<const EncodedSum> sum) {
  const int64_t bytes = (range.end - range.begin) * static_cast<int64_t>(SizeOf(wire));
  stats_.wire_bytes += kind == Collective::kAllReduce ? bytes : bytes / 2;
  ++stats_.allreduces;
  const int64_t number =
      transport_->Start({kind, tensor, range, wire,
                         StrCat(name, ", ", options_.counted, " ", step_ + 1), std::move(sum)});
  return {range, name, number, bytes};
}

void GradientFlow::Await(const Flight& flight) {
  transport_->Await(flight.number);
  transfer_times_->Awaited(flight.name, flight.bytes, in_step_);
}

CommConfig::Mode SendingModeOf(const CommConfig& config) {
  return config.mode() == CommConfig::PERIODIC ? config.periodic().exchange() : config.mode();
}

bool StepsAhead(const CommConfig& config, const std::string& solver, int world, DType compute,
                bool on_host) {
  const bool sends_less = config.mode() == CommConfig::AUTO ||
                          (config.mode() == CommConfig::SPARSE && config.sparse().density() < 1);
  // In BF16 some of the processor's layers compute with the FP32 master weights.
  const bool has_type = compute == DType::kFP32 || !on_host;
  return sends_less && config.sparse().step_ahead() && solver == "SGD" && world > 1 && has_type;
}

std::string FlowNameOf(const CommConfig& config, int world) {
  const bool periodic = config.mode() == CommConfig::PERIODIC;
  if (world > 1 && config.sharded_update()) return "sharded";
  if (world > 1 && config.error_feedback() && !periodic) return "error_feedback";
  return CommConfig::Mode_Name(config.mode());
}

std::unique_ptr<GradientFlow> NewGradientFlow(const PoolLayout& layout, const Tensor& gradients,
                                              Communicator* comm,
                                              const GradientFlowOptions& options) {
  CheckComm(options.config, "comm");
  const std::string mode = FlowNameOf(options.config, comm->size());
  GradientFlowOptions complete = options;
  if (complete.transport == nullptr) {
    complete.transport =
        NewGradientTransport(options.config, options.deterministic, options.device, comm);
  }
  if (complete.transfer_times == nullptr) {
    complete.transfer_times = std::make_shared<TransferTimes>(options.timeline);
  }
  std::unique_ptr<GradientFlow> flow;
  AgreeOnErrors(comm, "preparing the exchange of gradients", [&] {
    flow = GradientFlowRegistry::Get().Create("comm.mode", mode, layout, gradients, comm, complete);
  });
  flow->Measure();
  return flow;
}

}  // namespace gf
