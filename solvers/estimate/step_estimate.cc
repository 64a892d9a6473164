#include "solvers/estimate/step_estimate.h"

#include "core/estimate/estimate_device.h"
#include "solvers/solver.h"

namespace gf {
namespace {

// Assigns conversions and sums of gradients to the layer that needs them, which follows them in the
// list. The copy of the loss to the host likewise counts for the gradient of the loss.
void GiveToLayers(std::vector<Operation>* operations) {
  const Operation* next = nullptr;
  for (auto operation = operations->rbegin(); operation != operations->rend(); ++operation) {
    if (operation->kind == OperationKind::kUpdate) continue;
    if (!operation->layer.empty()) {
      next = &*operation;
    } else if (next != nullptr) {
      operation->layer = next->layer;
      operation->backward = next->backward;
    }
  }
}

}  // namespace

StepEstimate EstimateStep(const NetSource& source, const NetOptions& options,
                          const SolverConfig& solver_config, const Gpu& gpu,
                          const std::string& solver_setting) {
  EstimateDevice device(gpu);
  Net net(source, options, &device);
  Batch batch;  // without pixels, which nothing reads
  batch.images.desc = {net.input_shape(), DType::kUINT8, Layout()};
  batch.labels.assign(net.input_shape()[0], 0);
  device.Take();  // drops the operations of building the net
  net.Forward(batch, 0);
  if (options.phase == TRAIN) {
    net.Backward(1, nullptr);
    ParameterStore* const store = net.parameters().get();
    const auto solver = NewSolver(solver_setting, solver_config.type(), solver_config, store);
    solver->BeginStep({});
    solver->Update({{0, store->layout().count()}});
  }
  StepEstimate estimate;
  estimate.net = net.name();
  estimate.gpu = gpu;
  estimate.batch = net.input_shape()[0];
  estimate.parameters = net.parameters()->layout().parameter_count();
  estimate.memory_bytes = device.PeakBytes();
  estimate.operations = device.Take();
  GiveToLayers(&estimate.operations);
  estimate.unfused = net.Unfused();
  return estimate;
}

}  // namespace gf
