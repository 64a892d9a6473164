#include "layers/cuda/cudnn/graph.h"

#include <algorithm>
#include <utility>

namespace gf {
namespace {

using Notes = std::vector<cudnnBackendNumericalNote_t>;

// The engine of a configuration.
struct Engine {
  int64_t number = 0;
  Notes notes;
};

Engine EngineOf(const CudnnDescriptor& config) {
  Engine engine;
  const CudnnDescriptor descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = descriptor.get();
  int64_t count = 0;
  GF_CUDNN(cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw));
  GF_CUDNN(cudnnBackendGetAttribute(raw, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                    &count, &engine.number));
  Notes* const notes = &engine.notes;
  notes->resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  GF_CUDNN(cudnnBackendGetAttribute(raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                    CUDNN_TYPE_NUMERICAL_NOTE, static_cast<int64_t>(notes->size()),
                                    &count, notes->data()));
  notes->resize(std::min<size_t>(notes->size(), count));
  return engine;
}

bool Has(const Notes& notes, cudnnBackendNumericalNote_t note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

bool Allowed(const Notes& notes, const CudnnLimits& limits) {
  if (Has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (Has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  return limits.tensor_cores || (!Has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) &&
                                 !Has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
}

// The configurations that cuDNN proposes for a graph.
std::vector<CudnnDescriptor> Configurations(const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t mode,
                                            const CudnnTarget& target) {
  std::vector<CudnnDescriptor> configs;
  CudnnDescriptor heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.Set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  target.SetOnHeuristic(&heuristic);
  if (!heuristic.TryFinalize()) return configs;
  int64_t count = 0;
  GF_CUDNN(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raw.push_back(configs.back().get());
  }
  if (count == 0) return configs;
  GF_CUDNN(cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &count, raw.data()));
  while (static_cast<int64_t>(configs.size()) > count) configs.pop_back();
  return configs;
}

// Returns null if the engine does not support the operation or needs more memory than allowed.
std::shared_ptr<CudnnPlan> NewPlan(CudnnDescriptor config, const CudnnLimits& limits,
                                   const CudnnTarget& target) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  target.SetOnPlan(&plan);
  plan.Set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (!plan.TryFinalize()) return nullptr;
  int64_t bytes = 0, count = 0;
  GF_CUDNN(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                    CUDNN_TYPE_INT64, 1, &count, &bytes));
  if (bytes > limits.most_workspace) return nullptr;
  return std::make_shared<CudnnPlan>(CudnnPlan{std::move(config), std::move(plan), bytes});
}

}  // namespace

CudnnDescriptor CudnnTensor(int64_t id, DType type, const std::vector<int64_t>& dims,
                            const std::vector<int64_t>& strides, bool is_virtual) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.Set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  tensor.Set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, ToCudnn(type));
  tensor.Set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, dims);
  tensor.Set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  tensor.Set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnTensorAlignment);
  if (is_virtual) tensor.Set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  tensor.Finalize();
  return tensor;
}

std::vector<std::shared_ptr<CudnnPlan>> FindPlans(
    const std::vector<const CudnnDescriptor*>& operations, const CudnnLimits& limits,
    const CudnnTarget& target) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor* operation : operations) raw.push_back(operation->get());
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.Set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, raw);
  target.SetOnGraph(&graph);
  std::vector<std::shared_ptr<CudnnPlan>> plans;
  if (!graph.TryFinalize()) return plans;
  bool lacks_tensor_cores = limits.tensor_cores;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (CudnnDescriptor& config : Configurations(graph, mode, target)) {
      const bool enough = static_cast<int>(plans.size()) >= limits.most_plans;
      if (enough && !lacks_tensor_cores) return plans;
      const Engine engine = EngineOf(config);
      const bool tensor_cores = Has(engine.notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
      if (!Allowed(engine.notes, limits) || (enough && !tensor_cores)) continue;
      if (auto plan = NewPlan(std::move(config), limits, target)) {
        plan->tensor_cores = tensor_cores;
        plan->engine = engine.number;
        lacks_tensor_cores = lacks_tensor_cores && !tensor_cores;
        plans.push_back(std::move(plan));
      }
    }
  }
  return plans;
}

bool ExecutePlan(const CudnnPlan& plan, const std::vector<int64_t>& ids,
                 const std::vector<void*>& memory, void* workspace) {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, memory);
  pack.Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.Finalize();
  return cudnnBackendExecute(CudnnHandle(), plan.plan.get(), pack.get()) == CUDNN_STATUS_SUCCESS;
}

}  // namespace gf
