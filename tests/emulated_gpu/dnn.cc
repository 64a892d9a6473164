// The part of cuDNN's graph interface that convolutions need, on the emulated GPU: forward and
// backward convolutions in two dimensions, then pointwise additions and ReLUs. Two engines are
// proposed: one that says of itself that its results are not reproducible and must not be taken,
// and one that computes by the definition.

#include <cudnn.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <memory>
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

constexpr int64_t kWorkspace = 1024;

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
      *count = 2;
      for (int64_t i = 0; i < std::min<int64_t>(wanted, 2); ++i) {
        Descriptor* const config = Of(static_cast<cudnnBackendDescriptor_t*>(values)[i]).get();
        config->others = own->others;  // with the graph
        config->reproducible = i == 1;
        config->finalized = true;
      }
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      Descriptor* const engine = Of(*static_cast<cudnnBackendDescriptor_t*>(values)).get();
      engine->reproducible = own->reproducible;
      engine->finalized = true;
      *count = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *count = own->reproducible ? 0 : 1;
      if (*count > 0 && wanted > 0) {
        *static_cast<cudnnBackendNumericalNote_t*>(values) = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
      }
      return CUDNN_STATUS_SUCCESS;
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
  CHECK(config.reproducible) << "this engine must not be taken";
  const Descriptor& graph = config.Other(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  std::vector<std::shared_ptr<DnnOperation>> operations;
  for (const Shared& d : graph.others.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    operations.push_back(gf::emulated::NewOperation(*d));
  }
  const auto workspace = Of(pack)->One<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto execute = [operations, workspace, memory = *Of(pack)] {
    std::memset(workspace, 0xee, kWorkspace);
    gf::emulated::DoOperations(operations, memory);
  };
  gf::emulated::Enqueue(handle->stream, &gf::emulated::Counts::cudnn, execute);
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
