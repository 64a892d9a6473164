#include "comm/choice/arithmetic_probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "comm/choice/ladder.h"
#include "comm/flow/gradient_flow.h"
#include "comm/flow/transfer_times.h"
#include "comm/plan.h"
#include "core/error.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double Between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Sends nothing. Where a collective would bring other ranks' parts, they are copies of this rank's.
class EchoTransport : public GradientTransport {
 public:
  EchoTransport(int rank, int world) : rank_(rank), world_(world) {}

  // When the last collective was awaited, and all times between two awaits.
  struct Times {
    double sum = 0;      // of encoded sums
    double between = 0;  // from the end of an await to the beginning of the next one
    Clock::time_point end;
  };
  void Begin() { times_ = {}; }
  const Times& times() const { return times_; }

  std::string Describe() const override { return "echo"; }
  int64_t Start(const TensorCollective& collective) override {
    started_.push_back(collective);
    return next_++;
  }
  void Await(int64_t) override {
    if (times_.end != Clock::time_point()) times_.between += Between(times_.end, Clock::now());
    const TensorCollective c = std::move(started_.front());
    started_.pop_front();
    const size_t size = SizeOf(c.tensor.desc.dtype);
    char* const begin = c.tensor.as<char>() + c.range.begin * size;
    const int64_t count = c.range.end - c.range.begin;
    if (c.kind == Collective::kAllGather) Repeat(begin, begin, count, size);
    if (c.kind == Collective::kEncodedSum) Encoded(c, begin, count / 2, size);
    times_.end = Clock::now();
  }
  void Settle() override {}
  std::vector<TransferSpan> TakeSpans() override { return {}; }

 private:
  // Makes each part of `to` this rank's part of `from`, where parts are equally long. The vectors
  // may be one.
  void Repeat(const char* from, char* to, int64_t count, size_t size) const {
    const int64_t begin = PartBegin(count, rank_, world_);
    const size_t bytes = (PartBegin(count, rank_ + 1, world_) - begin) * size;
    for (int part = 0; part < world_; ++part) {
      char* const target = to + PartBegin(count, part, world_) * size;
      if (target != from + begin * size) std::memcpy(target, from + begin * size, bytes);
    }
  }

  void Encoded(const TensorCollective& c, char* begin, int64_t half, size_t size) {
    // This rank's own part lies in the second half already.
    char* const second = begin + half * size;
    Repeat(second, second, half, size);
    const Clock::time_point start = Clock::now();
    c.sum->OnHost(reinterpret_cast<float*>(begin));
    times_.sum += Between(start, Clock::now());
    Repeat(begin, begin, half, size);
  }

  const int rank_, world_;
  std::deque<TensorCollective> started_;
  int64_t next_ = 0;
  Times times_;
};

// Of several runs the fastest counts, as it was disturbed least; after kEnough_s there are no more.
constexpr int kMostRuns = 5;
constexpr double kEnough_s = 3;

// Times one step of the flow on the gradients of a real step.
CompressorSeconds Run(const PoolLayout& layout, int64_t step, bool depends, GradientFlow* flow,
                      EchoTransport* transport) {
  CompressorSeconds seconds;
  flow->BeginStep(step);
  const Clock::time_point start = Clock::now();
  for (int entry = 0; entry < static_cast<int>(layout.entries().size()); ++entry) {
    flow->GradientsReady({entry});
  }
  seconds.before = Between(start, Clock::now());
  transport->Begin();
  flow->Finish([](const std::vector<ElementRange>&) {});
  seconds.sum = transport->times().sum;
  seconds.after = transport->times().between;
  (depends ? seconds.last : seconds.after) += Between(transport->times().end, Clock::now());
  return seconds;
}

double Total(const CompressorSeconds& s) { return s.before + s.sum + s.after + s.last; }

std::optional<ProbedCompressor> Probe(const PoolLayout& layout, const Tensor& gradients,
                                      Communicator* comm, GradientFlowOptions options) {
  Tensor copy;
  copy.desc = gradients.desc;
  copy.owner = options.device->Allocate(copy.desc.bytes());
  copy.data = copy.owner.get();
  const auto transport = std::make_shared<EchoTransport>(comm->rank(), comm->size());
  options.transport = transport;
  options.transfer_times = std::make_shared<TransferTimes>(nullptr);
  const CommConfig::Mode mode = options.config.mode();
  const std::unique_ptr<GradientFlow> flow = GradientFlowRegistry::Get().Create(
      "comm.mode", CommConfig::Mode_Name(mode), layout, copy, comm, options);
  const bool depends = mode == CommConfig::SPARSE || mode == CommConfig::LOW_RANK;
  std::optional<ProbedCompressor> best;
  const Clock::time_point start = Clock::now();
  // The first step is cold, and SPARSE knows no important chunks in it.
  for (int run = 0; run < kMostRuns; ++run) {
    std::memcpy(copy.data, gradients.data, copy.desc.bytes());
    const CompressorSeconds seconds =
        Run(layout, options.total_steps - 1, depends, flow.get(), transport.get());
    if (run == 0) continue;
    if (!best || Total(seconds) < Total(best->seconds)) best = {seconds, {}};
    if (Between(start, Clock::now()) > kEnough_s) break;
  }
  best->important_chunks = flow->important_chunks();
  return best;
}

}  // namespace

std::optional<ProbedCompressor> ProbeArithmetic(const CommConfig& config, const PoolLayout& layout,
                                                const Tensor& gradients, Communicator* comm,
                                                const GradientFlowOptions& options,
                                                std::string* refusal) {
  if (config.mode() == CommConfig::LAZY) return ProbedCompressor();
  GradientFlowOptions own = options;
  own.config = WithoutWarmup(config);
  own.config.set_overlap(true);
  own.timeline = nullptr;
  own.chosen = nullptr;
  own.total_steps = 2;
  own.counted.clear();
  try {
    return Probe(layout, gradients, comm, own);
  } catch (const UserError& error) {
    *refusal = error.what();
  } catch (const std::bad_alloc&) {
    *refusal = "not enough memory";
  }
  return std::nullopt;
}

}  // namespace gf
