// Trains a few tensors on several ranks (threads) with a way to exchange gradients, and prints the
// weights of every rank as JSON: what exchange_golden_test.py compares with NumPy.
//   dump_exchange WORLD STEPS COMM_CONFIG SOLVER_CONFIG [rounded|linear]      (in text format)
// The loss of rank r is the sum over i of a[i] / 2 * (w[i] - t[r][i])^2, in FP32. `rounded`: with
// a, t and the first w rounded so that the last bits of sines do not count. `linear`: with the same
// numbers the loss is -a[i] * t[r][i] * w[i]. Gradients of equal weights, and all gradients of the
// linear loss, then have the same bits in both programs, and so has whatever they are rounded to.

#include <google/protobuf/text_format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "comm/local/communicator.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

struct Loss {
  bool rounded = false, linear = false;
};

// A number of the loss; of a rounded one, a multiple of 2^-22.
float Number(double x, const Loss& loss) {
  return static_cast<float>(loss.rounded ? std::nearbyint(x * 4194304) / 4194304 : x);
}

// A matrix whose singular values halve: neither is it of low rank, nor do rounding errors turn its
// factors.
class Target {
 public:
  Target(int rank, int step, int64_t rows, int64_t columns) : rows_(rows), columns_(columns) {
    for (int c = 1; c <= kFactors; ++c) {
      for (int64_t row = 0; row < rows; ++row) {
        rows_[row][c - 1] =
            std::ldexp(1., -c) * std::sin(c * (0.9 * static_cast<double>(row) + 0.3 * rank + 1));
      }
      for (int64_t column = 0; column < columns; ++column) {
        columns_[column][c - 1] =
            std::cos(c * (0.37 * static_cast<double>(column) + 0.05 * step + 1));
      }
    }
  }
  // Element i.
  double operator[](int64_t i) const {
    const auto columns = static_cast<int64_t>(columns_.size());
    const Factors &row = rows_[i / columns], &column = columns_[i % columns];
    double sum = 0;
    for (int c = 0; c < kFactors; ++c) sum += row[c] * column[c];
    return sum;
  }

 private:
  static constexpr int kFactors = 8;
  using Factors = std::array<double, kFactors>;

  std::vector<Factors> rows_, columns_;
};

// The final weights of this rank, by name.
nlohmann::json Train(Communicator* comm, int steps, const CommConfig& comm_config,
                     const SolverConfig& solver_config, const Loss& loss) {
  PoolLayout layout;
  layout.Add(TestEntry("fc.bias", Shape({10})));
  layout.Add(TestEntry("fc.weight", Shape({70, 1000})));
  layout.Add(TestEntry("conv.weight", Shape({16, 3, 11, 11})));
  ParameterStore store(TestDevice(), layout, {}, DType::kFP32, true);
  const auto solver = NewSolver("solver", solver_config.type(), solver_config, &store);
  float* const w = store.master().as<float>();
  for (const PoolEntry& entry : layout.entries()) {
    for (int64_t i = 0; i < entry.count; ++i) {
      w[entry.offset + i] = Number(std::sin(0.37 * static_cast<double>(i)), loss);
    }
  }
  GradientFlowOptions options;
  options.config = comm_config;
  options.total_steps = steps;
  options.momentum = solver_config.momentum();
  options.nesterov = solver_config.nesterov();
  options.device = TestDevice();
  options.master = store.master();
  options.solver_state = solver->State();
  const auto flow = NewGradientFlow(store.layout(), store.gradient(), comm, options);
  UpdateScalars scalars;
  scalars.lr = solver_config.base_lr();
  std::vector<float> slopes(layout.count());
  for (int64_t i = 0; i < layout.count(); ++i) {
    slopes[i] = Number(1 + 0.5 * std::sin(0.13 * static_cast<double>(i)), loss);
  }
  for (int step = 0; step < steps; ++step) {
    flow->BeginStep(step);
    for (size_t e = 0; e < layout.entries().size(); ++e) {
      const PoolEntry& entry = store.layout().entries()[e];
      const Target target(comm->rank(), step, entry.shape[0], entry.count / entry.shape[0]);
      for (int64_t i = 0; i < entry.count; ++i) {
        const float weight = loss.linear ? 0 : w[entry.offset + i];
        const float difference = weight - Number(target[i], loss);
        store.gradient().as<float>()[entry.offset + i] = slopes[i] * difference;
      }
      flow->GradientsReady({static_cast<int>(e)});
    }
    scalars.update = step + 1;
    scalars.gradient_scale = 1.0 / flow->summed_ranks();
    solver->SetCarried(flow->carries_momentum());
    solver->BeginStep(scalars);
    flow->Finish([&](const std::vector<ElementRange>& ranges) { solver->Update(ranges); });
    if (flow->local() && flow->round_ends()) flow->EndRound({});
    scalars.last_lr = scalars.lr;
  }
  nlohmann::json result;
  for (const PoolEntry& entry : store.layout().entries()) {
    result[entry.name] = store.Export(store.master(), entry);
  }
  return result;
}

int Main(int argc, char** argv) {
  using google::protobuf::TextFormat;
  CommConfig comm_config;
  SolverConfig solver_config;
  Loss loss;
  loss.linear = argc == 6 && std::string(argv[5]) == "linear";
  loss.rounded = loss.linear || (argc == 6 && std::string(argv[5]) == "rounded");
  if ((argc != 5 && !loss.rounded) || !TextFormat::ParseFromString(argv[3], &comm_config) ||
      !TextFormat::ParseFromString(argv[4], &solver_config)) {
    return 2;
  }
  const int world = std::atoi(argv[1]);
  std::vector<nlohmann::json> weights(world);
  RunLocal(world, 60, [&](Communicator* comm) {
    weights[comm->rank()] = Train(comm, std::atoi(argv[2]), comm_config, solver_config, loss);
  });
  std::printf("%s\n", nlohmann::json(weights).dump().c_str());
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::Main(argc, argv); }
