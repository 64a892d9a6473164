#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/pool_file.h"

namespace gf {

// The names of the pools of gradients that were not sent, and of their velocities.
constexpr char kResidual[] = "residual", kVelocity[] = "velocity";

// Pools with the names that they have in files (GradientFlow::State).
using NamedPools = std::vector<std::pair<std::string, Tensor>>;

// The tensors of pools in a rank's file: "residual/conv1.weight".
std::vector<PoolTensor> TensorsOf(const ParameterStore& store, const NamedPools& pools);

// Whether a pool of this name is one of the solver's, which PERIODIC saves for every rank.
bool IsLocal(const std::string& pool);

// The pools with these names.
NamedPools Select(const NamedPools& pools, const std::set<std::string>& names);

// Checks the names and shapes in the files of all ranks and returns their pools: the same ones in
// every file, and a residual or a solver's pool among them. Throws UserError.
std::set<std::string> CheckResidualFiles(const std::string& folder, int ranks,
                                         const ParameterStore& store);

// Says which pools the checkpoint (`saved`) and the flow do not share.
void NoteDifferences(std::set<std::string> saved, const NamedPools& pools,
                     const std::function<void(const std::string&)>& note);

// Reads pools from the file of a rank, or their means over the files of `ranks` ranks. The files
// were checked. Throws UserError for values that are not finite.
void ReadPools(const std::string& path, const NamedPools& pools, ParameterStore* store);
void ReadMeans(const std::string& folder, int ranks, const NamedPools& pools,
               ParameterStore* store);

}  // namespace gf
