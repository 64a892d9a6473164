#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/cpu/channel_view.h"
#include "core/parallel.h"

namespace gf {

// Passes over a batch whose work is divided into (block of channels) x (part of the images).
class ChannelPasses {
 public:
  // Runs first(b, begin, end, sums), reduce(b, own, sums) and second(b, begin, end) over all blocks
  // b and images [begin, end), see Note [Batch norm passes] (layers/cpu/batch_norm.cc). `first`
  // adds to 2 * block doubles, which start at zero. `reduce` receives their sums over the parts
  // (own) and over the group (sums). add_group(sums) adds over the group, for all blocks at once.
  // `second` may do nothing.
  template <typename First, typename Reduce, typename Second, typename AddGroup>
  void WithSums(const ChannelView& view, bool in_group, const First& first, const Reduce& reduce,
                const Second& second, const AddGroup& add_group) {
    const int64_t threads = omp_get_max_threads(), width = 2 * view.block;
    const int64_t parts =
        view.blocks >= threads
            ? 1
            : std::min<int64_t>(view.n, (2 * threads + view.blocks - 1) / view.blocks);
    sums_.assign(view.blocks * parts * width, 0);
    const auto run = [&](const auto& body, int64_t item) {
      const int64_t b = item / parts, part = item % parts;
      body(b, view.n * part / parts, view.n * (part + 1) / parts, &sums_[item * width]);
    };
    if (parts == 1 && !in_group) {
      ParallelFor(view.blocks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          run(first, b);
          reduce(b, &sums_[b * width], &sums_[b * width]);
          run(second, b);
        }
      });
      return;
    }
    const auto all = [&](const auto& body) {
      ParallelFor(view.blocks * parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) run(body, item);
      });
    };
    all(first);
    std::vector<double> own(view.blocks * width, 0);
    for (int64_t i = 0; i < view.blocks * parts * width; ++i) {
      own[i / (parts * width) * width + i % width] += sums_[i];
    }
    std::vector<double> sums = own;
    if (in_group) add_group(sums.data());
    for (int64_t b = 0; b < view.blocks; ++b) reduce(b, &own[b * width], &sums[b * width]);
    all(second);
  }

  // A single pass without sums.
  template <typename Only>
  static void Pass(const ChannelView& view, const Only& only) {
    ParallelFor(view.blocks * view.n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin / view.n; b * view.n < end; ++b) {
        only(b, std::max<int64_t>(begin - b * view.n, 0),
             std::min<int64_t>(end - b * view.n, view.n));
      }
    });
  }

 private:
  std::vector<double> sums_;
};

}  // namespace gf
