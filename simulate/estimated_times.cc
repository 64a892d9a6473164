#include <map>

#include "core/error.h"
#include "core/estimate/price.h"
#include "models/job_net.h"
#include "simulate/net_model.h"
#include "solvers/estimate/step_estimate.h"

namespace gf {

ComputeTimes EstimatedTimes(const NetModel& net, const NetSource& source, const Shape& image,
                            const JobConfig& config, const Gpu& gpu, const UpdateTraffic& traffic,
                            Phase phase) {
  NetOptions options;
  options.phase = phase;
  options.compute = ToDType(config.compute_type());
  options.batch_size = net.batch;
  options.labels = LabelsOf(config, phase);
  options.image_shape = image;
  options.recompute = config.recompute();
  options.allow_tf32 = config.allow_tf32();
  options.freeze.assign(config.freeze().begin(), config.freeze().end());
  const StepEstimate step = EstimateStep(source, options, config.solver(), gpu);
  std::map<std::string, size_t> layers;
  for (size_t i = 0; i < net.layers.size(); ++i) layers[net.layers[i].name] = i;
  ComputeTimes times;
  times.forward.resize(net.layers.size());
  times.backward.resize(net.layers.size());
  for (const Operation& operation : step.operations) {
    if (operation.kind == OperationKind::kUpdate) continue;
    const double seconds = AssumedTime(operation, gpu).total();
    const auto found = layers.find(operation.layer);
    if (found == layers.end()) {
      times.other += seconds;
    } else {
      (operation.backward ? times.backward : times.forward)[found->second] += seconds;
    }
  }
  // Priced as in steps with communication, bucket by bucket.
  times.update =
      static_cast<double>(net.layout.parameter_count()) * traffic.update / MemoryRateOf(gpu);
  return times;
}

double MemoryRateOf(const Gpu& gpu) { return gpu.bytes_per_s * gpu.memory_share; }

double ProductRateOf(const Gpu& gpu, ComputeType compute) {
  const Arithmetic arithmetic = compute == FP32 ? Arithmetic::kFP32 : Arithmetic::kTF32;
  return FlopsPerSecond(gpu, arithmetic) * gpu.arithmetic_share;
}

}  // namespace gf
