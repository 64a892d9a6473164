// The part of cuDNN's graph interface that convolutions need, on the emulated GPU: forward and
// backward convolutions in two dimensions, then pointwise additions and ReLUs, or sums. Two engines
// are proposed: one that says of itself that its results are not reproducible and must not be
// taken, and one that computes by the definition. With GF_EMULATED_WRONG_ENGINE=skips (or halves) a
// third is proposed before it, which says nothing of itself and does not write (or halves) the last
// ninth of the results.

#include <cudnn.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulated_gpu/dnn_operations.h"
#include "tests/emulated_gpu/streams.h"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

using gf::emulated::Descriptor;
using gf::emulated::DnnOperation;
using gf::emulated::Shared;

const Shared& Of(cudnnBackendDescriptor_t d) { return *static_cast<Shared*>(d); }

size_t SizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    default:
      return 4;  // FLOAT and enumerations
  }
}

constexpr int64_t kWorkspace = 1024, kWorkspaceAlignment = 256;

// Whether memory is aligned as the tensors of an operation promise.
bool Aligned(const Descriptor& operation, const std::map<int64_t, void*>& memory) {
  for (const auto& [name, others] : operation.others) {
    for (const Shared& tensor : others) {
      if (tensor->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
      const auto data = memory.find(tensor->One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
      const auto alignment = tensor->One<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
      if (data == memory.end()) continue;  // virtual
      if (reinterpret_cast<uintptr_t>(data->second) % alignment != 0) return false;
    }
  }
  return true;
}

// The proposed engines, in the order of proposals.
enum EngineNumber : int64_t { kUnreproducible = 7, kWrong = 8, kByDefinition = 9 };

std::vector<int64_t> ProposedEngines() {
  if (std::getenv("GF_EMULATED_WRONG_ENGINE") == nullptr) return {kUnreproducible, kByDefinition};
  return {kUnreproducible, kWrong, kByDefinition};
}

// The factor by which an engine multiplies the last ninth of its results. No value: the engine does
// not write that ninth.
std::optional<float> LastNinth(int64_t engine) {
  if (engine != kWrong) return 1.f;
  const std::string how = std::getenv("GF_EMULATED_WRONG_ENGINE");
  return how == "halves" ? std::optional(0.5f) : std::nullopt;
}

// What engines say of themselves: tensor cores for types of 16 bits, but not for groups with an
// epilogue. `engine` knows its graph.
bool HasTensorCores(const Descriptor& engine) {
  const auto& operations =
      engine.Other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).others.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const auto convolution = gf::emulated::NewOperation(*operations[0]);
  return convolution->OfHalves() && (operations.size() == 1 || !convolution->Grouped());
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "an error of the emulated cuDNN"; }
void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (bytes > 0) *message = '\0';
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* d) {
  *d = new Shared(std::make_shared<Descriptor>(Descriptor{type, {}, {}}));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  delete static_cast<Shared*>(d);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  if (Of(d)->finalized) return CUDNN_STATUS_BAD_PARAM;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::vector<Shared> others;
    for (int64_t i = 0; i < count; ++i) {
      others.push_back(Of(static_cast<const cudnnBackendDescriptor_t*>(values)[i]));
      if (!others.back()->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    }
    Of(d)->others[name] = others;
    return CUDNN_STATUS_SUCCESS;
  }
  const char* const data = static_cast<const char*>(values);
  Of(d)->attributes[name].assign(data, data + count * SizeOf(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  Descriptor* const own = Of(d).get();
  if (own->finalized) return CUDNN_STATUS_BAD_PARAM;
  const auto operation = gf::emulated::NewOperation(*own);
  if (operation != nullptr && !operation->Fits()) return CUDNN_STATUS_BAD_PARAM;
  own->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t* count,
                                       void* values) {
  Descriptor* const own = Of(d).get();
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const std::vector<int64_t> engines = ProposedEngines();
      *count = static_cast<int64_t>(engines.size());
      for (int64_t i = 0; i < std::min(wanted, *count); ++i) {
        Descriptor* const config = Of(static_cast<cudnnBackendDescriptor_t*>(values)[i]).get();
        config->others = own->others;  // with the graph
        config->engine = engines[i];
        config->finalized = true;
      }
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      Descriptor* const engine = Of(*static_cast<cudnnBackendDescriptor_t*>(values)).get();
      engine->others = own->others;
      engine->engine = own->engine;
      engine->finalized = true;
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      *count = 1;
      *static_cast<int64_t*>(values) = own->engine;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      std::vector<cudnnBackendNumericalNote_t> notes;
      if (own->engine == kUnreproducible) notes.push_back(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
      if (HasTensorCores(*own)) notes.push_back(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
      *count = static_cast<int64_t>(notes.size());
      CHECK_LE(*count, wanted);
      std::copy(notes.begin(), notes.end(), static_cast<cudnnBackendNumericalNote_t*>(values));
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *count = 1;
      *static_cast<int64_t*>(values) = kWorkspace;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (!Of(plan)->finalized || !Of(pack)->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  const Descriptor& config = Of(plan)->Other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  CHECK_NE(config.engine, kUnreproducible) << "this engine must not be taken";
  const Descriptor& graph = config.Other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  const auto workspace = Of(pack)->One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0) {
    return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
  }
  const std::map<int64_t, void*> data = gf::emulated::DataOf(*Of(pack));
  std::vector<std::shared_ptr<DnnOperation>> operations;
  for (const Shared& d : graph.others.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (!Aligned(*d, data)) return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    operations.push_back(gf::emulated::NewOperation(*d));
  }
  const std::optional<float> last_ninth = LastNinth(config.engine);
  const auto execute = [operations, workspace, last_ninth, memory = *Of(pack)] {
    std::memset(workspace, 0xee, kWorkspace);
    gf::emulated::DoOperations(operations, memory, last_ninth);
  };
  gf::emulated::Enqueue(handle->stream, &gf::emulated::Counts::cudnn, execute);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
