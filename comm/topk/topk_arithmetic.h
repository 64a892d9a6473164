#pragma once

#include <cstdint>
#include <vector>

#include "comm/topk/topk_buckets.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// What TOPK works on, in the memory of one device; pools have equal offsets.
struct TopkPools {
  Tensor gradients;  // FP32 or BF16; FP16 where the host does not read the memory
  Tensor residual;   // FP32
  Tensor velocity;   // FP32; without data: no momentum
  Tensor messages;   // of all buckets and ranks, see Note [Messages of TOPK]: FP32, for its words
  DType wire = DType::kFP32;
};

struct TopkFactors {
  float momentum = 0;
  bool nesterov = false;
  bool masking = true;
  float clip = 0;  // limit of the L2 norm of a tensor's gradient; 0: none
  int rank = 0, world = 1;
};

// Note [Top-k]
// Lin et al., "Deep gradient compression" (arXiv 1712.01887). With a rank's gradient g, velocity u,
// residual v, momentum m, and elements chosen by magnitude, per tensor:
//   g *= min(1, clip / |g|)     local clipping
//   u = m * u + g;  v += u      momentum correction; with Nesterov momentum v += m * u + g
//   chosen: the `chosen` largest |v|, of equal ones those in front; y = v rounded to the wire type
//   for these v -= y, and u = 0 with momentum factor masking
// What is sent and what is kept add up to v exactly. Where v is not finite, v = u = 0 afterwards;
// numbers that are not finite are larger than all others, so every rank learns of them. Every
// device makes the bits of TopkKernels, and chooses the same elements.

// TOPK's arithmetic on one device; on a GPU on the compute stream.
class TopkArithmetic {
 public:
  virtual ~TopkArithmetic() = default;

  // The buckets of the steps that follow.
  virtual void SetBuckets(const std::vector<TopkBucket>& buckets) = 0;

  // Everything in Note [Top-k]; writes this rank's message of a bucket.
  virtual void Send(int bucket) = 0;
  // Replaces the bucket's gradients by the sums of all ranks' messages: 0 plus the ranks' values in
  // order of the ranks.
  virtual void Receive(int bucket) = 0;

  // Sends all of the ranges' tensors, in place: g = v rounded to the gradients' type, v -= g; the
  // velocity stays.
  virtual void SendAll(const std::vector<ElementRange>& ranges) = 0;

  // Multiplies residual, velocity and the limit of local clipping.
  virtual void Rescale(float factor) = 0;
};

// By the device's name. The device outlives the object.
using TopkArithmeticRegistry =
    Registry<TopkArithmetic, Device*, const TopkPools&, const TopkFactors&>;

}  // namespace gf
