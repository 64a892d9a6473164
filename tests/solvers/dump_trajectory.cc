// Takes 20 updates of a few tensors with the solver of a SolverConfig (text format, the only
// argument) and prints the weights, or their average if the config has one, as JSON: what
// solver_golden_test.py compares with PyTorch.

#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "solvers/solver.h"
#include "solvers/weight_average.h"
#include "tests/solvers/store_for_test.h"

int main(int argc, char** argv) {
  gf::SolverConfig config;
  if (argc != 2 || !google::protobuf::TextFormat::ParseFromString(argv[1], &config)) return 2;
  gf::PoolLayout layout;
  layout.Add(gf::TestEntry("fc.bias", gf::Shape({10})));
  layout.Add(gf::TestEntry("fc.weight", gf::Shape({10, 77})));
  layout.Add(gf::TestEntry("conv.weight", gf::Shape({16, 3, 11, 11})));
  gf::ParameterStore store(gf::TestDevice(), layout, {}, gf::DType::kFP32, true);
  const auto solver = gf::NewSolver("solver", config.type(), config, &store);
  float* const w = store.master().as<float>();
  for (const gf::PoolEntry& entry : layout.entries()) {
    for (int64_t i = 0; i < entry.count; ++i) {
      w[entry.offset + i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
    }
  }
  std::unique_ptr<gf::WeightAverage> average;
  if (config.average().decay() > 0) {
    store.AddAverage();
    average = std::make_unique<gf::WeightAverage>(config.average(), 20, &store);
    average->Restart();
  }
  gf::UpdateScalars scalars;
  for (int step = 0; step < 20; ++step) {
    for (const gf::PoolEntry& entry : layout.entries()) {
      for (int64_t i = 0; i < entry.count; ++i) {
        store.gradient().as<float>()[entry.offset + i] =
            static_cast<float>(std::cos(0.11 * static_cast<double>(i) + 0.5 * step));
      }
    }
    scalars.lr = 0.1 / (1 + 0.1 * step);
    scalars.update = step + 1;
    solver->BeginStep(scalars);
    solver->Update({{0, layout.count()}});
    if (average) average->StepDone(step);
    scalars.last_lr = scalars.lr;
  }
  nlohmann::json result;
  for (const gf::PoolEntry& entry : layout.entries()) {
    result[entry.name] = store.Export(average ? store.average()->master() : store.master(), entry);
  }
  std::printf("%s\n", result.dump().c_str());
  return 0;
}
