#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layers/kernel.h"
#include "models/arena.h"
#include "models/fuse_batch_norms.h"
#include "models/net.h"

namespace gf {

// A blob of the compiled net.
struct CompiledBlob {
  std::string name;
  TensorDesc desc;
  int producer = -1;
  std::vector<int> readers;     // operations, once per reading bottom
  bool needs_gradient = false;  // it depends on trained parameters
  bool keep = false;            // whether it is readable after the pass
  bool label_values = false;    // it holds labels of the data as numbers
  int buffer = -1;
  // If the blob is recomputed in the backward pass: its buffer then, and the operation before which
  // that happens (the first one to read it). Otherwise -1.
  int recomputed_buffer = -1, recomputed_at = -1;
  // Buffers of the gradients that the readers produce, in the order of production.
  std::vector<int> gradients;
};

// A parameter of an operation.
struct CompiledParameter {
  std::string name;     // in the pools (models/parameter_names.h)
  bool owned = true;    // false: shared, and another operation is its owner
  bool frozen = false;  // it keeps its value: it lies in the store's frozen pools
  int entry = -1;       // of the layout of its pools
  // The buffer of its gradient; -1: Backward writes into the gradient pool, or nothing
  // (KernelSetup::skips_parameter_diffs).
  int gradient = -1;
  // Shared with operations that run backward before: adds the buffer to the gradient pool.
  std::unique_ptr<Kernel> sum;
  KernelArgs sum_args;
};

// An operation: a layer with its kernel, and the memory that it reads and writes.
struct CompiledOp {
  std::unique_ptr<Layer> layer;
  int layer_index = 0;       // GraphNode::index
  std::string merged_scale;  // GraphNode::merged_scale
  std::unique_ptr<Kernel> kernel;
  KernelSetup setup;
  std::vector<int> bottoms, tops;  // blobs
  std::vector<CompiledParameter> parameters;
  std::vector<int> state_entries;
  bool backward = false;
  std::vector<int> bottom_gradients;  // buffers; -1 if not needed
  int saved = -1, forward_scratch = -1, backward_scratch = -1;
  // Per top: a kernel that adds up the gradients first, or null if the operation's kernel does it.
  std::vector<std::unique_ptr<Kernel>> gradient_sums;
  std::vector<KernelArgs> gradient_sum_args;
  std::vector<int> recompute;  // operations whose tops[0] is recomputed before Backward
  KernelArgs forward_args, backward_args, recompute_args;
};

// The compiled net: layers created, layouts agreed, lifetimes known, memory placed.
struct CompiledNet {
  std::vector<CompiledBlob> blobs;
  std::vector<CompiledOp> ops;
  std::vector<Unfused> unfused;
  Arena memory;
  std::shared_ptr<void> arena;  // null: the net is plan_only
  std::shared_ptr<ParameterStore> parameters;
  const void* bound_weights = nullptr;  // data of the compute pool that operations read
  int logits = -1;           // blob of the outputs that labels are compared with; -1: none
  std::vector<int> scalars;  // blobs with one number: losses and accuracies

  // The address of a buffer of `memory`; null for -1.
  char* At(int buffer) const {
    return buffer < 0 ? nullptr : static_cast<char*>(arena.get()) + memory.offset(buffer);
  }
};

// Compiles a net. Throws as the constructor of Net does.
CompiledNet CompileNet(const NetSource& source, const NetOptions& options, Device* device);

// The step at which operation i of n runs backward, and the operation that runs at
// a backward step: the function is its own inverse. Operation i runs forward at step i.
inline int BackwardTime(int i, int n) { return 2 * n - 1 - i; }

// Finds the operations that run backward: they have trained parameters or a bottom that needs a
// gradient, and a loss depends on them (models/gradients.cc).
void FindGradients(Phase phase, CompiledNet* net);

// For each blob, whether it depends on trained parameters other than the entries `ended`, which are
// sorted (models/gradients.cc).
std::vector<bool> BlobsThatNeedGradients(const CompiledNet& net, const std::vector<int>& ended);

// The blob of the outputs that labels of this type are compared with: what the last loss of them
// (or Softmax) reads; in a deploy net without such a loss, values that no layer reads, or what a
// Sigmoid at the end reads. -1: none. Operations and readers are known (models/outputs.cc).
int FindOutputs(const CompiledNet& net, LabelConfig::Type labels);

// Whether the operation passes a gradient to its bottom with this number.
bool Propagates(const CompiledNet& net, const CompiledOp& op, size_t bottom);

// The entry of a parameter in the pools of another net of the job (models/net_parameters.cc).
// Throws UserError if there is none of this name and shape.
const PoolEntry& SharedEntry(const ParameterStore& store, const Layer& layer,
                             const std::string& name, const Shape& shape);

// Whether training changes a parameter of this operation.
bool Trains(const CompiledOp& op);

// Creates the pools, or finds this net's parameters in the pools of options.parameters.
void BuildParameters(const NetOptions& options, Device* device, CompiledNet* net);

// Points the arguments of all operations to the parameters' present pools. Not for plan_only.
void BindParameters(CompiledNet* net);

// Chooses buffers and lifetimes for all memory of `net` and places the buffers
// (models/lifetimes.cc). Unless plan_only, allocates the arena and points the arguments of all
// operations to it.
void PlanMemory(const NetOptions& options, Device* device, CompiledNet* net);

}  // namespace gf
