// The values that fields of a job may have.

#include "core/config/job_checks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/config/config_for_test.h"

namespace gf {
namespace {

TEST_F(ConfigTest, NumbersThatWouldOverflowAreRefused) {
  EXPECT_EQ(Error({"threads=1025"}), "--set threads=1025: threads is 1025, must be at most 1024");
  EXPECT_NE(Error({"solver.max_epochs=1e30"}).find("solver.max_epochs is 1e+30, must be at most"),
            std::string::npos);
}

TEST_F(ConfigTest, ValidationsCountStepsOrEpochsAndNeedData) {
  const std::string job = "net: 'n' train_data { source: 'd' } solver { base_lr: 1 max_steps: 1 }";
  const std::string data = job + " validation_data { source: 'v' }";
  EXPECT_EQ(ErrorOfFile(data, {"validation_interval_steps=9"}), "no error");
  EXPECT_EQ(ErrorOfFile(data, {"validate_at_start=true"}), "no error");
  EXPECT_EQ(ErrorOfFile(data + " validation_interval_epochs: 2", {"validation_interval_steps=9"}),
            "--set validation_interval_steps=9: validation_interval_steps does not go with "
            "validation_interval_epochs: give one of them");
  // The evaluations that the file asks for are off without the data.
  for (const char* field : {" validation_interval_steps: 9", " validate_at_start: true"}) {
    EXPECT_EQ(ErrorOfFile(data + field, {"validation_data="}), "no error") << field;
  }
  EXPECT_FALSE(Read({"validation_data="}).has_validation_data());
  EXPECT_EQ(ErrorOfFile(job, {"validation_interval_steps=9"}),
            "--set validation_interval_steps=9: validation_interval_steps needs validation_data: "
            "say what to evaluate on, or remove the field");
  EXPECT_EQ(ErrorOfFile(job, {"validate_at_start=true"}),
            "--set validate_at_start=true: validate_at_start needs validation_data: say what to "
            "evaluate on, or remove the field");
}

TEST_F(ConfigTest, OnlyASigmoidMayHaveANegativeGamma) {
  EXPECT_EQ(Error({"solver.gamma=-1"}),
            "--set solver.gamma=-1: solver.gamma is -1, must be at least 0 with lr_policy FIXED");
  EXPECT_EQ(Error({"solver.lr_policy=SIGMOID"}),
            "--set solver.lr_policy=SIGMOID: solver.step_size is missing: lr_policy SIGMOID needs "
            "step_size, where the rate is half of base_lr");
}

TEST_F(ConfigTest, EveryRangeIsChecked) {
  const std::vector<std::vector<std::string>> wrong = {
      {"solver.base_lr=0"},
      {"solver.base_lr=nan"},
      {"solver.base_lr=inf"},
      {"solver.max_steps=1"},  // besides max_epochs
      {"solver.max_epochs=0"},
      {"solver.momentum=1"},
      {"solver.momentum=-0.1"},
      {"solver.weight_decay=-1"},
      {"solver.iter_size=0"},
      {"solver.rule={ pattern: \"*\" lr_mult: -1 }"},
      {"solver.rule={ pattern: \"*\" decay_mult: -1 }"},
      {"solver.base_lr_per_256=1"},  // besides base_lr
      {"solver.end_lr=-1"},
      {"solver.trust_coefficient=0"},
      {"solver.epsilon=-1"},
      {"solver.type=LAMB", "solver.epsilon=0"},
      {"solver.type=Adam", "solver.epsilon=0"},
      {"solver.type=AdamW", "solver.epsilon=0"},
      {"solver.type=AdaDelta", "solver.epsilon=0"},
      {"solver.type=Muon", "solver.epsilon=0"},
      {"solver.type=Muon", "comm.mode=SPARSE"},
      {"solver.muon.momentum=1"},
      {"solver.muon.iterations=0"},
      {"solver.muon.iterations=31"},
      {"solver.beta1=1"},
      {"solver.beta2=-0.1"},
      {"solver.label_smoothing=1"},
      {"solver.class_weight=1,-1"},
      {"solver.class_weight=1,inf"},
      {"solver.class_weight=0,0"},
      {"solver.loss_scale.scale=0.5"},
      {"solver.loss_scale.scale=2e12"},
      {"solver.loss_scale.least=0"},
      {"solver.loss_scale.least=65537"},
      {"solver.loss_scale.growth_interval=0"},
      {"solver.loss_scale.most_bad_steps=0"},
      {"solver.rule[0].pattern=*", "solver.rule[0].until_epoch=-0.1"},
      {"solver.rule[0].pattern=*", "solver.rule[0].until_epoch=1000001"},
      {"solver.rule[0].pattern=*", "solver.rule[0].until_epoch=nan"},
      {"solver.batch_phase[0].epoch=1"},
      {"solver.batch_phase[0].iter_size=2", "solver.batch_phase[0].epoch=-1"},
      {"solver.batch_phase[0].epoch=2", "solver.batch_phase[0].iter_size=2",
       "solver.batch_phase[1].iter_size=2", "solver.batch_phase[1].epoch=2"},
      {"solver.step_size=0"},
      {"solver.step_epochs=0"},
      {"solver.lr_policy=STEP", "solver.step_epochs=1", "solver.step_size=1"},
      {"solver.epoch_value=0"},
      {"solver.gamma=-1"},
      {"solver.warmup_steps=-1"},
      {"solver.warmup_epochs=-1"},
      {"solver.warmup_steps=1", "solver.warmup_epochs=1"},
      {"solver.warmup_lr=-1"},
      {"solver.lr_policy=STEP"},
      {"solver.lr_policy=STEP", "solver.step_size=3", "solver.gamma=0"},
      {"solver.lr_policy=MULTISTEP"},
      {"solver.lr_policy=MULTISTEP", "solver.step_value=0,3"},
      {"solver.lr_policy=MULTISTEP", "solver.step_value=3,2"},
      {"solver.lr_policy=POLY", "solver.power=-1"},
      {"train_data.batch_size=0"},
      {"validation_data.batch_size=-5"},
      {"train_data.workers=-1"},
      {"train_data.prefetch=0"},
      {"train_data.channels=0"},
      {"train_data.channels=17"},
      {"input.channels=17"},
      {"train_data.pixel_type=FP16"},
      {"train_data.std=0"},
      {"train_data.std=1,1"},
      {"train_data.resize_shorter=-1"},
      {"train_data.resize_height=8"},
      {"train_data.resize_height=8", "train_data.resize_width=8", "train_data.resize_shorter=8"},
      {"train_data.pad=-1"},
      {"train_data.batch_size=16777217"},
      {"train_data.workers=1025"},
      {"train_data.prefetch=1025"},
      {"train_data.images=-1"},
      {"train_data.resize_shorter=65501"},
      {"train_data.resize_width=-1"},
      {"train_data.crop_size=65501"},
      {"train_data.size_phase[0].crop_size=8"},  // without an epoch
      {"train_data.size_phase[0].epoch=1"},
      {"train_data.size_phase[0].epoch=0", "train_data.size_phase[0].crop_size=8"},
      {"train_data.size_phase[0].epoch=1", "train_data.size_phase[0].crop_size=65501"},
      {"train_data.brightness=-1"},
      {"train_data.contrast=-1"},
      {"train_data.saturation=-1"},
      {"train_data.lighting=-1"},
      {"train_data.brightness=1", "train_data.mean=1", "train_data.channels=1"},
      {"train_data.cache_mib=-1"},
      {"train_data.cache_mib=16777217"},
      {"train_data.device_cache_mib=-1"},
      {"validation_data.device_cache_mib=1"},
      {"train_data.brightness=1", "train_data.device_cache_mib=1"},
      {"train_data.brightness=1", "train_data.pixel_type=UINT16"},
      {"train_data.device_cache_mib=1", "train_data.pixel_type=FP32"},
      {"train_data.mean_file=m"},  // besides mean
      {"train_data.mean=", "train_data.mean_file=m", "train_data.pad=1"},
      {"train_data.mean=", "train_data.mean_file=m", "train_data.device_cache_mib=1"},
      {"train_data.labels.count=3"},  // of one class
      {"train_data.labels.type=CLASSES", "validation_data.labels.type=CLASSES",
       "train_data.labels.count=-1"},
      {"train_data.labels.type=CLASSES", "validation_data.labels.type=CLASSES",
       "train_data.labels.count=1048577"},
      {"train_data.labels.type=CLASSES"},  // not of validation_data
      {"train_data.labels.type=VALUES", "validation_data.labels.type=VALUES"},  // how many?
      {"train_data.labels.type=CLASSES", "validation_data.labels.type=CLASSES",
       "train_data.labels.count=2", "validation_data.labels.count=3"},
      {"train_data.labels.type=CLASSES", "validation_data.labels.type=CLASSES", "classes=4",
       "train_data.labels.count=2"},
      {"train_data.policy.operations=0"},
      {"train_data.policy.operations=17"},
      {"train_data.policy.magnitude=31"},
      {"train_data.policy.type=AUTO_AUGMENT"},
      {"train_data.policy.type=RAND_AUGMENT", "train_data.mean=1", "train_data.std=1",
       "train_data.channels=4"},
      {"train_data.policy.type=RAND_AUGMENT", "train_data.pixel_type=UINT16"},
      {"train_data.policy.type=TRIVIAL_AUGMENT_WIDE", "train_data.device_cache_mib=1"},
      {"train_data.erasing.probability=1.1"},
      {"train_data.erasing.probability=0.1", "train_data.device_cache_mib=1"},
      {"train_data.erasing.min_area=0.5"},
      {"train_data.erasing.max_area=0"},
      {"train_data.erasing.min_aspect=4"},
      {"train_data.erasing.max_aspect=101"},
      {"train_data.test_flips=true"},
      {"train_data.test_shifts=1"},
      {"validation_data.test_shifts=-1"},
      {"validation_data.crop_size=28", "validation_data.test_shifts=28"},
      {"train_data.pad_mode=MIRROR"},
      {"train_data.resize_shorter=32", "train_data.pad_mode=REFLECT", "train_data.pad=32"},
      {"train_data.resize_height=9", "train_data.resize_width=8", "train_data.pad_mode=REFLECT",
       "train_data.pad=8"},
      {"train_data.mirror=false", "train_data.alternate_mirror=true"},
      {"train_data.mix.mixup=-0.1"},
      {"train_data.mix.cutmix=1001"},
      {"train_data.mix.probability=1.1"},
      {"train_data.mix.mixup=0.2", "train_data.batch_size=1"},
      {"train_data.shuffle_window=-1"},
      {"train_data.exchange=1.1"},
      {"train_data.exchange=-0.1"},
      {"train_data.exchange=0.5", "train_data.shuffle_window=9"},
      {"train_data.min_area=0"},
      {"train_data.max_area=1.1"},
      {"train_data.min_aspect=0"},
      {"train_data.max_aspect=101"},
      {"train_data.random_crop=true"},
      {"train_data.random_resized_crop=true"},
      {"train_data.crop_size=9", "train_data.random_crop=true",
       "train_data.random_resized_crop=true"},
      {"train_data.crop_size=9", "train_data.pad=1", "train_data.random_resized_crop=true"},
      {"train_data.crop_size=9", "train_data.random_resized_crop=true", "train_data.min_aspect=2"},
      {"train_data.crop_size=-1"},
      {"train_data.resize_shorter=32", "train_data.pad=2", "train_data.crop_size=37"},
      {"threads=-1"},
      {"batch_norm_group=-1"},
      {"device="},
      {"comm.timeout_s=0"},
      {"comm.threshold_first=-1"},
      {"comm.threshold_middle=-1"},
      {"comm.threshold_last=-1"},
      {"comm.device_transport=tcp"},
      {"comm.sparse.density=0"},
      {"comm.sparse.density=1.1"},
      {"comm.sparse.chunk_size=0"},
      {"comm.sparse.warmup_fraction=-0.1"},
      {"comm.sparse.warmup_fraction=1.1"},
      {"comm.quantized.bits=5"},
      {"comm.quantized.bits=0"},
      {"comm.quantized.bits=-8"},
      {"comm.quantized.bits=16"},
      {"comm.periodic.steps=0"},
      {"comm.periodic.steps=100001"},
      {"comm.periodic.warmup_fraction=1.1"},
      {"comm.periodic.outer_lr=0"},
      {"comm.periodic.outer_momentum=1"},
      {"checkpoint.keep=-1"},
      {"checkpoint.interval_epochs=-1"},
      {"checkpoint.interval_steps=-1"},
      {"telemetry.display_interval=0"},
      {"validation_interval_epochs=-1"},
      {"validation_interval_steps=-1"},
      {"validation_interval_steps=9", "validation_interval_epochs=1"},
      {"solver.lr_policy=SIGMOID"},
      {"solver.lr_policy=SIGMOID", "solver.step_size=9", "solver.gamma=inf"},
      {"solver.lr_policy=INV", "solver.gamma=-1"},
  };
  for (const auto& overrides : wrong) {
    // The message is about one of the overrides, or about the block that lacks something.
    const std::string error = Error(overrides);
    bool named = error.find(" is missing: ") != error.npos;
    for (const std::string& override : overrides) {
      named = named || error.find("--set " + override + ": ") == 0;
    }
    EXPECT_TRUE(named) << overrides.back() << ": " << error;
  }
}

TEST_F(ConfigTest, ModesSayTheSettingTheValueAndTheLimit) {
  struct Case {
    std::string setting, value, limit;
  };
  for (const Case& c : std::vector<Case>{{"comm.topk.density", "0", "at least 0.0001"},
                                         {"comm.topk.density", "1e-05", "at least 0.0001"},
                                         {"comm.topk.density", "1.1", "at most 1"},
                                         {"comm.topk.warmup_fraction", "-0.1", "at least 0"},
                                         {"comm.topk.warmup_fraction", "1.1", "at most 1"},
                                         {"comm.topk.local_clip", "-1", "at least 0"},
                                         {"comm.low_rank.rank", "0", "at least 1"},
                                         {"comm.low_rank.rank", "257", "at most 256"},
                                         {"comm.low_rank.warmup_fraction", "-0.1", "at least 0"},
                                         {"comm.low_rank.warmup_fraction", "1.1", "at most 1"}}) {
    const std::string override = c.setting + "=" + c.value;
    EXPECT_EQ(Error({override}),
              "--set " + override + ": " + c.setting + " is " + c.value + ", must be " + c.limit);
  }
}

TEST_F(ConfigTest, ImagesAreReflectedWithinTheirSize) {
  const std::string job = "net: 'n' solver { base_lr: 1 max_steps: 1 }\n";
  EXPECT_EQ(ErrorOfFile(job + "train_data { source: 'd' resize_shorter: 8 pad_mode: REFLECT\n"
                              "pad: 8 }"),
            "FILE:3:1: train_data.pad is 8, must be less than 8 (resize_shorter) with pad_mode: "
            "REFLECT");
  EXPECT_EQ(ErrorOfFile(job + "train_data { source: 'd' } validation_data { source: 'v'\n"
                              "crop_size: 8\ntest_shifts: 8 }"),
            "FILE:4:1: validation_data.test_shifts is 8, must be less than 8 (crop_size)");
  EXPECT_EQ(ErrorOfFile(job + "train_data { source: 'd'\ntest_shifts: 1 }"),
            "FILE:3:1: train_data.test_shifts only applies to evaluation; set it in "
            "validation_data");
}

TEST_F(ConfigTest, PhasesOfImageSizesAscendAndFit) {
  const std::string job = "net: 'n' solver { base_lr: 1 max_steps: 1 }\n";
  const auto error = [&](const std::string& data) {
    return ErrorOfFile(job + "train_data { source: 'd'\n" + data + " }");
  };
  EXPECT_EQ(error("crop_size: 8 resize_shorter: 12 size_phase { epoch: 0.5 crop_size: 12 }"),
            "no error");
  EXPECT_EQ(error("crop_size: 8 resize_shorter: 12\n"
                  "size_phase { epoch: 1 crop_size: 16 resize_shorter: 16 }"),
            "no error");
  EXPECT_EQ(error("crop_size: 8 resize_shorter: 12\nsize_phase { epoch: 1 crop_size: 13 }"),
            "FILE:4:23: train_data.size_phase[0].crop_size is 13, must be at most 12 "
            "(resize_shorter and 2 pad)");
  EXPECT_EQ(error("size_phase { epoch: 1 crop_size: 8 }"),
            "FILE:3:1: train_data.size_phase needs crop_size, the size of the images before the "
            "first phase: set it");
  EXPECT_EQ(error("crop_size: 4\nsize_phase { epoch: 1 crop_size: 8 }\n"
                  "size_phase { epoch: 1 crop_size: 9 }"),
            "FILE:5:14: train_data.size_phase[1].epoch is 1, must be greater than the epoch of the "
            "phase before (1)");
}

TEST_F(ConfigTest, ClassWeightsAreForLabelsOfOneClass) {
  const std::string job = "net: 'n' solver { base_lr: 1 max_steps: 1 class_weight: [1, 2] }\n";
  EXPECT_EQ(ErrorOfFile(job + "train_data { source: 'd' }"), "no error");
  EXPECT_EQ(ErrorOfFile(job + "train_data { source: 'd' labels { type: CLASSES } }"),
            "FILE:1:43: solver.class_weight does not go with train_data.labels.type CLASSES, whose "
            "loss has no class weights: remove it");
}

TEST_F(ConfigTest, TheLimitsThemselvesAreAllowed) {
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {"solver.momentum=0"},
           {"checkpoint.keep=0"},
           {"threads=0"},
           {"train_data.mean="},
           {"train_data.mean=", "train_data.mean_file=m"},
           {"train_data.mean_file="},
           {"comm.sparse.density=1"},
           {"comm.topk.density=0.0001"},
           {"comm.topk.density=1"},
           {"comm.topk.warmup_fraction=0"},
           {"comm.topk.warmup_fraction=1"},
           {"comm.topk.local_clip=0"},
           {"comm.low_rank.rank=1"},
           {"comm.low_rank.rank=256"},
           {"comm.low_rank.warmup_fraction=0"},
           {"comm.low_rank.warmup_fraction=1"},
           {"train_data.exchange=0"},
           {"train_data.workers=1024"},
           {"solver.loss_scale.scale=1"},
           {"solver.epsilon=0"},
           {"solver.rule[0].pattern=*", "solver.rule[0].until_epoch=0"},
           {"solver.rule[0].pattern=*", "solver.rule[0].until_epoch=1000000"},
           {"solver.lr_policy=SIGMOID", "solver.step_size=9", "solver.gamma=-0.5"},
           {"solver.lr_policy=SIGMOID", "solver.step_size=9", "solver.gamma=0"},
           {"validation_interval_steps=0", "validation_interval_epochs=2"},
           {"validation_interval_epochs=0"},
           {"validation_interval_steps=9", "validation_interval_epochs=0"},
           {"solver.type=AdaGrad", "solver.epsilon=0"},
           {"solver.type=RMSProp", "solver.epsilon=0"},
           {"solver.type=Adam", "solver.epsilon=1e-10"},
           {"solver.class_weight=0,0.5"},
           {"solver.class_weight=[0, 0.5]"},
           {"train_data.mean=1"},
           {"train_data.mean=1", "train_data.channels=16"},
           {"train_data.pixel_type=UINT16"},
           {"train_data.pixel_type=FP32", "train_data.mean=0.5"},
           {"train_data.device_cache_mib=1", "train_data.mean=1", "train_data.channels=5"},
           {"train_data.resize_shorter=32", "train_data.pad=2", "train_data.crop_size=36"},
           {"train_data.resize_shorter=32", "train_data.pad_mode=REFLECT", "train_data.pad=31"},
           {"train_data.pad_mode=REFLECT", "train_data.pad=99"},
           {"validation_data.crop_size=28", "validation_data.test_shifts=27"},
           {"solver.lr_policy=MULTISTEP", "solver.step_value=1,2"}}) {
    EXPECT_EQ(Error(overrides), "no error") << overrides.back();
  }
}

TEST_F(ConfigTest, NumbersThatNoClockAndNoCounterHoldsAreRefused) {
  for (const char* setting :
       {"solver.max_epochs=1e308", "solver.warmup_epochs=1e308", "solver.step_epochs=1e308",
        "solver.epoch_value=1e308", "solver.warmup_steps=9223372036854775807",
        "solver.step_size=9223372036854775807", "solver.step_value=9223372036854775807",
        "solver.iter_size=2147483647", "comm.timeout_s=1e308",
        "comm.sparse.chunk_size=9223372036854775807", "train_data.images=9223372036854775807"}) {
    const std::string field = std::string(setting).substr(0, std::string(setting).find('='));
    EXPECT_NE(Error({setting}).find(field), std::string::npos) << Error({setting});
    EXPECT_NE(Error({setting}).find("must be at most"), std::string::npos) << Error({setting});
  }
  EXPECT_NE(Error({"solver.batch_phase[0].epoch=1e308", "solver.batch_phase[0].iter_size=2"})
                .find("solver.batch_phase[0].epoch is 1e+308, must be at most 1000000"),
            std::string::npos);
}

TEST_F(ConfigTest, AWarmUpIsShorterThanTraining) {
  EXPECT_NE(Error({"solver.warmup_epochs=2.5"})
                .find("solver.warmup_epochs is 2.5, must be less than max_epochs (2.5): shorten"),
            std::string::npos)
      << Error({"solver.warmup_epochs=2.5"});
  EXPECT_EQ(Error({"solver.warmup_epochs=2.4"}), "no error");
}

}  // namespace
}  // namespace gf
