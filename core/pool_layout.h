#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace gf {

// Position of one parameter, the same in every pool (master, compute, gradient, momentum,
// residual).
struct PoolEntry {
  std::string name;    // "conv1.weight"
  std::string layer;   // "conv1"
  Shape shape;         // plain order, as in checkpoints
  Layout layout;       // order within the pools
  int64_t offset = 0;  // elements from the start of a pool
  int64_t count = 0;   // stored elements, including padding of the layout
  float lr_mult = 1;
  float decay_mult = 1;
  bool fixed = false;  // of a state: training does not change it
};

// A range of elements of a pool.
struct ElementRange {
  int64_t begin = 0, end = 0;  // [begin, end)

  bool operator==(const ElementRange& other) const {
    return begin == other.begin && end == other.end;
  }
};

// By pieces of `chunk` consecutive elements of a pool: the steps whose weight decay the next update
// of the piece applies. FP32 on the pool's device, one number per piece; no data: 1 everywhere.
struct DecaySteps {
  Tensor steps;
  int64_t chunk = 0;
};

// The static order of all parameters, in which backward generates their gradients. Offsets are
// multiples of kAlignment; the gaps and the padding inside an entry hold zeros.
class PoolLayout {
 public:
  static constexpr int64_t kAlignment = 32;

  // Appends an entry and sets its offset.
  void Add(PoolEntry entry);

  const std::vector<PoolEntry>& entries() const { return entries_; }
  // Number of elements of a pool.
  int64_t count() const { return count_; }
  // Number of parameter elements, without padding.
  int64_t parameter_count() const { return parameter_count_; }
  // Index of the parameter with this name, or -1.
  int Find(const std::string& name) const;
  // The entries first to last in words, "fc6.weight to fc7.bias", or "fc6.weight" for one.
  std::string NameOf(int first, int last) const;
  // End of the first `entries` entries, in elements of a pool, with the gap behind them.
  int64_t PrefixEnd(int entries) const;

 private:
  std::vector<PoolEntry> entries_;
  std::map<std::string, int> index_;  // by name
  int64_t count_ = 0;
  int64_t parameter_count_ = 0;
};

}  // namespace gf
