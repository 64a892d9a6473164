#include "simulate/round_end.h"

#include "comm/periodic/round_schedule.h"

namespace gf {
namespace {

// Memory traffic per weight of the difference: anchor and weight are read, the difference is
// written.
constexpr double kSubtractBytes = 12;
// Of the outer step: difference and anchor are read, anchor and weight are written; with momentum
// the velocity is read and written.
constexpr double kStepBytes = 16, kMomentumBytes = 8;

}  // namespace

SimulatedStep SimulateRoundEnd(const SimulatedSetup& setup, const CommConfig& config, DType wire,
                               Pricer* pricer, bool spans) {
  const PoolLayout& layout = *setup.layout;
  const DType on_wire = wire == DType::kFP32 ? DType::kFP32 : DType::kBF16;
  const CommConfig exchange = ExchangeOfDifferences(config, wire);
  const int world = pricer->network().world();
  SimulatedSetup end = setup;
  end.wire_bytes = static_cast<int64_t>(SizeOf(on_wire));
  end.load_s = 0;
  end.compute.data = end.compute.forward = 0;
  end.compute.batches = 1;
  for (StepCompute::Piece& piece : end.compute.backward) {
    int64_t count = 0;
    for (int entry : piece.entries) count += layout.entries()[entry].count;
    piece.seconds = static_cast<double>(count) * kSubtractBytes / setup.memory_bytes_per_s;
  }
  end.traffic.merge = 0;
  end.traffic.update = kStepBytes + (config.periodic().outer_momentum() > 0 ? kMomentumBytes : 0);
  const BucketSchedule schedule = ScheduleOf(layout, exchange, on_wire, world, DensityOf(exchange));
  return SimulateStep(end, schedule, std::vector<double>(world, 1.0), pricer, spans);
}

}  // namespace gf
