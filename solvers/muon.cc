// Muon (MuonConfig). With the gradient G of a matrix W of weights, the schedule's rate lr, and
// orthogonal() for Newton-Schulz iterations (Orthogonalizer):
//   M = momentum * M + (1 - momentum) * G
//   D = nesterov ? momentum * M + (1 - momentum) * G : M
//   W = (1 - lr * decay) * W - lr * MuonRate * orthogonal(D / max(|D|, 1e-7))
// Other parameters are updated as AdamW updates them.

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/config/solver_facts.h"
#include "core/parallel.h"
#include "solvers/orthogonal.h"
#include "solvers/pool_solver.h"
#include "solvers/step_factors.h"

namespace gf {
namespace {

class Muon : public PoolSolver {
 public:
  Muon(const SolverConfig& config, ParameterStore* store)
      : PoolSolver(config, store), mean_(NewState()), variance_(NewState()) {
    int64_t stored = 0, plain = 0;
    for (const PoolEntry& entry : store->layout().entries()) {
      if (!IsMatrix(entry)) continue;
      stored = std::max(stored, entry.count);
      if (!entry.layout.plain()) plain = std::max(plain, entry.shape.count());
    }
    direction_.reset(new float[stored]);
    rows_.reset(new float[plain]);
  }

  bool whole_tensors() const override { return true; }
  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"mean", mean_}, {"variance", variance_}};
  }

 protected:
  void Apply(const std::vector<ElementRange>& ranges) override {
    UpdateOthers(ranges);
    // Each range is a bucket, with whole tensors.
    const auto& entries = store()->layout().entries();
    for (const ElementRange& range : ranges) {
      auto entry = std::partition_point(entries.begin(), entries.end(),
                                        [&](const PoolEntry& e) { return e.offset < range.begin; });
      for (; entry != entries.end() && entry->offset < range.end; ++entry) {
        if (IsMatrix(*entry)) UpdateMatrix(*entry);
      }
    }
  }

 private:
  static constexpr int64_t kBlock = 4096;

  int IndexOf(const PoolEntry& entry) const {
    return static_cast<int>(&entry - store()->layout().entries().data());
  }
  bool IsMatrix(const PoolEntry& entry) const {
    return gf::IsMatrix(entry, rule(IndexOf(entry)).adaptive);
  }

  void UpdateOthers(const std::vector<ElementRange>& ranges) {
    const AdaptiveFactors of_step =
        AdaptiveFactorsOf(config(), scalars(), SolverFactsOf("Muon").epsilon);
    float *const w = store()->master().as<float>(), *const mean = mean_.as<float>(),
                 *const variance = variance_.as<float>();
    WithTypes([&](const auto& kernels, const auto* g, auto* compute) {
      ForPieces(ranges, [&](int entry, int64_t begin, int64_t end) {
        if (IsMatrix(store()->layout().entries()[entry])) return;
        AdaptiveFactors factors = of_step;
        factors.decay = decay(entry);
        kernels.adaptive(AdaptiveRule::kAdamW, w + begin, compute + begin, mean + begin,
                         variance + begin, g + begin, end - begin, factors, RateOf(entry));
      });
    });
  }

  float RateOf(int entry) const { return static_cast<float>(scalars().lr * rule(entry).lr_mult); }

  void UpdateMatrix(const PoolEntry& entry) {
    const int index = IndexOf(entry);
    const MatrixSize size = {entry.shape[0], entry.shape.count() / entry.shape[0]};
    Scale(entry.count, 1 / std::max(kLeastMuonNorm, Direction(entry)));
    const Tensor stored = View(direction_.get(), {entry.shape, DType::kFP32, entry.layout});
    if (entry.layout.plain()) {
      orthogonalizer_.Run(size, config().muon().iterations(), direction_.get());
    } else {
      const Tensor rows = View(rows_.get(), {entry.shape, DType::kFP32, Layout()});
      Device* const device = store()->device();
      device->Convert(stored, rows, device->compute_stream());
      orthogonalizer_.Run(size, config().muon().iterations(), rows_.get());
      device->Convert(rows, stored, device->compute_stream());
    }
    const bool match = config().muon().rate() == MuonConfig::MATCH_ADAMW;
    const double rate = RateOf(index);
    const auto keep = static_cast<float>(1 - rate * decay(index));
    const auto factor = static_cast<float>(rate * MuonRate(size, match));
    float* const w = store()->master().as<float>() + entry.offset;
    WithTypes([&](const auto& kernels, const auto*, auto* compute) {
      ParallelFor(entry.count, kBlock, [&](int64_t begin, int64_t end) {
        kernels.muon_apply(w + begin, compute + entry.offset + begin, direction_.get() + begin,
                           end - begin, keep, factor);
      });
    });
  }

  // Updates the mean and writes the direction in the order of the pools. Returns its norm, which
  // does not depend on the number of threads.
  double Direction(const PoolEntry& entry) {
    MuonFactors factors;
    factors.momentum = config().muon().momentum();
    factors.nesterov = config().muon().nesterov();
    factors.scale = static_cast<float>(scalars().gradient_scale);
    squares_.resize((entry.count + kBlock - 1) / kBlock);
    float* const mean = mean_.as<float>() + entry.offset;
    WithTypes([&](const auto& kernels, const auto* g, const auto*) {
      ParallelFor(static_cast<int64_t>(squares_.size()), 1, [&](int64_t first, int64_t last) {
        for (int64_t block = first; block < last; ++block) {
          const int64_t begin = block * kBlock, end = std::min(begin + kBlock, entry.count);
          squares_[block] = kernels.muon_direction(mean + begin, direction_.get() + begin,
                                                   g + entry.offset + begin, end - begin, factors);
        }
      });
    });
    double sum = 0;
    for (const double block : squares_) sum += block;
    return std::sqrt(sum);
  }

  void Scale(int64_t count, double factor) {
    const auto by = static_cast<float>(factor);
    float* const direction = direction_.get();
    ParallelFor(count, kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) direction[i] *= by;
    });
  }

  static Tensor View(float* data, const TensorDesc& desc) {
    Tensor view;
    view.desc = desc;
    view.data = data;
    return view;
  }

  Tensor mean_, variance_;
  std::unique_ptr<float[]> direction_;  // of one matrix, in the order of the pools
  std::unique_ptr<float[]> rows_;       // of one matrix, row by row
  std::vector<double> squares_;         // by block of the direction
  Orthogonalizer orthogonalizer_;
};

GF_REGISTER(SolverRegistry, "cpu/Muon", Muon);

}  // namespace
}  // namespace gf
