// What each field of JobConfig and of the messages inside may hold, whatever the others hold.

#include "core/config/checked_proto.h"
#include "core/config/job_checks.h"

namespace gf {
namespace {

// libjpeg's largest height and width.
constexpr double kLargestExtent = 65500;
constexpr double kMostMiB = 1 << 24;
constexpr double kMostBatch = 1 << 24;
constexpr double kMostLabels = 1 << 20;
// So that the steps and images of any training can be counted in 64 bits.
constexpr double kMostEpochs = 1e6;
constexpr double kMostImages = 1e12;
constexpr double kMostSteps = 1e15;
constexpr double kMostChunk = 1e12;
constexpr double kLeastTopkDensity = 1e-4;
constexpr double kMostRoundSteps = 1e5;
constexpr double kMostMixAlpha = 1000;
constexpr double kMostIterSize = 1 << 20;
// Three years; clocks count nanoseconds.
constexpr double kLongestTimeout = 1e8;

FieldRules JobRules() {
  return {
      {"JobConfig.net", Required().Advice("name the network's prototxt file")},
      {"JobConfig.device", Required().Advice("set \"cpu\", or \"cuda\" for GPUs")},
      {"JobConfig.threads", Between(0, 1024)},
      {"JobConfig.train_data", Required().Advice("say what to train on")},
      {"JobConfig.validation_interval_epochs", AtLeast(0)},
      {"JobConfig.validation_interval_steps", Between(0, kMostSteps)},
      {"JobConfig.batch_norm_group", AtLeast(0)},

      {"JobConfig.classes", AtLeast(0)},
      {"InputConfig.channels", Between(1, kMostChannels).Advice("1 is grayscale, 3 is RGB")},
      {"InputConfig.height", Between(1, kLargestExtent)},
      {"InputConfig.width", Between(1, kLargestExtent)},

      {"InitConfig.filler",
       Required().Advice("say how to fill the parameters, e.g. filler { type: 'constant' }")},

      {"AverageConfig.decay", AtLeast(0).LessThan(1)},
      {"AverageConfig.interval_steps", Between(1, kMostSteps)},
      {"AverageConfig.decay_power", AtLeast(0)},

      {"DataConfig.source", Required().Advice("name a folder, a file or a glob of shards")},
      {"DataConfig.batch_size", MoreThan(0).AtMost(kMostBatch)},
      {"DataConfig.workers", Between(0, kMostWorkers)},
      {"DataConfig.prefetch", Between(1, 1024)},
      {"DataConfig.channels", Between(1, kMostChannels).Advice("1 is grayscale, 3 is RGB")},
      {"DataConfig.images", Between(0, kMostImages)},
      {"DataConfig.resize_shorter", Between(0, kLargestExtent)},
      {"DataConfig.resize_height", Between(0, kLargestExtent)},
      {"DataConfig.resize_width", Between(0, kLargestExtent)},
      {"DataConfig.pad", Between(0, kLargestExtent)},
      {"DataConfig.test_shifts", Between(0, kLargestExtent)},
      {"DataConfig.crop_size", Between(0, kLargestExtent)},
      {"SizePhase.epoch",
       MoreThan(0).AtMost(kMostEpochs).Required().Advice("crop_size is the size before")},
      {"SizePhase.crop_size",
       MoreThan(0).AtMost(kLargestExtent).Required().Advice("say how large the images become")},
      {"SizePhase.resize_shorter", Between(0, kLargestExtent)},
      {"DataConfig.std", MoreThan(0)},
      {"DataConfig.min_area", MoreThan(0).AtMost(1)},
      {"DataConfig.max_area", MoreThan(0).AtMost(1)},
      {"DataConfig.min_aspect", MoreThan(0).AtMost(100)},
      {"DataConfig.max_aspect", MoreThan(0).AtMost(100)},
      {"DataConfig.brightness", AtLeast(0)},
      {"DataConfig.contrast", AtLeast(0)},
      {"DataConfig.saturation", AtLeast(0)},
      {"DataConfig.lighting", AtLeast(0)},
      {"DataConfig.cache_mib", Between(0, kMostMiB)},
      {"DataConfig.shuffle_window", AtLeast(0)},
      {"DataConfig.exchange", Between(0, 1)},
      {"DataConfig.device_cache_mib", Between(0, kMostMiB)},
      {"LabelConfig.count", Between(0, kMostLabels)},
      {"MixConfig.mixup", Between(0, kMostMixAlpha)},
      {"MixConfig.cutmix", Between(0, kMostMixAlpha)},
      {"MixConfig.probability", Between(0, 1)},
      {"PolicyConfig.operations", Between(1, 16)},
      {"PolicyConfig.magnitude", Between(0, 30)},
      {"ErasingConfig.probability", Between(0, 1)},
      {"ErasingConfig.min_area", MoreThan(0).AtMost(1)},
      {"ErasingConfig.max_area", MoreThan(0).AtMost(1)},
      {"ErasingConfig.min_aspect", MoreThan(0).AtMost(100)},
      {"ErasingConfig.max_aspect", MoreThan(0).AtMost(100)},

      {"SolverConfig.base_lr", MoreThan(0)},
      {"SolverConfig.base_lr_per_256", MoreThan(0)},
      {"SolverConfig.end_lr", AtLeast(0)},
      {"SolverConfig.power", AtLeast(0)},
      {"SolverConfig.step_size", MoreThan(0).AtMost(kMostSteps)},
      {"SolverConfig.step_value", MoreThan(0).AtMost(kMostSteps)},
      {"SolverConfig.step_epochs", MoreThan(0).AtMost(kMostEpochs)},
      {"SolverConfig.epoch_value", MoreThan(0).AtMost(kMostEpochs)},
      {"SolverConfig.max_steps", MoreThan(0).AtMost(kMostSteps)},
      {"SolverConfig.max_epochs", MoreThan(0).AtMost(kMostEpochs)},
      {"SolverConfig.warmup_steps", Between(0, kMostSteps)},
      {"SolverConfig.warmup_epochs", Between(0, kMostEpochs)},
      {"SolverConfig.warmup_lr", AtLeast(0)},
      {"SolverConfig.momentum", AtLeast(0).LessThan(1)},
      {"SolverConfig.weight_decay", AtLeast(0)},
      {"SolverConfig.iter_size", MoreThan(0).AtMost(kMostIterSize)},
      {"SolverConfig.trust_coefficient", MoreThan(0)},
      {"SolverConfig.epsilon", AtLeast(0)},
      {"SolverConfig.beta1", AtLeast(0).LessThan(1)},
      {"SolverConfig.beta2", AtLeast(0).LessThan(1)},
      {"SolverConfig.label_smoothing", AtLeast(0).LessThan(1)},
      {"SolverConfig.class_weight", AtLeast(0)},
      {"MuonConfig.momentum", AtLeast(0).LessThan(1)},
      {"MuonConfig.iterations", Between(1, 30)},
      {"BatchPhase.epoch", Between(0, kMostEpochs)},
      {"BatchPhase.iter_size", MoreThan(0)
                                   .AtMost(kMostIterSize)
                                   .Required()
                                   .Advice("give the batches per update from this epoch on")},
      {"ParameterRuleConfig.lr_mult", AtLeast(0)},
      {"ParameterRuleConfig.decay_mult", AtLeast(0)},
      {"ParameterRuleConfig.until_epoch", Between(0, kMostEpochs)},
      {"LossScaleConfig.scale", Between(1, kLargestLossScale)},
      {"LossScaleConfig.growth_interval", MoreThan(0)},
      {"LossScaleConfig.least", MoreThan(0)},
      {"LossScaleConfig.most_bad_steps", MoreThan(0)},

      {"CommConfig.timeout_s", MoreThan(0).AtMost(kLongestTimeout)},
      {"CommConfig.threshold_first", AtLeast(0)},
      {"CommConfig.threshold_middle", AtLeast(0)},
      {"CommConfig.threshold_last", AtLeast(0)},
      {"CommConfig.device_transport", OneOf({"auto", "nccl", "host"})},
      {"SparseConfig.density", MoreThan(0).AtMost(1)},
      {"SparseConfig.chunk_size", MoreThan(0).AtMost(kMostChunk)},
      {"SparseConfig.warmup_fraction", Between(0, 1)},
      {"TopkConfig.density", Between(kLeastTopkDensity, 1)},
      {"TopkConfig.warmup_fraction", Between(0, 1)},
      {"TopkConfig.local_clip", AtLeast(0)},
      {"LowRankConfig.rank", Between(1, 256)},
      {"LowRankConfig.warmup_fraction", Between(0, 1)},
      {"QuantizedConfig.bits", OneOf({"8", "4"})},
      {"AutoConfig.exposed", Between(0, 1)},
      {"AutoConfig.slower", Between(0, 1000)},
      {"PeriodicConfig.steps", Between(1, kMostRoundSteps)},
      {"PeriodicConfig.warmup_fraction", Between(0, 1)},
      {"PeriodicConfig.outer_lr", MoreThan(0)},
      {"PeriodicConfig.outer_momentum", AtLeast(0).LessThan(1)},

      {"CheckpointConfig.interval_epochs", AtLeast(0)},
      {"CheckpointConfig.interval_steps", AtLeast(0)},
      {"CheckpointConfig.keep", AtLeast(0)},
      {"TelemetryConfig.display_interval", MoreThan(0)},
  };
}

std::map<std::string, std::vector<std::string> (*)()>& OfferedNames() {
  static auto* const offered = new std::map<std::string, std::vector<std::string> (*)()>;
  return *offered;
}

// With the names of the rooms that this program links.
FieldRules AllRules() {
  FieldRules rules = JobRules();
  for (const auto& [field, names] : OfferedNames()) rules[field] = rules[field].OneOf(names());
  return rules;
}

}  // namespace

bool OfferNames(const std::string& field, std::vector<std::string> (*names)()) {
  return OfferedNames().emplace(field, names).second;
}

void CheckJobFields(const google::protobuf::Message& message, const std::string& path,
                    const Places& places) {
  CheckFields(message, AllRules(), path, places);
}

}  // namespace gf
