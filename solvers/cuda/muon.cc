// Muon; solvers/muon.cc has the formulas.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/config/solver_facts.h"
#include "core/cuda/error.h"
#include "core/cuda/matmul.h"
#include "core/error.h"
#include "solvers/cuda/cuda_solver.h"
#include "solvers/orthogonal.h"

namespace gf {
namespace {

// The products of an iteration for matrices of one size.
struct MatrixProducts {
  std::unique_ptr<Matmul> gram, square, next;
};

class CudaMuon : public CudaSolver {
 public:
  CudaMuon(const SolverConfig& config, ParameterStore* store)
      : CudaSolver(config, store), mean_(NewState()), variance_(NewState()) {
    const std::vector<ParameterRule> rules = RulesOf(config, *store);
    const bool match = config.muon().rate() == MuonConfig::MATCH_ADAMW;
    const auto& entries = store->layout().entries();
    std::vector<float> rates;
    int64_t most = 0, most_square = 0;
    size_t workspace = 0;
    for (const PoolEntry& entry : entries) {
      const bool is_matrix = IsMatrix(entry, rules[rates.size()].adaptive);
      // Without padding, for the rate.
      const MatrixSize plain = {entry.shape[0], entry.shape.count() / entry.shape[0]};
      rates.push_back(is_matrix ? static_cast<float>(MuonRate(plain, match)) : 0);
      if (!is_matrix) continue;
      // Filters have other orders of columns, which make no difference, and columns of zeros, which
      // stay so.
      const MatrixSize size = {entry.shape[0], entry.count / entry.shape[0]};
      const MatrixProducts& products = ProductsOf(entry.name, size);
      for (const auto* product : {&products.gram, &products.square, &products.next}) {
        workspace = std::max(workspace, (*product)->workspace_bytes());
      }
      matrices_.emplace(entry.offset, size);
      most = std::max(most, entry.count);
      most_square = std::max(most_square, size.shorter() * size.shorter());
    }
    directions_ = NewState();
    matrix_rates_ = NewFloats(static_cast<int64_t>(rates.size()));
    next_ = NewFloats(most);
    gram_ = NewFloats(most_square);
    square_ = NewFloats(most_square);
    workspace_ = store->device()->Allocate(workspace);
    if (!rates.empty()) {
      store->device()->CopyFromHost(rates.data(), matrix_rates_.get(), rates.size() * sizeof(float),
                                    store->device()->compute_stream());
    }
    pools()->first = mean_.as<float>();
    pools()->second = variance_.as<float>();
    pools()->directions = directions_.as<float>();
    pools()->matrix_rates = matrix_rates_.get();
    factors_.momentum = config.muon().momentum();
    factors_.nesterov = config.muon().nesterov();
  }

  bool whole_tensors() const override { return true; }
  std::vector<std::pair<std::string, Tensor>> State() const override {
    return {{"mean", mean_}, {"variance", variance_}};
  }

 protected:
  void EnqueueUpdate(const RangeList& list) override {
    AdaptiveUpdate(*pools(), AdaptiveRule::kAdamW, list, stream());
    if (matrices_.empty()) return;
    MuonDirections(*pools(), factors_, list, stream());
    SetRates(*pools(), RateRule::kMuon, 0, 0, stream());
    ScaleDirections(*pools(), list, stream());
    for (int piece = list.first_piece; piece < list.last_piece; ++piece) {
      const int64_t begin = pieces()[piece].begin;
      const auto matrix = matrices_.find(begin);
      if (matrix != matrices_.end()) Orthogonalize(matrix->second, pools()->directions + begin);
    }
    MuonApply(*pools(), list, stream());
  }
  float default_epsilon() const override { return SolverFactsOf("Muon").epsilon; }

 private:
  std::shared_ptr<float> NewFloats(int64_t count) {
    return std::static_pointer_cast<float>(store()->device()->Allocate(count * sizeof(float)));
  }

  const MatrixProducts& ProductsOf(const std::string& name, const MatrixSize& size) {
    MatrixProducts& products = products_[{size.rows, size.columns}];
    if (products.next != nullptr) return products;
    const int64_t s = size.shorter(), l = size.longer();
    const bool wide = size.rows <= size.columns;
    MatmulShape shape;
    const auto find = [&](int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b) {
      shape = {m, n, k, transpose_a, transpose_b};
      // Gradients of other types have no more bits than TF32.
      const bool tf32 = store()->gradient().desc.dtype != DType::kFP32;
      std::unique_ptr<Matmul> product = Matmul::Find(shape, DType::kFP32, tf32);
      if (product == nullptr) {
        ThrowUserError("solver.type Muon: cuBLAS cannot multiply ", m, "x", k, " by ", k, "x", n,
                       " on this GPU; give ", name, " a solver.rule with adaptive: false");
      }
      return product;
    };
    products.gram = find(s, s, l, !wide, wide);
    products.square = find(s, s, s, false, false);
    products.next = wide ? find(s, l, s, false, false) : find(l, s, s, false, false);
    return products;
  }

  // As Orthogonalizer::Run.
  void Orthogonalize(const MatrixSize& size, float* x) {
    const MatrixProducts& products = products_.at({size.rows, size.columns});
    float *from = x, *to = next_.get(), *const gram = gram_.get(), *const square = square_.get();
    for (int i = 0; i < config().muon().iterations(); ++i) {
      products.gram->Run(from, from, nullptr, gram, workspace_.get(), stream());
      products.square->Run(gram, gram, nullptr, square, workspace_.get(), stream());
      MuonPolynomial(gram, square, size.shorter(), stream());
      const bool wide = size.rows <= size.columns;
      products.next->Run(wide ? square : from, wide ? from : square, nullptr, to, workspace_.get(),
                         stream());
      std::swap(from, to);
    }
    if (from == x) return;
    GF_CUDA(cudaMemcpyAsync(x, from, size.rows * size.columns * sizeof(float),
                            cudaMemcpyDeviceToDevice, stream()));
  }

  Tensor mean_, variance_, directions_;
  MuonFactors factors_;                                             // without scale
  std::map<int64_t, MatrixSize> matrices_;                          // by offset; columns as stored
  std::map<std::pair<int64_t, int64_t>, MatrixProducts> products_;  // by rows and columns
  std::shared_ptr<float> matrix_rates_;                             // [entries], see UpdatePools
  std::shared_ptr<float> next_, gram_, square_;                     // of the largest matrices
  std::shared_ptr<void> workspace_;                                 // of the products
};

GF_REGISTER(SolverRegistry, "cuda/Muon", CudaMuon);

}  // namespace
}  // namespace gf
