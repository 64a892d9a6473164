#include "solvers/checkpoint/pool_file.h"

#include <cmath>
#include <cstring>
#include <set>

#include "core/config/name_pattern.h"
#include "core/error.h"
#include "core/printable.h"

namespace gf {
namespace {

constexpr char kTracked[] = ".num_batches_tracked";
constexpr char kMean[] = ".running_mean";
constexpr char kVariance[] = ".running_var";
constexpr char kTrainedWeights[] = "weights/";

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// "bn1" of the entry "bn1.running_mean"; "" of another one.
std::string LayerOfMean(const std::string& name) {
  return EndsWith(name, kMean) ? name.substr(0, name.size() - (sizeof(kMean) - 1)) : "";
}

// Keeps the number of batches that statistics are from which training does not change.
void TakeTracked(const SafetensorsReader& file, const PoolEntry& entry, ParameterStore* store) {
  const std::string layer = LayerOfMean(entry.name);
  if (layer.empty() || !entry.fixed) return;
  const SafetensorsEntry* const tracked = file.Find(layer + kTracked);
  if (tracked == nullptr || tracked->dtype != "I64" || tracked->count() != 1) return;
  int64_t batches = 0;
  const std::vector<char> bytes = file.ReadBytes(*tracked);
  if (bytes.size() != sizeof(batches)) return;
  std::memcpy(&batches, bytes.data(), sizeof(batches));
  if (batches >= 0) store->SetTrackedBatches(layer, batches);
}

// Fills the pools with tensors of the file, which are there and have the right shapes.
void Take(const SafetensorsReader& file, const std::vector<PoolTensor>& tensors, bool learned,
          ParameterStore* store) {
  for (const PoolTensor& tensor : tensors) {
    const std::vector<float> values = file.ReadFloats(*file.Find(tensor.name));
    if (learned) CheckValues(file.path(), tensor.name, values);
    store->Import(values, *tensor.entry, tensor.pool);
    TakeTracked(file, *tensor.entry, store);
  }
}

}  // namespace

std::string SomeNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i)
    text += (i ? ", " : "") + Excerpt(names[i]);
  if (names.size() > kShown) text += StrCat(", and ", names.size() - kShown, " more");
  return text;
}

void CheckPoolFile(const SafetensorsReader& file, const std::vector<PoolTensor>& tensors) {
  std::vector<std::string> missing, unexpected, different;
  std::set<std::string> known;
  for (const PoolTensor& tensor : tensors) {
    known.insert(tensor.name);
    const SafetensorsEntry* entry = file.Find(tensor.name);
    if (entry == nullptr) {
      missing.push_back(tensor.name);
    } else if (entry->shape != tensor.entry->shape) {
      different.push_back(StrCat(tensor.name, " (file ", Excerpt(entry->shape.ToString(), 60),
                                 ", net ", tensor.entry->shape.ToString(), ")"));
    }
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    if (known.count(entry.name) == 0 && !EndsWith(entry.name, kTracked)) {
      unexpected.push_back(entry.name);
    }
  }
  if (missing.empty() && unexpected.empty() && different.empty()) return;
  std::string what;
  const auto add = [&](const std::vector<std::string>& names, const char* kind) {
    if (names.empty()) return;
    what += StrCat(what.empty() ? "" : "; ", names.size(), " ", kind, ": ", SomeNames(names));
  };
  add(different, "of another shape");
  add(missing, "missing in the file");
  add(unexpected, "that the net does not have");
  ThrowUserError(file.path(), ": these parameters do not fit the net: ", what,
                 ". Use the net that wrote the file, or a file of this net");
}

void CheckValues(const std::string& path, const std::string& name,
                 const std::vector<float>& values) {
  const bool variance = EndsWith(name, kVariance);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && !(variance && values[i] < 0)) continue;
    ThrowUserError(path, ": ", name, "[", i, "] is ", values[i], ", expected ",
                   variance ? "a variance, 0 or more" : "a finite number",
                   ": the file is damaged, or was written by training that had diverged");
  }
}

std::vector<PoolTensor> WeightTensors(const ParameterStore& store) {
  std::vector<PoolTensor> tensors;
  for (const bool frozen : {false, true}) {
    const ParameterStore::Pools pools = store.PoolsOf(frozen);
    for (const PoolEntry& entry : pools.layout.entries()) {
      tensors.push_back({entry.name, &entry, pools.master});
    }
  }
  for (const PoolEntry& entry : store.state_layout().entries()) {
    tensors.push_back({entry.name, &entry, store.states()});
  }
  return tensors;
}

std::vector<PoolTensor> OptimizerTensors(const ParameterStore& store, const Solver& solver,
                                         bool trained_weights) {
  std::vector<PoolTensor> tensors;
  for (const auto& state : solver.State()) {
    for (const PoolEntry& entry : store.layout().entries()) {
      tensors.push_back({state.first + "/" + entry.name, &entry, state.second});
    }
  }
  if (!trained_weights) return tensors;
  const auto add = [&](const PoolLayout& layout, const Tensor& pool) {
    for (const PoolEntry& entry : layout.entries()) {
      tensors.push_back({kTrainedWeights + entry.name, &entry, pool});
    }
  };
  add(store.layout(), store.master());
  add(store.state_layout(), store.states());
  return tensors;
}

bool HasTrainedWeights(const SafetensorsReader& file) {
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name.rfind(kTrainedWeights, 0) == 0) return true;
  }
  return false;
}

FileDigest WritePoolFile(const std::string& path, const ParameterStore& store,
                         const std::vector<PoolTensor>& tensors, int64_t steps) {
  std::vector<SafetensorsEntry> entries;
  std::vector<int64_t> tracked;
  for (const PoolTensor& tensor : tensors) {
    entries.push_back({tensor.name, "F32", tensor.entry->shape});
  }
  for (const PoolTensor& tensor : tensors) {
    const std::string layer = LayerOfMean(tensor.name);
    if (steps < 0 || layer.empty()) continue;
    entries.push_back({layer + kTracked, "I64", Shape()});
    tracked.push_back(tensor.entry->fixed ? store.tracked_batches(layer) : steps);
  }
  SafetensorsWriter file(path, std::move(entries), {{"format", "pt"}});
  for (const PoolTensor& tensor : tensors) {
    const std::vector<float> values = store.Export(tensor.pool, *tensor.entry);
    file.Write(values.data(), values.size() * sizeof(float));
  }
  for (const int64_t batches : tracked) file.Write(&batches, sizeof(batches));
  return file.Finish();
}

void ReadPoolFile(const std::string& path, const std::vector<PoolTensor>& tensors,
                  ParameterStore* store, bool learned) {
  const SafetensorsReader file(path);
  CheckPoolFile(file, tensors);
  Take(file, tensors, learned, store);
}

void LoadWeights(const std::string& path, ParameterStore* store) {
  ReadPoolFile(path, WeightTensors(*store), store, /*learned=*/true);
  store->SyncCompute();
}

std::string SkipAdvice(const std::string& tensor) {
  return StrCat(", or leave its initial values with --weights_skip=\"",
                tensor.substr(0, tensor.rfind('.')), ".*\"");
}

WeightsReport LoadMatchingWeights(const std::string& path, const std::vector<std::string>& skip,
                                  ParameterStore* store) {
  const SafetensorsReader file(path);
  WeightsReport report;
  std::set<std::string> known;
  std::vector<PoolTensor> taken;
  for (const PoolTensor& tensor : WeightTensors(*store)) {
    known.insert(tensor.name);
    const SafetensorsEntry* const entry = file.Find(tensor.name);
    if (FitsOne(skip, tensor.name)) {
      report.skipped.push_back(tensor.name);
    } else if (entry == nullptr) {
      report.missing.push_back(tensor.name);
    } else if (entry->shape != tensor.entry->shape) {
      ThrowUserError(path, ": ", tensor.name, " has the shape ",
                     Excerpt(entry->shape.ToString(), 60), " in the file, expected ",
                     tensor.entry->shape.ToString(), " in the net: use the net that wrote the file",
                     SkipAdvice(tensor.name));
    } else {
      report.loaded.push_back(tensor.name);
      taken.push_back(tensor);
    }
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    if (known.count(entry.name) == 0 && !EndsWith(entry.name, kTracked)) {
      report.unused.push_back(entry.name);
    }
  }
  if (taken.empty() && report.missing.empty()) {
    ThrowUserError(path,
                   ": --weights_skip leaves nothing to load: leave out --weights, or skip "
                   "fewer tensors");
  }
  if (taken.empty()) {
    ThrowUserError(path, ": none of its tensors is in the net; the file has ",
                   SomeNames(report.unused), ", the net ", SomeNames(report.missing),
                   ": tensors are matched by their names");
  }
  Take(file, taken, /*learned=*/true, store);
  store->SyncCompute();
  return report;
}

}  // namespace gf
