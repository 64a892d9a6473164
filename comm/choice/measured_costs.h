#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"
#include "comm/flow/algorithm_timing.h"
#include "comm/flow/gradient_transport.h"
#include "comm/price/collective_costs.h"
#include "core/dtype.h"

namespace gf {

// What collectives of the host's communicator cost on this job's ranks and links, from short
// measurements of each kind (AlgorithmTiming). All ranks have the same figures.
class MeasuredCosts : public CollectiveCosts {
 public:
  // `algorithm`: comm.algorithm. `transport` has measured if that is "auto". `largest`: bytes of
  // the longest message. `dtype`: of the gradients in memory. All outlive the object; collective.
  MeasuredCosts(const std::string& algorithm, DType dtype, int64_t largest,
                const GradientTransport* transport, Communicator* comm);

  // The type that allreduces send from now on: `dtype` of the constructor, or BF16.
  void SetWire(DType wire) { wire_ = wire; }
  // Multiplies all times from now on, so that they match the steps of the job.
  void Scale(double factor) { factor_ *= factor; }

  int world() const override { return comm_->size(); }
  double Seconds(Kind kind, int64_t bytes) override;

 private:
  const GradientTransport* const transport_;
  Communicator* const comm_;
  const bool automatic_;
  const DType dtype_;
  std::map<DType, AlgorithmTiming::Curves> allreduce_;  // by the type that travels
  AlgorithmTiming::Curves gathered_, encoded_;
  DType wire_;
  double factor_ = 1;
};

// How a job's gradients travel as a whole.
struct WholeExchange {
  std::string algorithm;  // comm.algorithm; for "auto" the transport has measured
  DType dtype;            // of the gradients, in memory and on the wire
  int64_t largest;        // bytes of the longest message
};
// Seconds of allreduces of `bytes` in all. All ranks have the same figure; collective.
double AllReduceSeconds(int64_t bytes, const WholeExchange& exchange,
                        const GradientTransport* transport, Communicator* comm);

}  // namespace gf
