#include "solvers/checkpoint/residual_file.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/error.h"
#include "core/readable.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/checkpoint/safetensors.h"

namespace gf {
namespace {

// In front of the names of a solver's pools, and of what belongs to rounds of PERIODIC.
constexpr char kLocal[] = "local_", kOuter[] = "outer_";
// More than any mode and solver have.
constexpr size_t kMostPools = 8;

// The pools of a file: "residual" of "residual/conv1.weight".
std::set<std::string> PoolsIn(const SafetensorsReader& file) {
  std::set<std::string> names;
  for (const SafetensorsEntry& entry : file.entries()) {
    const std::string name = entry.name.substr(0, entry.name.find('/'));
    const bool known =
        name == kResidual || name == kVelocity || IsLocal(name) || StartsWith(name, kOuter);
    if (known && names.size() < kMostPools) names.insert(name);
  }
  return names;
}

// Whether the pools include residuals or a solver's pool.
bool HasOwn(const std::set<std::string>& pools) {
  return pools.count(kResidual) > 0 || std::any_of(pools.begin(), pools.end(), IsLocal);
}

// "residual and velocity"
std::string Join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
  return text.empty() ? "no pool" : text;
}

std::vector<float> ReadTensor(const SafetensorsReader& file, const std::string& name) {
  std::vector<float> values = file.ReadFloats(*file.Find(name));
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    ThrowUserError(file.path(), ": ", name, "[", i, "] is ", values[i],
                   ", expected a finite number: the file is damaged; resume from another "
                   "checkpoint");
  }
  return values;
}

}  // namespace

std::vector<PoolTensor> TensorsOf(const ParameterStore& store, const NamedPools& pools) {
  std::vector<PoolTensor> tensors;
  for (const auto& [name, pool] : pools) {
    for (const PoolEntry& entry : store.layout().entries()) {
      tensors.push_back({StrCat(name, "/", entry.name), &entry, pool});
    }
  }
  return tensors;
}

bool IsLocal(const std::string& pool) { return StartsWith(pool, kLocal); }

NamedPools Select(const NamedPools& pools, const std::set<std::string>& names) {
  NamedPools selected;
  for (const auto& pool : pools) {
    if (names.count(pool.first) > 0) selected.push_back(pool);
  }
  return selected;
}

std::set<std::string> CheckResidualFiles(const std::string& folder, int ranks,
                                         const ParameterStore& store) {
  std::set<std::string> pools;
  for (int rank = 0; rank < ranks; ++rank) {
    const SafetensorsReader file(folder + "/" + ResidualFile(rank));
    const std::set<std::string> names = PoolsIn(file);
    if (rank == 0) pools = names;
    if (!HasOwn(names)) {
      ThrowUserError(file.path(), ": it holds ", Join(names), ", expected tensors \"", kResidual,
                     "/...\" of every parameter: the file is damaged; resume from another "
                     "checkpoint");
    }
    if (names != pools) {
      ThrowUserError(file.path(), ": it holds ", Join(names), ", expected ", Join(pools), " as in ",
                     ResidualFile(0),
                     ": these files are not of one checkpoint; resume from another checkpoint");
    }
    NamedPools in_file;
    for (const std::string& name : names) in_file.emplace_back(name, Tensor());
    CheckPoolFile(file, TensorsOf(store, in_file));
  }
  return pools;
}

void NoteDifferences(std::set<std::string> saved, const NamedPools& pools,
                     const std::function<void(const std::string&)>& note) {
  for (const auto& [name, pool] : pools) {
    if (saved.erase(name) > 0) continue;
    note(StrCat("the checkpoint has no ", name, ": ",
                IsLocal(name) ? "every rank starts with the optimizer's" : "it starts at 0"));
  }
  for (const std::string& name : saved) {
    note(StrCat("the checkpoint's ", name, IsLocal(name) ? " of each rank" : "",
                name == kResidual || name == kVelocity ? " of unsent gradients" : "",
                " is lost in this mode"));
  }
}

void ReadPools(const std::string& path, const NamedPools& pools, ParameterStore* store) {
  const SafetensorsReader file(path);
  for (const PoolTensor& tensor : TensorsOf(*store, pools)) {
    store->Import(ReadTensor(file, tensor.name), *tensor.entry, tensor.pool);
  }
}

void ReadMeans(const std::string& folder, int ranks, const NamedPools& pools,
               ParameterStore* store) {
  std::vector<std::unique_ptr<SafetensorsReader>> files;
  for (int rank = 0; rank < ranks; ++rank) {
    files.push_back(std::make_unique<SafetensorsReader>(folder + "/" + ResidualFile(rank)));
  }
  for (const PoolTensor& tensor : TensorsOf(*store, pools)) {
    std::vector<double> sum(tensor.entry->shape.count());
    for (const auto& file : files) {
      const std::vector<float> values = ReadTensor(*file, tensor.name);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    std::vector<float> mean(sum.size());
    for (size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / ranks);
    store->Import(mean, *tensor.entry, tensor.pool);
  }
}

}  // namespace gf
