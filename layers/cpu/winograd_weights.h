#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "layers/cpu/winograd_pass.h"

namespace gf {

// The gradients of a convolution's filters and biases.
//
// Note [Parts of a sum]
// The transformed gradient of the filters is a sum over all tiles. It is computed in parts: each
// part is the sum over neighboring groups of tiles, in order. Where the threads divide the parts
// nearly evenly, a thread computes whole parts alone, so that no core waits for memory that another
// one has written, which is slow between cores without a common cache. Otherwise, all threads share
// each group. The parts depend on the shapes alone, and so do the results.
//
// T is the C++ type of images and gradients: float or uint16_t (BF16).
template <typename T>
class WinogradWeights {
 public:
  WinogradWeights() = default;
  // `pass`: from images to results, divided into parts (WinogradPass::DivideSum).
  WinogradWeights(const WinogradPass& pass, bool bias);

  int64_t floats() const;  // of Compute's scratch memory

  // Writes the gradients, given images x and the gradients dy of the results, in their type.
  // `biases`: null without bias.
  void Compute(const T* x, const T* dy, float* scratch, void* filters, void* biases) const;

 private:
  // The sums of a part. The filters' padding has no value.
  struct Sums {
    float *filters, *biases;
  };
  // The transformed tensors of a group, and sums of its tiles, [tile][output].
  struct Space {
    WinogradSpace images, gradients;
    float* tile_sums;  // null without bias
  };

  // Whether a thread computes its own parts, in its own space.
  bool OwnParts() const;
  int64_t spaces() const;

  int64_t SumFloats() const;
  int64_t SpaceFloats() const;
  Sums SumsOf(int64_t part, float* scratch) const;
  Space SpaceOf(int64_t thread, float* scratch) const;

  void SumPart(int64_t part, int threads, const T* x, const T* dy, const Sums& sums,
               const Space& space) const;
  void TransformGroup(const WinogradGroup& group, int threads, const T* x, const T* dy,
                      const Space& space) const;
  // The sums over a group's tiles for a point of filters and a panel of them. `panel_follows`: this
  // thread computes the next panel next.
  void AddProducts(const WinogradGroup& group, int filter_point, int64_t panel, bool add,
                   bool panel_follows, const Space& space, float* sums) const;
  void AddParts(float* scratch) const;

  WinogradPass pass_;
  bool bias_ = false;
  std::vector<std::vector<int>> tile_points_;  // of each point of the filters
};

}  // namespace gf
