#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/dtype.h"
#include "core/pool_layout.h"

namespace gf {

// A way to exchange gradients.
struct Rung {
  std::string name;      // "SPARSE 0.15"; all names of a ladder differ
  CommConfig config;     // complete, of a mode other than AUTO
  std::string obstacle;  // why this job cannot take it; empty: it can
};

// What decides which rungs a job can take.
struct LadderJob {
  const PoolLayout& layout;
  DType gradients = DType::kFP32;
  std::string solver = "SGD";
  int world = 1;
};

// Note [The ladder]
// From mild to strong: first what sends every gradient in every step, in fewer and fewer bits; then
// what sends whole chunks of gradients in turn, as dense sums; then factors, which lose directions
// until later steps; last single gradients, of which most wait for hundreds of steps. Within a
// mode, bytes decide. From LAZY BF16 on, tensors that a mode sends as a whole travel in BF16.
//
// `automatic`: of mode AUTO; its fields that AUTO does not choose hold for every rung. All rungs
// are there, also those with an obstacle. The first one without is LAZY in the gradients' type.
std::vector<Rung> LadderOf(const CommConfig& automatic, const LadderJob& job);

// LAZY in the gradients' type.
const Rung& FirstRung(const std::vector<Rung>& ladder);

// The strongest rung that sends few bytes from its first step on and lets the solver update every
// weight in every step. FirstRung if there is none.
const Rung& LightRung(const std::vector<Rung>& ladder);

// Thresholds of buckets suit whole gradients on common links. A compressor's bytes may all fit into
// one bucket, which travels only after backward; where every message costs milliseconds, larger
// buckets are better. So a rung is priced with its thresholds multiplied by 4 to each of these
// powers, 0 first. Only 0 where the job sets thresholds itself.
std::vector<int> ThresholdPowers(const CommConfig& automatic);
CommConfig WithThresholds(const CommConfig& config, int power);

// The same settings with every warm-up left out.
CommConfig WithoutWarmup(const CommConfig& config);

// The names of all rungs, whatever the job.
std::vector<std::string> RungNames();

// The settings of a rung by its name, for any job; absent: there is no such rung.
std::optional<CommConfig> RungConfig(const std::string& name);

}  // namespace gf
