// gfbench update: how long a solver's update takes, beside a copy of as many bytes.

#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/config/solver_facts.h"
#include "core/device.h"
#include "core/error.h"
#include "core/median.h"
#include "core/random.h"
#include "core/readable.h"
#include "models/net.h"
#include "solvers/solver.h"
#include "tools/command.h"
#include "tools/gfbench/common_flags.h"
#include "tools/gfbench/device_copy.h"
#include "tools/gfbench/net_flags.h"

namespace gf {
namespace {

double Seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class UpdateBenchmark : public Command {
 public:
  FlagSpec Spec() const override {
    FlagSpec spec;
    spec.summary = "times a solver's update of all parameters beside a copy of as many bytes.";
    spec.usage = {"gfbench update --net=FILE [FLAGS]"};
    spec.examples = {
        "gfbench update --net=models/alexnet_bn.prototxt --solver=LARS --compute=BF16"};
    spec.groups = {NetFlags(), {"Update", {"solver"}}, CommonFlags()};
    spec.notes =
        "Updates take gradients of the compute type; master weights and state are FP32. Each "
        "update is followed by a copy (memcpy, the same threads) of memory that reads and writes "
        "as many bytes as the update must. The solver is LARS if --solver is not given; --batch "
        "has no effect.\n";
    return spec;
  }

  int Run(const Arguments& arguments) override {
    FLAGS_solver = SolverOfFlag("LARS");
    FLAGS_batch = 1;
    const NetOptions options = NetOptionsOfFlags();
    CheckCommonFlags();
    CheckJsonFile();
    const auto device = DeviceOfFlags();
    Net net(ReadNet(FLAGS_net), options, device.get());
    net.InitParameters();
    ParameterStore* const store = net.parameters().get();
    FillGradients(store);
    SolverConfig config;
    config.set_weight_decay(5e-4f);
    const auto solver = NewSolver("--solver", FLAGS_solver, config, store);
    const int64_t count = store->layout().count();
    const auto gradient = static_cast<int64_t>(SizeOf(store->gradient().desc.dtype));
    const int64_t bytes = UpdateBytes(SolverFactsOf(FLAGS_solver), gradient) * count;
    const auto from = device->Allocate(bytes / 2), to = device->Allocate(bytes / 2);
    device->Zero(from.get(), bytes / 2, device->compute_stream());

    UpdateScalars scalars;
    scalars.lr = 1e-4;
    std::vector<double> updates, copies, ratios;
    for (int i = 0; i < FLAGS_warmup + FLAGS_steps; ++i) {
      const double update = Seconds([&] {
        solver->BeginStep(scalars);
        solver->Update({{0, count}});
        device->compute_stream()->Synchronize();
      });
      ++scalars.update;
      const double copy =
          Seconds([&] { CopyBytes(device.get(), from.get(), to.get(), bytes / 2); });
      if (i == 0) device->Settle();
      if (i < FLAGS_warmup) continue;
      updates.push_back(update);
      copies.push_back(copy);
      ratios.push_back(update / copy);
    }
    Report(net, bytes, count, Median(updates), Median(copies), Median(ratios));
    return 0;
  }

 private:
  static void FillGradients(ParameterStore* store) {
    const Tensor& gradient = store->gradient();
    Random random(1, 1);
    if (!store->device()->shares_host_memory()) {
      for (const PoolEntry& entry : store->layout().entries()) {
        std::vector<float> values(entry.shape.count());
        for (float& value : values) value = random.Uniform() * 1e-3f;
        store->Import(values, entry, gradient);
      }
      return;
    }
    for (int64_t i = 0; i < store->layout().count(); ++i) {
      const float value = random.Uniform() * 1e-3f;
      if (gradient.desc.dtype == DType::kFP32) {
        gradient.as<float>()[i] = value;
      } else {
        gradient.as<uint16_t>()[i] = ToBF16(value);
      }
    }
  }

  static void Report(const Net& net, int64_t bytes, int64_t count, double update, double copy,
                     double ratio) {
    const double moved = static_cast<double>(bytes);
    std::printf("%s, %s, %s: %s elements of the pool, %s (%lld bytes each)\n", net.name().c_str(),
                FLAGS_solver.c_str(), FLAGS_compute.c_str(), WithCommas(count).c_str(),
                HumanBytes(moved).c_str(), static_cast<long long>(bytes / count));
    std::printf("update %.2f ms, %.1f GB/s; copy of as many bytes %.2f ms, %.1f GB/s\n",
                update * 1e3, moved / update / 1e9, copy * 1e3, moved / copy / 1e9);
    std::printf("update / copy %.3f (medians of %d in turns)\n", ratio, FLAGS_steps);
    WriteJson({{"net", net.name()},
               {"solver", FLAGS_solver},
               {"compute", FLAGS_compute},
               {"parameters", count},
               {"bytes", bytes},
               {"update_ms", update * 1e3},
               {"copy_ms", copy * 1e3},
               {"ratio", ratio}});
  }
};

GF_REGISTER(CommandRegistry, "update", UpdateBenchmark);

}  // namespace
}  // namespace gf
