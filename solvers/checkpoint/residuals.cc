#include "solvers/checkpoint/residuals.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/sparse/chunks.h"
#include "core/error.h"
#include "core/host_copy.h"
#include "core/readable.h"
#include "solvers/checkpoint/pool_file.h"
#include "solvers/checkpoint/pool_transfer.h"
#include "solvers/checkpoint/safetensors.h"

namespace gf {
namespace {

constexpr char kChunks[] = "important_chunks", kChunkSize[] = "chunk_size", kPool[] = "pool",
               kShared[] = "shared", kResidual[] = "residual", kVelocity[] = "velocity";
// In front of the names of a solver's pools, and of what belongs to rounds of PERIODIC.
constexpr char kLocal[] = "local_", kOuter[] = "outer_";
// More than any mode and solver have.
constexpr size_t kMostPools = 8;

using Pools = std::vector<std::pair<std::string, Tensor>>;  // GradientFlow::State

std::vector<PoolTensor> TensorsOf(const ParameterStore& store, const Pools& pools) {
  std::vector<PoolTensor> tensors;
  for (const auto& [name, pool] : pools) {
    for (const PoolEntry& entry : store.layout().entries()) {
      tensors.push_back({StrCat(name, "/", entry.name), &entry, pool});
    }
  }
  return tensors;
}

bool IsLocal(const std::string& pool) { return StartsWith(pool, kLocal); }

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

// Whether some of the pools say what was left to send, or what a solver keeps.
bool HasOwn(const std::set<std::string>& pools) {
  return pools.count(kResidual) > 0 || std::any_of(pools.begin(), pools.end(), IsLocal);
}

// "residual and velocity"
std::string Join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " and ") + name;
  return text.empty() ? "no pool" : text;
}

// Checks the names and shapes in all ranks' files and returns their pools: the same ones in every
// file, and a residual or a solver's pool among them.
std::set<std::string> CheckFiles(const std::string& folder, int ranks,
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
    Pools in_file;
    for (const std::string& name : names) in_file.emplace_back(name, Tensor());
    CheckPoolFile(file, TensorsOf(store, in_file));
  }
  return pools;
}

// Those of `pools` that are named.
Pools Select(const Pools& pools, const std::set<std::string>& names) {
  Pools selected;
  for (const auto& pool : pools) {
    if (names.count(pool.first) > 0) selected.push_back(pool);
  }
  return selected;
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

// Reads pools from a rank's file, which was checked.
void ReadPools(const std::string& path, const Pools& pools, ParameterStore* store) {
  const SafetensorsReader file(path);
  for (const PoolTensor& tensor : TensorsOf(*store, pools)) {
    store->Import(ReadTensor(file, tensor.name), *tensor.entry, tensor.pool);
  }
}

// Says which pools the checkpoint and the flow do not share.
void NoteDifferences(std::set<std::string> saved, const Pools& pools,
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

// What all ranks have alike.
FileDigest WriteShared(const std::string& path, const GradientFlow& flow,
                       const SparseConfig& config, const ParameterStore& store) {
  const std::vector<int64_t> chunks = flow.important_chunks();
  std::vector<SafetensorsEntry> entries = {
      {kChunks, "I64", Shape({static_cast<int64_t>(chunks.size())})}};
  const Tensor shared = flow.shared_state();
  if (shared.data != nullptr) entries.push_back({kShared, "F32", shared.desc.shape});
  SafetensorsWriter file(
      path, std::move(entries),
      {{kChunkSize, StrCat(config.chunk_size())}, {kPool, StrCat(store.layout().count())}});
  file.Write(chunks.data(), chunks.size() * sizeof(int64_t));
  if (shared.data != nullptr) {
    const HostCopy copy(store.device(), shared);
    file.Write(copy.tensor().data, shared.desc.bytes());
  }
  return file.Finish();
}

// The staged files of a checkpoint, written on rank 0 and by nobody else. An error is kept until
// all ranks can learn of it, and nothing is written after it.
class ResidualWriter {
 public:
  ResidualWriter(CheckpointFolder* folder, int64_t step) : folder_(folder), step_(step) {}

  template <typename Body>
  void Do(const Body& body) {
    if (error_) return;
    try {
      folder_->Stage(step_, body);
    } catch (const UserError&) {
      error_ = std::current_exception();
    }
  }
  void Rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  void Open(const std::string& name, const std::vector<PoolTensor>& tensors) {
    std::vector<SafetensorsEntry> entries;
    for (const PoolTensor& tensor : tensors) {
      entries.push_back({tensor.name, "F32", tensor.entry->shape});
    }
    Do([&](const std::string& path) {
      file_ = std::make_unique<SafetensorsWriter>(path + "/" + name, std::move(entries),
                                                  std::map<std::string, std::string>());
    });
  }
  void Write(const std::vector<float>& values) {
    Do([&](const std::string&) { file_->Write(values.data(), values.size() * sizeof(float)); });
  }
  FileDigest Finish() {
    FileDigest digest;
    Do([&](const std::string&) { digest = file_->Finish(); });
    file_.reset();
    return digest;
  }

 private:
  CheckpointFolder* const folder_;
  const int64_t step_;
  std::unique_ptr<SafetensorsWriter> file_;
  std::exception_ptr error_;
};

// The means of what `ranks` ranks have saved, into the pools.
void ReadMeans(const std::string& folder, int ranks, const Pools& pools, ParameterStore* store) {
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

int64_t ReadNumber(const SafetensorsReader& file, const char* key) {
  constexpr size_t kMostDigits = 18;
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end() || it->second.empty() || it->second.size() > kMostDigits ||
      it->second.find_first_not_of("0123456789") != std::string::npos) {
    ThrowUserError(file.path(), ": \"", key, "\" is missing in its metadata, or is no number");
  }
  return std::stoll(it->second);
}

// The important chunks of the next step; all of them if the file's are cut differently.
std::vector<int64_t> ReadChunks(const std::string& path, const SparseConfig& config, int64_t pool,
                                const std::function<void(const std::string&)>& note) {
  const SafetensorsReader file(path);
  const SafetensorsEntry* const entry = file.Find(kChunks);
  if (entry == nullptr || entry->dtype != "I64" || entry->shape.rank() != 1) {
    ThrowUserError(path, ": lacks a vector \"", kChunks, "\" of I64");
  }
  const ChunkGrid grid(pool, config.chunk_size());
  const int64_t size = ReadNumber(file, kChunkSize), count = ReadNumber(file, kPool);
  if (size != grid.chunk_size() || count != pool) {
    note(StrCat("the checkpoint's chunks do not fit (", size, " of ", count, " gradients, now ",
                grid.chunk_size(), " of ", pool,
                "): the first step communicates all; nothing is lost"));
    return ChunkSet::All(grid).ids();
  }
  const std::vector<char> bytes = file.ReadBytes(*entry);
  std::vector<int64_t> chunks(entry->count());
  if (!chunks.empty()) std::memcpy(chunks.data(), bytes.data(), bytes.size());
  int64_t next = 0;
  for (int64_t chunk : chunks) {
    if (chunk < next || chunk >= grid.chunks()) {
      ThrowUserError(path, ": chunk ", chunk, " is out of place, expected ascending numbers from ",
                     next, " to ", grid.chunks() - 1, ": resume from another checkpoint");
    }
    next = chunk + 1;
  }
  return chunks;
}

// Reads a flow's shared state; what the file lacks, or has of another length, starts at 0.
void ReadShared(const std::string& path, Device* device, const Tensor& shared,
                const std::function<void(const std::string&)>& note) {
  if (shared.data == nullptr) return;
  const SafetensorsReader file(path);
  const SafetensorsEntry* const entry = file.Find(kShared);
  if (entry == nullptr || entry->dtype != "F32" || entry->shape != shared.desc.shape) {
    return note("the checkpoint has no factors of this rank: they start anew; nothing is lost");
  }
  const std::vector<float> values = file.ReadFloats(*entry);
  HostCopy copy(device, shared);
  std::copy(values.begin(), values.end(), copy.tensor().as<float>());
  copy.Put();
}

bool IsZero(Device* device, const Tensor& pool) {
  const HostCopy copy(device, pool);
  const float* const values = copy.tensor().as<float>();
  return std::all_of(values, values + pool.desc.storage_count(), [](float v) { return v == 0; });
}

}  // namespace

bool HasResidual(const GradientFlow& flow) { return !flow.State().empty(); }

ExtraFiles StageResiduals(CheckpointFolder* folder, int64_t step, const ParameterStore& store,
                          const GradientFlow& flow, const SparseConfig& config,
                          Communicator* comm) {
  ResidualWriter writer(folder, step);
  ExtraFiles files;
  const std::vector<PoolTensor> tensors = TensorsOf(store, flow.State());
  const bool writes = comm->rank() == 0;
  for (int rank = 0; rank < comm->size(); ++rank) {
    const std::string label = StrCat("the residuals of rank ", rank, ", step ", step);
    if (writes) writer.Open(ResidualFile(rank), tensors);
    for (const PoolTensor& tensor : tensors) {
      std::vector<float> values;
      const int64_t count = tensor.entry->shape.count();
      if (comm->rank() == rank) {
        values = store.Export(tensor.pool, *tensor.entry);
      } else if (writes) {
        values.resize(count);
      }
      if (rank != 0) comm->Transfer(rank, 0, values.data(), count, label);
      if (writes) writer.Write(values);
    }
    // Nobody waits longer than for one rank's without a sign of life.
    RunOnRankZero(comm, label, [&] {
      files.emplace_back(ResidualFile(rank), writer.Finish());
      writer.Rethrow();
    });
  }
  RunOnRankZero(comm, StrCat("the chunks of step ", step), [&] {
    writer.Do([&](const std::string& path) {
      files.emplace_back(kChunksFile, WriteShared(path + "/" + kChunksFile, flow, config, store));
    });
    writer.Rethrow();
  });
  return files;
}

void LoadResiduals(const std::string& folder, int saved_ranks, const SparseConfig& config,
                   ParameterStore* store, GradientFlow* flow, Communicator* comm,
                   const std::function<void(const std::string&)>& note) {
  const auto say = [&](const std::string& text) {
    if (comm->rank() == 0) note(text);
  };
  if (!HasResidual(*flow)) {
    if (saved_ranks > 0) {
      say("the checkpoint's residuals (gradients that were not sent; of PERIODIC also the momentum "
          "of each rank) are lost in this mode");
    }
    return;
  }
  const Pools pools = flow->State();
  if (saved_ranks == 0) {
    const bool chunks = !flow->important_chunks().empty();
    const bool local = std::any_of(pools.begin(), pools.end(),
                                   [](const auto& pool) { return IsLocal(pool.first); });
    return say(StrCat("the checkpoint has no residuals: this job starts with none",
                      local ? ", and every rank with the optimizer's momentum" : "",
                      chunks ? ", and its first step communicates all chunks" : ""));
  }
  const std::string label = "residuals of the start";
  const int64_t pool = store->layout().count();
  std::set<std::string> saved;
  std::vector<int64_t> chunks;
  RunOnRankZero(comm, label, [&] {
    saved = CheckFiles(folder, saved_ranks, *store);
    NoteDifferences(saved, pools, note);
    chunks = ReadChunks(folder + "/" + kChunksFile, config, pool, note);
    ReadShared(folder + "/" + kChunksFile, store->device(), flow->shared_state(), note);
  });
  if (saved_ranks == comm->size()) {
    // Rank 0's pool is the buffer for the others; its own comes last.
    for (int rank = saved_ranks - 1; rank >= 0; --rank) {
      RunOnRankZero(comm, label, [&] {
        ReadPools(folder + "/" + ResidualFile(rank), Select(pools, saved), store);
      });
      if (rank == 0) break;
      for (const auto& pool : pools) SendPool(store->device(), pool.second, rank, label, comm);
    }
  } else {
    say(StrCat("every rank begins with the mean of the residuals of ",
               Counted(saved_ranks, "rank")));
    RunOnRankZero(comm, label,
                  [&] { ReadMeans(folder, saved_ranks, Select(pools, saved), store); });
    for (const auto& pool : pools) BroadcastPool(store->device(), pool.second, label, comm);
  }
  if (flow->shared_state().data != nullptr) {
    BroadcastPool(store->device(), flow->shared_state(), label, comm);
  }
  std::string bytes(reinterpret_cast<const char*>(chunks.data()), chunks.size() * sizeof(int64_t));
  comm->Broadcast(&bytes, 0, label);
  chunks.resize(bytes.size() / sizeof(int64_t));
  if (!chunks.empty()) std::memcpy(chunks.data(), bytes.data(), bytes.size());
  // A step with all chunks and nothing to add is what a new flow does; adding zeros would turn
  // -0 into 0.
  const ChunkGrid grid(pool, config.chunk_size());
  if (chunks.empty()) chunks = ChunkSet::All(grid).ids();  // a mode without chunks saved it
  const bool all = static_cast<int64_t>(chunks.size()) == grid.chunks();
  const bool zero = std::all_of(pools.begin(), pools.end(), [&](const auto& pool) {
    return IsZero(store->device(), pool.second);
  });
  // A rank may hold nothing where others do; what follows must be the same on all.
  int64_t restore = !all || !zero;
  comm->AllReduce(&restore, 1, ReduceOp::kMax, label);
  if (restore != 0) flow->Restore(chunks);
}

uint64_t ResidualBytes(const GradientFlow& flow, const ParameterStore& store, int world) {
  if (!HasResidual(flow)) return 0;
  uint64_t header = 4096, values = 0;
  for (const PoolEntry& entry : store.layout().entries()) {
    header += 160 + entry.name.size();
    values += entry.shape.count();
  }
  header *= flow.State().size();
  values *= flow.State().size();
  return world * (header + values * sizeof(float)) + header +
         flow.important_chunks().size() * sizeof(int64_t) +
         (flow.shared_state().data == nullptr ? 0 : flow.shared_state().desc.bytes());
}

}  // namespace gf
