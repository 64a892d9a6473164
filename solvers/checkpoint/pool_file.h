#pragma once

#include <string>
#include <vector>

#include "core/file_digest.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/safetensors.h"
#include "solvers/checkpoint/weights_report.h"
#include "solvers/solver.h"

namespace gf {

// A tensor of a pool under the name that it has in files. `entry` points into the store.
struct PoolTensor {
  std::string name;
  const PoolEntry* entry = nullptr;
  Tensor pool;
};

// What a weights file holds: master weights and states, "conv1.weight", "bn1.running_mean".
std::vector<PoolTensor> WeightTensors(const ParameterStore& store);
// What an optimizer file holds: the solver's pools, "momentum/conv1.weight". With `trained_weights`
// also the trained weights and states, "weights/conv1.weight": the weights file then holds their
// average.
std::vector<PoolTensor> OptimizerTensors(const ParameterStore& store, const Solver& solver,
                                         bool trained_weights);
// Whether an optimizer file holds trained weights.
bool HasTrainedWeights(const SafetensorsReader& file);

// Writes tensors as safetensors, FP32 in plain order. With steps >= 0 each batch norm also
// gets "<layer>.num_batches_tracked", so that torchvision's strict loading is content: the steps,
// or of fixed statistics the number in the file that they were loaded from.
FileDigest WritePoolFile(const std::string& path, const ParameterStore& store,
                         const std::vector<PoolTensor>& tensors, int64_t steps);

// Reads them back. Names and shapes are checked before the first pool changes (CheckPoolFile).
// `learned`: weights or an optimizer, whose values CheckValues accepts; residuals may hold any.
void ReadPoolFile(const std::string& path, const std::vector<PoolTensor>& tensors,
                  ParameterStore* store, bool learned);

// Throws UserError that names the parameters that are missing, unexpected or of another shape.
void CheckPoolFile(const SafetensorsReader& file, const std::vector<PoolTensor>& tensors);

// Throws UserError that names the first value of a tensor that is not finite, or a negative
// variance. `name`: as WeightTensors has it.
void CheckValues(const std::string& path, const std::string& name,
                 const std::vector<float>& values);

// The first few names, and how many there are more: for messages.
std::string SomeNames(const std::vector<std::string>& names);

// Starts a net from a safetensors file: reads it, writes the compute pool, renews the version.
void LoadWeights(const std::string& path, ParameterStore* store);

// Loads the tensors that the net and the file both have, except those that fit a pattern of `skip`.
// Throws UserError if there are none, or if one has another shape.
WeightsReport LoadMatchingWeights(const std::string& path, const std::vector<std::string>& skip,
                                  ParameterStore* store);

// The end of a message about a tensor of another shape, where it may be left out.
std::string SkipAdvice(const std::string& tensor);

}  // namespace gf
