#include "comm/flow/mode_advice.h"

#include <algorithm>

#include "comm/flow/gradient_flow.h"
#include "comm/pack/large_weights.h"
#include "comm/sparse/chunks.h"
#include "comm/topk/topk_buckets.h"
#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

// The smallest chunk to advise: each needs a norm and a number in the list of important ones.
constexpr int64_t kSmallestChunk = 32;

// The setting that names the mode.
const char* SettingOfSendingMode(const CommConfig& comm) {
  return comm.mode() == CommConfig::PERIODIC ? "comm.periodic.exchange" : "comm.mode";
}

// "comm.mode SPARSE"
std::string NameOfSendingMode(const CommConfig& comm) {
  return StrCat(SettingOfSendingMode(comm), " ", CommConfig::Mode_Name(SendingModeOf(comm)));
}

}  // namespace

std::string FewChunks(const CommConfig& comm, const PoolLayout& layout) {
  const SparseConfig& sparse = comm.sparse();
  if (SendingModeOf(comm) != CommConfig::SPARSE || sparse.density() >= 1) return "";
  const int64_t chunks = ChunkGrid(layout.count(), sparse.chunk_size()).chunks();
  if (chunks >= kFewestChunks) return "";
  const int64_t better = layout.count() / (2 * kFewestChunks);
  const std::string lower = better < kSmallestChunk
                                ? ""
                                : StrCat("set comm.sparse.chunk_size to ", better, " or less, or ");
  return StrCat(NameOfSendingMode(comm), " chooses among only ", Counted(chunks, "chunk"), ": ",
                WithCommas(layout.parameter_count()),
                " gradients in chunks of comm.sparse.chunk_size (", WithCommas(sparse.chunk_size()),
                "); ", lower, "set ", SettingOfSendingMode(comm),
                " to LAZY for a net as small as this");
}

std::string TopkSendsAll(const CommConfig& comm, DType gradients, int world) {
  if (SendingModeOf(comm) != CommConfig::TOPK) return "";
  return WhyTopkSendsAll(comm.topk().density(), world, WireTypeOf(comm, gradients));
}

std::string NothingIsLarge(const CommConfig& comm, const PoolLayout& layout) {
  const CommConfig::Mode mode = SendingModeOf(comm);
  if (mode != CommConfig::TOPK && mode != CommConfig::QUANTIZED) return "";
  const auto& entries = layout.entries();
  if (entries.empty() || std::any_of(entries.begin(), entries.end(), IsLargeWeight)) return "";
  return StrCat(NameOfSendingMode(comm), " sends everything as a whole: the net has no weights of ",
                WithCommas(kLargeWeight), " elements or more; set ", SettingOfSendingMode(comm),
                " to LAZY");
}

std::vector<std::string> ModeAdvice(const CommConfig& comm, const PoolLayout& layout,
                                    DType gradients, int world) {
  std::vector<std::string> sentences = {
      FewChunks(comm, layout), TopkSendsAll(comm, gradients, world), NothingIsLarge(comm, layout)};
  sentences.erase(std::remove(sentences.begin(), sentences.end(), ""), sentences.end());
  return sentences;
}

}  // namespace gf
