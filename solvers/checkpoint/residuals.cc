#include "solvers/checkpoint/residuals.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/agree.h"
#include "comm/pool_transfer.h"
#include "comm/sparse/chunks.h"
#include "core/error.h"
#include "core/host_copy.h"
#include "core/readable.h"
#include "solvers/checkpoint/residual_file.h"
#include "solvers/checkpoint/safetensors.h"
#include "solvers/checkpoint/shared_state_file.h"

namespace gf {
namespace {

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

// Converts what rank 0 reads where TOPK wrote or gets it and another mode does not: Note [Units of
// residuals].
class UnitConverter {
 public:
  UnitConverter() = default;
  // `pools`: of the flow. `saved`: the names of the pools in the checkpoint.
  UnitConverter(const NamedPools& pools, const std::set<std::string>& saved,
                const MomentumOfSolver& solver, ParameterStore* store)
      : solver_(solver), store_(store) {
    bool keeps_velocity = false;
    for (const auto& [name, pool] : pools) {
      if (name == kResidual) residual_ = pool;
      keeps_velocity = keeps_velocity || name == kVelocity;
    }
    if (residual_.data == nullptr || saved.count(kResidual) == 0) return;
    from_topk_ = saved.count(kVelocity) > 0 && !keeps_velocity;
    to_topk_ = saved.count(kVelocity) == 0 && keeps_velocity;
    if (!from_topk_) return;
    velocity_.desc = residual_.desc;
    velocity_.owner = store->device()->Allocate(velocity_.desc.bytes());
    velocity_.data = velocity_.owner.get();
  }

  // Returns the pools to read: the flow's, and a velocity if only the checkpoint has one.
  NamedPools Read(NamedPools pools) const {
    if (from_topk_) pools.emplace_back(kVelocity, velocity_);
    return pools;
  }

  // Returns the checkpoint's names, or the flow's pools, that conversion leaves without a partner.
  std::set<std::string> Unsettled(std::set<std::string> saved) const {
    if (from_topk_) saved.erase(kVelocity);
    return saved;
  }
  NamedPools Unsettled(NamedPools pools) const {
    const auto settled = [&](const auto& pool) { return to_topk_ && pool.first == kVelocity; };
    pools.erase(std::remove_if(pools.begin(), pools.end(), settled), pools.end());
    return pools;
  }

  bool converts() const { return from_topk_ || to_topk_; }
  // Converts the residual that was read last.
  void Convert() const {
    if (!converts()) return;
    HostCopy residual(store_->device(), residual_);
    float* const values = residual.tensor().as<float>();
    if (from_topk_) {
      const HostCopy velocity(store_->device(), velocity_);
      ToGradients(store_->layout(), solver_, velocity.tensor().as<float>(), values);
    } else {
      ToTopkResiduals(store_->layout(), solver_, values);
    }
    residual.Put();
  }

 private:
  MomentumOfSolver solver_;
  ParameterStore* store_ = nullptr;
  Tensor residual_, velocity_;
  bool from_topk_ = false, to_topk_ = false;
};

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
      files.emplace_back(kChunksFile,
                         WriteSharedState(path + "/" + kChunksFile, flow, config, store));
    });
    writer.Rethrow();
  });
  return files;
}

void LoadResiduals(const std::string& folder, int saved_ranks, const SparseConfig& config,
                   const MomentumOfSolver& solver, ParameterStore* store, GradientFlow* flow,
                   Communicator* comm, const std::function<void(const std::string&)>& note) {
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
  const NamedPools pools = flow->State();
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
  UnitConverter converter;  // of rank 0
  std::set<std::string> saved;
  std::vector<int64_t> chunks;
  RunOnRankZero(comm, label, [&] {
    saved = CheckResidualFiles(folder, saved_ranks, *store);
    converter = UnitConverter(pools, saved, solver, store);
    if (converter.converts()) note("the checkpoint's residuals are converted to this mode's unit");
    NoteDifferences(converter.Unsettled(saved), converter.Unsettled(pools), note);
    chunks = ReadChunks(folder + "/" + kChunksFile, config, pool, note);
    // Chunks that have not waited yet, if the file does not know, are not worth a remark.
    const bool chunked = !flow->important_chunks().empty();
    ReadSharedState(folder + "/" + kChunksFile, store->device(), flow->shared_state(), chunked,
                    chunked ? [](const std::string&) {} : note);
  });
  if (saved_ranks == comm->size()) {
    // Rank 0's pool is the buffer for the others; its own comes last.
    for (int rank = saved_ranks - 1; rank >= 0; --rank) {
      RunOnRankZero(comm, label, [&] {
        ReadPools(folder + "/" + ResidualFile(rank), Select(converter.Read(pools), saved), store);
        converter.Convert();
      });
      if (rank == 0) break;
      for (const auto& pool : pools) SendPool(store->device(), pool.second, rank, label, comm);
    }
  } else {
    say(StrCat("every rank begins with the mean of the residuals of ",
               Counted(saved_ranks, "rank")));
    RunOnRankZero(comm, label, [&] {
      ReadMeans(folder, saved_ranks, Select(converter.Read(pools), saved), store);
      converter.Convert();
    });
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
