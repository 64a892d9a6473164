#pragma once

#include "comm/sparse/chunks.h"
#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// What sparse communication works on, in the memory of one device.
struct ChunkPools {
  Tensor gradients;  // [grid.count()], FP32 or BF16; FP16 where the host does not read the memory
  Tensor residual;   // FP32, equal offsets
  Tensor packed;     // the important chunks one after the other: FP32, BF16 or FP16
  Tensor norms;      // FP32 [grid.chunks()]
};

struct ChunkFactors {
  float momentum = 1;  // of residuals that are kept
  int world = 1;       // ranks, among whom the norm of a sum is divided
};

// What sparse communication does to ranges of the pools, on one device; on a GPU one launch each,
// on the compute stream. `g` is a gradient, `h` its residual. A step begins with the chunks that
// are important in it; ranges may begin and end inside chunks, and none is handled twice in a
// step. See Note [Sparse communication] and SparseFunctions, whose bits every device makes.
class ChunkArithmetic {
 public:
  virtual ~ChunkArithmetic() = default;

  // A new step: the chunks, and norms of 0.
  virtual void Begin(const ChunkSet& important) = 0;

  // g += h, h = 0.
  virtual void Merge(const ElementRange& range) = 0;
  // Of important chunks: packed = g + h, h = 0. Of the others: h = momentum * (g + h), and the L1
  // norm of g + h is added to the chunk's; where it is not finite, the range's part of the chunk
  // gets h = 0 instead, or it would stay there for ever.
  virtual void KeepOrPack(const ElementRange& range) = 0;
  // Of important chunks: g = packed, and the norm, divided by the world, is added to the chunk's.
  virtual void Unpack(const ElementRange& range) = 0;
  // The norm of g, divided by the world, is added to the chunk's.
  virtual void AddNorms(const ElementRange& range) = 0;
  // Rounds what was added so far to pools.norms.
  virtual void StoreNorms() = 0;

  // h *= factor, everywhere.
  virtual void Rescale(float factor) = 0;
};

// By the device's name. The device outlives the object.
using ChunkArithmeticRegistry =
    Registry<ChunkArithmetic, Device*, const ChunkGrid&, const ChunkPools&, const ChunkFactors&>;

}  // namespace gf
