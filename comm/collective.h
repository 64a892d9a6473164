#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.h"

namespace gf {

class Stream;

// What a rank does in the middle of a kEncodedSum, see Collective. An object belongs to one vector
// of parts; it may be called by any thread.
class EncodedSum {
 public:
  virtual ~EncodedSum() = default;

  // `messages`: the whole vector of the collective, in host memory. Part `rank` of the first half
  // becomes the sum of all parts of the second half.
  virtual void OnHost(float* messages) const = 0;
  // The same in the memory of the gradients' device, on a stream.
  virtual void OnDevice(float* messages, Stream* stream) const = 0;
};

// Note [Algorithms by name]
// "native" is the transport's own: MPI's non-blocking allreduce, under the deadline like plans.
// "mpi" is MPI_Allreduce, the peer that we are compared with: a rank that never comes is noticed
// only by the thread that waits for the communication thread, and is not named. Every other name
// is a plan's (AlgorithmRegistry).

// What all ranks do together with equally long vectors in host memory, in place; mostly a sum over
// all ranks, of which all get the same bits. Additions are made in FP32; what travels between
// ranks is rounded to the wire type.
struct Collective {
  enum Kind {
    kAllReduce,
    // The two halves of a ring allreduce. The vector is cut into `size` parts (PartBegin); after
    // the first, rank r holds the sum of part r and the rest is undefined; before the second it
    // holds the final part r, afterwards all. The second also among groups of ranks (`group`).
    kReduceScatter,
    kAllGather,
    // The vector of rank `from` replaces that of rank `to`; the others' are left alone.
    kTransfer,
    // A sum of vectors whose code only `sum` knows. The vector is FP32 words, which nobody but
    // `sum` takes for numbers: two halves of `size` parts of equal length. Part p of the first half
    // goes to rank p, to part `rank` of the second half there; part `rank` of the second half is
    // the caller's, who has put its own there. Then `sum` makes part `rank` of the first half, and
    // the first half is gathered as in a kAllGather.
    kEncodedSum,
  };

  Kind kind = kAllReduce;
  void* data = nullptr;
  int64_t count = 0;           // elements
  DType dtype = DType::kFP32;  // FP32 or BF16
  DType wire = DType::kFP32;   // FP32, BF16 or FP16
  std::string algorithm;       // see Note [Algorithms by name]
  // Keeps the memory until the end; may be null for a collective that the caller waits for.
  std::shared_ptr<void> owner = nullptr;
  int from = 0, to = 0;  // ranks of a kTransfer, not the same
  // kAllGather: every so many consecutive ranks share a vector of as many parts; 0 = all ranks do.
  int group = 0;
  std::shared_ptr<const EncodedSum> sum = nullptr;  // of a kEncodedSum
};

// "allreduce"
inline const char* NameOf(Collective::Kind kind) {
  switch (kind) {
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllGather:
      return "allgather";
    case Collective::kTransfer:
      return "transfer";
    case Collective::kEncodedSum:
      return "encoded sum";
    default:
      return "allreduce";
  }
}

}  // namespace gf
