#include "comm/choice/ladder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "comm/flow/buckets.h"
#include "comm/flow/mode_advice.h"
#include "comm/low_rank/matrices.h"
#include "comm/pack/large_weights.h"
#include "comm/sparse/chunks.h"
#include "comm/topk/topk_buckets.h"
#include "core/config/solver_facts.h"
#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

// A rung for any job: the settings it makes, and the conditions that may exclude it.
struct RungKind {
  std::string name;
  std::function<void(CommConfig*)> set;
  std::function<std::string(const CommConfig&, const LadderJob&)> obstacle;
};

// Whether the sum of several steps' gradients moves the weights about as they would one by one: not
// where a solver divides by the size of gradients that it has seen.
bool MovesByGradients(const std::string& solver) {
  const SolverFacts* const facts = FindSolverFacts(solver);
  return facts != nullptr && facts->states == std::vector<std::string>{"momentum"};
}

std::string NeedsLargeWeights(const LadderJob& job) {
  const auto& entries = job.layout.entries();
  const bool any = std::any_of(entries.begin(), entries.end(), IsLargeWeight);
  return any ? "" : "the net has no weight of 4,096 elements";
}

RungKind Lazy(const std::string& name, CommConfig::WireType wire) {
  return {name,
          [wire](CommConfig* config) {
            config->set_mode(CommConfig::LAZY);
            config->set_wire_type(wire);
          },
          [wire](const CommConfig&, const LadderJob& job) -> std::string {
            const bool useless = wire == CommConfig::FP32 && job.gradients != DType::kFP32;
            return useless ? StrCat("gradients are ", Name(job.gradients)) : "";
          }};
}

RungKind Quantized(int bits, bool rotate) {
  return {StrCat("QUANTIZED ", bits, rotate ? " rotated" : ""),
          [=](CommConfig* config) {
            config->set_mode(CommConfig::QUANTIZED);
            config->mutable_quantized()->set_bits(bits);
            config->mutable_quantized()->set_rotate(rotate);
          },
          [](const CommConfig&, const LadderJob& job) { return NeedsLargeWeights(job); }};
}

RungKind Sparse(double density) {
  return {StrCat("SPARSE ", density),
          [density](CommConfig* config) {
            config->set_mode(CommConfig::SPARSE);
            config->mutable_sparse()->set_density(density);
          },
          [](const CommConfig& config, const LadderJob& job) -> std::string {
            if (!MovesByGradients(job.solver)) {
              return job.solver + " would take sums of several steps for one gradient";
            }
            const int64_t size = config.sparse().chunk_size();
            const int64_t chunks = ChunkGrid(job.layout.count(), size).chunks();
            if (chunks >= kFewestChunks) return "";
            return StrCat("too few chunks: ", chunks, " of comm.sparse.chunk_size ",
                          WithCommas(size));
          }};
}

RungKind LowRank(int rank) {
  return {StrCat("LOW_RANK ", rank),
          [rank](CommConfig* config) {
            config->set_mode(CommConfig::LOW_RANK);
            config->mutable_low_rank()->set_rank(rank);
          },
          [rank](const CommConfig&, const LadderJob& job) -> std::string {
            const auto& entries = job.layout.entries();
            const bool any = std::any_of(entries.begin(), entries.end(),
                                         [&](const PoolEntry& e) { return HasLowRank(e, rank); });
            return any ? "" : "no weight becomes half as long as factors";
          }};
}

RungKind Topk(double density) {
  return {StrCat("TOPK ", density),
          [density](CommConfig* config) {
            config->set_mode(CommConfig::TOPK);
            config->mutable_topk()->set_density(density);
          },
          [density](const CommConfig&, const LadderJob& job) -> std::string {
            if (job.solver != "SGD") return "needs solver.type SGD, got " + job.solver;
            if (density > TopkLimit(job.world, DType::kBF16)) {
              return StrCat("messages of ", job.world, " ranks are longer than all gradients");
            }
            return NeedsLargeWeights(job);
          }};
}

std::vector<RungKind> Kinds() {
  return {Lazy("LAZY FP32", CommConfig::FP32),
          Lazy("LAZY BF16", CommConfig::BF16),
          Quantized(8, false),
          Quantized(4, true),
          Sparse(0.3),
          Sparse(0.15),
          Sparse(0.05),
          Sparse(0.02),
          LowRank(8),
          LowRank(4),
          LowRank(2),
          LowRank(1),
          Topk(0.01),
          Topk(0.001)};
}

CommConfig ConfigOf(const RungKind& kind, const CommConfig& automatic) {
  CommConfig config = automatic;
  config.clear_auto_();
  config.set_wire_type(CommConfig::BF16);
  kind.set(&config);
  return config;
}

}  // namespace

std::vector<Rung> LadderOf(const CommConfig& automatic, const LadderJob& job) {
  std::vector<Rung> ladder;
  for (const RungKind& kind : Kinds()) {
    Rung rung;
    rung.name = kind.name;
    rung.config = ConfigOf(kind, automatic);
    rung.obstacle = kind.obstacle(rung.config, job);
    ladder.push_back(std::move(rung));
  }
  return ladder;
}

const Rung& FirstRung(const std::vector<Rung>& ladder) {
  return *std::find_if(ladder.begin(), ladder.end(),
                       [](const Rung& rung) { return rung.obstacle.empty(); });
}

const Rung& LightRung(const std::vector<Rung>& ladder) {
  for (const CommConfig::Mode mode : {CommConfig::LOW_RANK, CommConfig::QUANTIZED}) {
    for (auto rung = ladder.rbegin(); rung != ladder.rend(); ++rung) {
      if (rung->config.mode() == mode && rung->obstacle.empty()) return *rung;
    }
  }
  return FirstRung(ladder);
}

std::vector<int> ThresholdPowers(const CommConfig& automatic) {
  const bool set = automatic.has_threshold_first() || automatic.has_threshold_middle() ||
                   automatic.has_threshold_last();
  if (set) return {0};
  return {0, -1, -2, -3, 1, 2};
}

CommConfig WithThresholds(const CommConfig& config, int power) {
  CommConfig scaled = config;
  if (power == 0) return scaled;
  const auto times = [power](int64_t bytes) {
    return power > 0 ? bytes << (2 * power) : bytes >> (-2 * power);
  };
  scaled.set_threshold_first(times(config.threshold_first()));
  scaled.set_threshold_middle(times(config.threshold_middle()));
  scaled.set_threshold_last(times(config.threshold_last()));
  return scaled;
}

CommConfig WithoutWarmup(const CommConfig& config) {
  CommConfig constant = config;
  constant.mutable_sparse()->set_warmup_fraction(0);
  constant.mutable_topk()->set_warmup_fraction(0);
  constant.mutable_low_rank()->set_warmup_fraction(0);
  constant.mutable_periodic()->set_warmup_fraction(0);
  return constant;
}

std::vector<std::string> RungNames() {
  std::vector<std::string> names;
  for (const RungKind& kind : Kinds()) names.push_back(kind.name);
  return names;
}

std::optional<CommConfig> RungConfig(const std::string& name) {
  for (const RungKind& kind : Kinds()) {
    if (kind.name == name) return ConfigOf(kind, CommConfig());
  }
  return std::nullopt;
}

}  // namespace gf
