#include "comm/choice/measured_costs.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "comm/collective_runner.h"
#include "comm/plan.h"

namespace gf {
namespace {

// Algorithms to time in place of all: few messages, and few bytes.
std::vector<std::string> Candidates(const std::string& algorithm, Communicator* comm) {
  if (algorithm != "auto") return {algorithm};
  const Topology topology = TopologyOf(comm->hosts());
  std::vector<std::string> names;
  for (const char* name : {"recursive_doubling", "ring", "hierarchical"}) {
    if (AlgorithmRegistry::Get().Create("algorithm", name)->Fits(topology)) names.push_back(name);
  }
  return names;
}

double Fastest(const AlgorithmTiming::Curves& curves, int64_t bytes) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [name, curve] : curves) {
    if (!curve.empty()) best = std::min(best, curve.Seconds(bytes));
  }
  return best;
}

}  // namespace

MeasuredCosts::MeasuredCosts(const std::string& algorithm, DType dtype, int64_t largest,
                             const GradientTransport* transport, Communicator* comm)
    : transport_(transport),
      comm_(comm),
      automatic_(algorithm == "auto"),
      dtype_(dtype),
      wire_(dtype) {
  const std::vector<std::string> names = Candidates(algorithm, comm);
  for (const DType wire : {dtype, DType::kBF16}) {
    // The transport knows those in the gradients' type.
    if ((automatic_ && wire == dtype) || allreduce_.count(wire) > 0) continue;
    allreduce_[wire] = AlgorithmTiming(dtype, wire, comm, SteadySeconds).Measure(names, largest);
  }
  const auto measure = [&](Collective::Kind kind) {
    return AlgorithmTiming(DType::kFP32, DType::kFP32, comm, SteadySeconds, kind)
        .Measure({NameOf(kind)}, largest);
  };
  gathered_ = measure(Collective::kAllGather);
  encoded_ = measure(Collective::kEncodedSum);
}

double AllReduceSeconds(int64_t bytes, const WholeExchange& exchange,
                        const GradientTransport* transport, Communicator* comm) {
  if (exchange.algorithm == "auto") return transport->Seconds(bytes);
  const DType type = exchange.dtype;
  AlgorithmTiming timing(type, type, comm, SteadySeconds);
  return Fastest(timing.Measure({exchange.algorithm}, exchange.largest), bytes);
}

double MeasuredCosts::Seconds(Kind kind, int64_t bytes) {
  switch (kind) {
    case kAllReduce:
    case kReduceScatter:
      if (automatic_ && wire_ == dtype_) return factor_ * transport_->Seconds(bytes);
      return factor_ * Fastest(allreduce_.at(wire_), bytes);
    case kAllGather:
      return factor_ * Fastest(gathered_, bytes);
    default:
      // An encoded sum has both directions.
      return factor_ * std::max(0.0, Fastest(encoded_, bytes) - Fastest(gathered_, bytes));
  }
}

}  // namespace gf
