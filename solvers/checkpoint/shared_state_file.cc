#include "solvers/checkpoint/shared_state_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "comm/sparse/chunks.h"
#include "core/error.h"
#include "core/host_copy.h"
#include "core/readable.h"
#include "solvers/checkpoint/safetensors.h"

namespace gf {
namespace {

constexpr char kChunks[] = "important_chunks", kChunkSize[] = "chunk_size", kPool[] = "pool",
               kShared[] = "shared";
// FP32 counts no further.
constexpr int kMostCounted = 1 << 24;

int64_t ReadNumber(const SafetensorsReader& file, const char* key) {
  constexpr size_t kMostDigits = 18;
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end() || it->second.empty() || it->second.size() > kMostDigits ||
      it->second.find_first_not_of("0123456789") != std::string::npos) {
    ThrowUserError(file.path(), ": \"", key, "\" is missing in its metadata, or is not a number");
  }
  return std::stoll(it->second);
}

}  // namespace

FileDigest WriteSharedState(const std::string& path, const GradientFlow& flow,
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

std::vector<int64_t> ReadChunks(const std::string& path, const SparseConfig& config,
                                int64_t elements,
                                const std::function<void(const std::string&)>& note) {
  const SafetensorsReader file(path);
  const SafetensorsEntry* const entry = file.Find(kChunks);
  if (entry == nullptr || entry->dtype != "I64" || entry->shape.rank() != 1) {
    ThrowUserError(path, ": lacks a vector \"", kChunks, "\" of I64");
  }
  const ChunkGrid grid(elements, config.chunk_size());
  const int64_t size = ReadNumber(file, kChunkSize), count = ReadNumber(file, kPool);
  if (size != grid.chunk_size() || count != elements) {
    note(StrCat("the checkpoint's chunks do not fit (", size, " of ", count, " gradients, now ",
                grid.chunk_size(), " of ", elements,
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

void ReadSharedState(const std::string& path, Device* device, const Tensor& shared, bool counts,
                     const std::function<void(const std::string&)>& note) {
  if (shared.data == nullptr) return;
  const SafetensorsReader file(path);
  const SafetensorsEntry* const entry = file.Find(kShared);
  if (entry == nullptr || entry->dtype != "F32" || entry->shape != shared.desc.shape) {
    return note(
        "the checkpoint has no low-rank factors of this size: they start anew; nothing is lost");
  }
  const std::vector<float> values = file.ReadFloats(*entry);
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    const bool counted = value >= 1 && value <= kMostCounted && value == std::floor(value);
    if (counts ? counted : std::isfinite(value)) continue;
    ThrowUserError(path, ": ", kShared, "[", i, "] is ", value, ", expected a ",
                   counts ? StrCat("whole number from 1 to ", WithCommas(int64_t{kMostCounted}))
                          : "finite number",
                   ": the file is damaged; resume from another checkpoint");
  }
  HostCopy copy(device, shared);
  std::copy(values.begin(), values.end(), copy.tensor().as<float>());
  copy.Put();
}

}  // namespace gf
