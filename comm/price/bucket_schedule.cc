#include "comm/price/bucket_schedule.h"

#include <optional>
#include <utility>
#include <vector>

#include "comm/flow/buckets.h"
#include "comm/low_rank/matrices.h"
#include "comm/pack/large_weights.h"
#include "comm/periodic/round_schedule.h"
#include "comm/quantized/quantized_buckets.h"
#include "comm/sparse/chunks.h"
#include "comm/sparse/selection.h"
#include "comm/sparse/sparse_buckets.h"
#include "comm/topk/topk_buckets.h"

namespace gf {
namespace {

ChunkSet Evenly(const ChunkGrid& grid, int64_t chosen) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < chosen; ++i) ids.push_back((2 * i + 1) * grid.chunks() / (2 * chosen));
  return ChunkSet(grid, std::move(ids));
}

// Appends the allreduce of tensors that a mode leaves as they are, at the end of a step.
void AppendWhole(const PoolLayout& layout, const std::vector<ElementRange>& tensors,
                 BucketSchedule* schedule) {
  Send whole;
  whole.last_entry = static_cast<int>(layout.entries().size()) - 1;
  whole.name = "biases and the like";
  whole.elements = ElementsIn(tensors);
  if (whole.elements > 0) schedule->sends.push_back(whole);
}

// A step without exchange, which updates everything at its end.
BucketSchedule LocalSchedule(const PoolLayout& layout) {
  Send update;
  update.last_entry = static_cast<int>(layout.entries().size()) - 1;
  update.elements = layout.count();
  update.name = "all parameters";
  update.bytes = 0;
  BucketSchedule schedule;
  schedule.sends.push_back(update);
  schedule.overlap = false;
  schedule.density = 0;
  return schedule;
}

// A step of PERIODIC's warm-up.
BucketSchedule WarmupSchedule(const PoolLayout& layout, const CommConfig& config,
                              int64_t wire_bytes) {
  BucketSchedule schedule = DenseSchedule(layout, config, wire_bytes);
  schedule.feedback = false;
  return schedule;
}

// First and last entry of the buckets of a dense schedule.
std::vector<std::pair<int, int>> EntriesOf(const BucketSchedule& dense) {
  std::vector<std::pair<int, int>> entries;
  int first = 0;
  for (const Send& send : dense.sends) {
    entries.emplace_back(first, send.last_entry);
    first = send.last_entry + 1;
  }
  return entries;
}

}  // namespace

BucketSchedule DenseSchedule(const PoolLayout& layout, const CommConfig& config,
                             int64_t wire_bytes) {
  BucketSchedule schedule;
  schedule.overlap = config.overlap();
  schedule.sharded = config.sharded_update();
  schedule.feedback = config.error_feedback();
  for (const Bucket& bucket : CutBuckets(layout, wire_bytes, ThresholdsOf(config))) {
    schedule.sends.push_back(
        {bucket.last_entry, bucket.count, layout.NameOf(bucket.first_entry, bucket.last_entry)});
  }
  return schedule;
}

BucketSchedule LowRankSchedule(const PoolLayout& layout, const CommConfig& config,
                               int64_t wire_bytes) {
  constexpr auto kFactorBytes = static_cast<int64_t>(sizeof(float));
  BucketSchedule schedule = DenseSchedule(layout, config, wire_bytes);
  const LowRankPlan plan = PlanLowRank(layout, EntriesOf(schedule), config.low_rank().rank());
  schedule.low_rank = true;
  schedule.sends.clear();
  for (const LowRankBucket& bucket : plan.buckets) {
    Send send;
    send.last_entry = bucket.last_entry;
    send.name = bucket.name;
    send.bytes = 0;
    for (int m = bucket.begin; m < bucket.end; ++m) {
      send.bytes += plan.matrices[m].rank * plan.matrices[m].rows * kFactorBytes;
    }
    schedule.sends.push_back(send);
  }
  AppendWhole(layout, plan.whole, &schedule);
  schedule.last.name = "right factors of all weights";
  schedule.last.bytes = plan.right_count * kFactorBytes;
  for (const LowRankMatrix& matrix : plan.matrices) schedule.last.elements += matrix.entry->count;
  return schedule;
}

BucketSchedule TopkSchedule(const PoolLayout& layout, const CommConfig& config, DType wire,
                            int world, double density) {
  BucketSchedule schedule = DenseSchedule(layout, config, static_cast<int64_t>(SizeOf(wire)));
  if (density >= 1 || density > TopkLimit(world, wire)) return schedule;
  schedule.topk = true;
  schedule.density = density;
  const std::vector<std::pair<int, int>> buckets = EntriesOf(schedule);
  schedule.sends.clear();
  for (const TopkBucket& bucket : MakeTopkBuckets(layout, buckets, density, wire)) {
    Send send;
    send.last_entry = bucket.last_entry;
    for (const TopkEntry& entry : bucket.entries) send.elements += entry.count;
    send.name = bucket.name;
    send.gathered = bucket.Words(wire) * 4 * world;
    schedule.sends.push_back(send);
  }
  AppendWhole(layout, SmallTensors(layout), &schedule);
  return schedule;
}

BucketSchedule QuantizedSchedule(const PoolLayout& layout, const CommConfig& config,
                                 int64_t wire_bytes, int world) {
  constexpr auto kWordBytes = static_cast<int64_t>(sizeof(float));
  const int bits = config.quantized().bits();
  BucketSchedule schedule = DenseSchedule(layout, config, wire_bytes);
  const std::vector<std::pair<int, int>> buckets = EntriesOf(schedule);
  schedule.code_bytes =
      static_cast<double>(QuantizedPartWords(1, bits) * kWordBytes) / kQuantizedBlock;
  schedule.sends.clear();
  for (const QuantizedBucket& bucket : MakeQuantizedBuckets(layout, buckets, bits, world)) {
    Send send;
    send.last_entry = bucket.last_entry;
    send.elements = ElementsIn(bucket.tensors);
    send.name = bucket.name;
    send.encoded = bucket.part_words * kWordBytes * world;
    schedule.sends.push_back(send);
  }
  AppendWhole(layout, SmallTensors(layout), &schedule);
  return schedule;
}

double DensityOf(const CommConfig& config) {
  switch (config.mode()) {
    case CommConfig::SPARSE:
      return config.sparse().density();
    case CommConfig::TOPK:
      return config.topk().density();
    case CommConfig::LOW_RANK:
    case CommConfig::PERIODIC:
      return 0;
    default:
      return 1;
  }
}

double DensityWarmup(const CommConfig& config) {
  if (config.mode() == CommConfig::SPARSE) return config.sparse().warmup_fraction();
  if (config.mode() == CommConfig::PERIODIC) return config.periodic().warmup_fraction();
  const bool low_rank = config.mode() == CommConfig::LOW_RANK;
  return low_rank ? config.low_rank().warmup_fraction() : config.topk().warmup_fraction();
}

double DensityIn(int64_t step, int64_t total_steps, const CommConfig& config) {
  if (config.mode() == CommConfig::QUANTIZED) return 1;
  if (config.mode() == CommConfig::PERIODIC) {
    return RoundSchedule(config.periodic(), total_steps).local(step) ? 0 : 1;
  }
  if (config.mode() == CommConfig::LOW_RANK) {
    return IsLowRankWarmup(step, total_steps, DensityWarmup(config)) ? 1 : 0;
  }
  const auto density_at = config.mode() == CommConfig::SPARSE ? &DensityAt : &TopkDensityAt;
  return density_at(step, total_steps, DensityOf(config), DensityWarmup(config));
}

BucketSchedule ScheduleOf(const PoolLayout& layout, const CommConfig& config, DType wire, int world,
                          double density) {
  const auto wire_bytes = static_cast<int64_t>(SizeOf(wire));
  switch (config.mode()) {
    case CommConfig::SPARSE:
      return SparseSchedule(layout, config, wire_bytes, density);
    case CommConfig::TOPK:
      return TopkSchedule(layout, config, wire, world, density);
    case CommConfig::LOW_RANK:
      if (density < 1) return LowRankSchedule(layout, config, wire_bytes);
      return DenseSchedule(layout, config, wire_bytes);
    case CommConfig::QUANTIZED:
      return QuantizedSchedule(layout, config, wire_bytes, world);
    case CommConfig::PERIODIC:
      return density < 1 ? LocalSchedule(layout) : WarmupSchedule(layout, config, wire_bytes);
    default:
      return DenseSchedule(layout, config, wire_bytes);
  }
}

BucketSchedule SparseSchedule(const PoolLayout& layout, const CommConfig& config,
                              int64_t wire_bytes, double density) {
  const ChunkGrid grid(layout.count(), config.sparse().chunk_size());
  return SparseSchedule(layout, config, wire_bytes, Evenly(grid, ChunksAt(density, grid.chunks())));
}

BucketSchedule SparseSchedule(const PoolLayout& layout, const CommConfig& config,
                              int64_t wire_bytes, const ChunkSet& important) {
  BucketSchedule schedule;
  if (important.IsAll()) {
    schedule = DenseSchedule(layout, config, wire_bytes);
  } else {
    schedule.overlap = config.overlap();
    schedule.sparse = true;
    SparseBuckets buckets(layout, wire_bytes, config.threshold_first(), config.threshold_middle());
    const int count = static_cast<int>(layout.entries().size());
    for (int ready = 1; ready <= count; ++ready) {
      const std::optional<SparseBucket> bucket = buckets.Next(important, ready);
      if (!bucket) continue;
      schedule.sends.push_back(
          {bucket->last_entry, bucket->packed.end - bucket->packed.begin, bucket->name});
    }
    schedule.density = static_cast<double>(important.PackedOffset(layout.count())) /
                       static_cast<double>(layout.count());
  }
  schedule.norms = config.sparse().density() < 1 ? important.grid().chunks() : 0;
  return schedule;
}

}  // namespace gf
