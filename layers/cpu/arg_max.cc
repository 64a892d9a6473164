#include "layers/arg_max.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ArgMaxKernel : public Kernel {
 public:
  ArgMaxKernel(const ArgMaxLayer& layer, const KernelContext& context)
      : ranking_(layer.ranking()), type_(context.compute) {}

  void Setup(KernelSetup* setup) override { setup->bottoms[0].layout = Layout(); }

  void Forward(const KernelArgs& args) override {
    const int64_t classes = ranking_.view.classes;
    ParallelFor(ranking_.view.predictions(), std::max<int64_t>(1, kElementGrain / classes),
                [&](int64_t begin, int64_t end) {
                  std::vector<uint64_t> keys(classes);
                  for (int64_t i = begin; i < end; ++i) {
                    for (int64_t c = 0; c < classes; ++c) {
                      keys[c] = RankKey(Bits(Number(args.bottoms[0], i, c)), c);
                    }
                    std::partial_sort(keys.begin(), keys.begin() + ranking_.top_k, keys.end(),
                                      std::greater<uint64_t>());
                    Store(args.bottoms[0], i, keys, static_cast<float*>(args.tops[0]));
                  }
                });
  }

 private:
  static uint32_t Bits(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }

  float Number(const void* x, int64_t prediction, int64_t c) const {
    return LoadElement(x, ranking_.StartOf(prediction) + c * ranking_.view.inner, type_);
  }

  // Writes the results of a prediction, whose first keys are the highest.
  void Store(const void* x, int64_t prediction, const std::vector<uint64_t>& keys,
             float* top) const {
    for (int64_t rank = 0; rank < ranking_.top_k; ++rank) {
      const int64_t c = RankedClass(keys[rank]), at = ranking_.ResultAt(prediction, rank);
      if (ranking_.indices) top[at] = static_cast<float>(c);
      if (ranking_.numbers) top[at + ranking_.NumberAfter()] = Number(x, prediction, c);
    }
  }

  const Ranking ranking_;
  const DType type_;
};

GF_REGISTER(KernelRegistry, "cpu/ArgMax", KernelOf<ArgMaxLayer, ArgMaxKernel>);

}  // namespace
}  // namespace gf
