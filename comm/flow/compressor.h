#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/collective.h"
#include "comm/flow/buckets.h"
#include "comm/flow/gradient_flow_options.h"
#include "comm/flow/waiting_gradients.h"
#include "core/dtype.h"
#include "core/pool_layout.h"
#include "core/tensor.h"

namespace gf {

// A range of a tensor on the gradients' device that travels as one collective, see
// TensorCollective.
struct Parcel {
  Tensor tensor;
  ElementRange range;
  DType wire = DType::kFP32;
  std::string name;  // "chunks of fc6.weight to fc7.bias"
  Collective::Kind kind = Collective::kAllReduce;
  std::shared_ptr<const EncodedSum> sum = nullptr;  // of a kEncodedSum
};

// The result of a parcel's arrival.
struct Arrival {
  std::vector<ElementRange> reduced;  // of the pool: these hold sums over the ranks now
  std::vector<Parcel> next;           // to start now
};

// The gradients that a compressor works on. Layout and options outlive it.
struct CompressedPool {
  const PoolLayout& layout;
  Tensor gradients;  // on options.device, see GradientFlow
  int rank, world;
  DType wire;  // the type that travels where the compressor does not say otherwise
  const GradientFlowOptions& options;

  // A vector of zeros on options.device.
  Tensor NewTensor(int64_t count, DType dtype) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, dtype, Layout()};
    tensor.owner = options.device->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }
};

// Decides which part of the gradients travels, and how; keeps the rest and adds it to the
// gradients of later steps (error feedback). CompressedFlow carries its parcels. All work is
// enqueued on the device's compute stream. A compressor is a new file that ends with
// RegisterCompressor (comm/flow/compressed_flow.h).
//
// Note [Compressors]
// A step is Begin, Ready as backward goes on, and Arrived once per parcel, in the order in which
// parcels were started. The parcels that a call returns are a pure function of the calls before it
// and of sums that all ranks have, never of a rank's own gradients or of time, so all ranks start
// the same collectives in the same order. A parcel may lead to others (a second phase, norms).
class Compressor {
 public:
  virtual ~Compressor() = default;

  virtual void Begin(int64_t step) = 0;

  // The gradients of the first `ready` entries of the pool are final; `ready` does not fall during
  // a step, and its last value is the number of entries. Returns the parcels to start now.
  virtual std::vector<Parcel> Ready(int ready) = 0;

  // The parcel that was started first, of those under way, has come. Ranges of all arrivals of a
  // step do not overlap; those of one are in the pool's order.
  virtual Arrival Arrived() = 0;

  // The buckets of a step in which everything travels.
  virtual std::vector<Bucket> Buckets() const = 0;
  // The longest allreduce worth measuring, in bytes on the wire, and the type in memory of what
  // travels.
  virtual int64_t LargestMessage() const = 0;
  virtual DType memory_type() const = 0;

  // See GradientFlow. State may bring its pools up to date: a later step leaves them as it likes.
  virtual std::vector<std::pair<std::string, Tensor>> State() const = 0;
  virtual Tensor shared_state() const { return {}; }
  virtual WaitingGradients waiting() const { return {}; }
  virtual bool may_wait() const { return false; }
  virtual std::vector<bool> carries_momentum() const { return {}; }
  virtual DecaySteps decay_steps() const { return {}; }
  virtual std::vector<int64_t> important_chunks() const { return {}; }
  virtual bool overflowed() const { return false; }
  virtual void Rescale(float factor) = 0;
  virtual void Restore(const std::vector<int64_t>& important_chunks) {}
};

}  // namespace gf
