#include "core/config/ignored_fields.h"

#include <gtest/gtest.h>

#include "core/config/config.h"

namespace gf {
namespace {

TEST(IgnoredFieldsTest, AreNamedOnceWithWhatDecides) {
  const NetSource net = ParseNet(R"(
    default_forward_type: FLOAT16
    default_backward_type: FLOAT16
    default_forward_math: FLOAT
    default_backward_math: FLOAT
    global_grad_scale: 1000.
    global_grad_scale_adaptive: true
    eltwise_mem_sharing: true
    layer { name: "a" type: "Data" top: "a" data_param { cache: true shuffle: true threads: 2 } }
    layer { name: "b" type: "Data" top: "b" data_param { cache: true }
            transform_param { use_gpu_transform: true } }
    layer { name: "c" type: "Convolution" bottom: "a" top: "c" forward_type: FLOAT
            convolution_param { cudnn_convolution_algo_seeker: GET engine: CUDNN } })",
                                 "net");
  EXPECT_EQ(IgnoredFields(net.param),
            "these fields have no effect (replacements in parentheses): "
            "cache (train_data.cache_mib of the job), shuffle (train_data.shuffle of the job), "
            "threads (train_data.workers of the job), use_gpu_transform (the loader), "
            "cudnn_convolution_algo_seeker (the device), "
            "forward_type (compute_type of the job), "
            "default_forward_type (compute_type of the job), "
            "default_backward_type (compute_type of the job), "
            "default_forward_math (compute_type of the job), "
            "default_backward_math (compute_type of the job), "
            "global_grad_scale (solver.loss_scale of the job), "
            "global_grad_scale_adaptive (solver.loss_scale of the job), "
            "eltwise_mem_sharing (memory is shared where it can be)");
}

TEST(IgnoredFieldsTest, AreThoseOfDataLayersWhoseImagesTheJobDelivers) {
  const NetSource net = ParseNet(R"(
    layer { name: "a" type: "DummyData" top: "a" dummy_data_param { data_filler { value: 1 } } }
    layer { name: "b" type: "WindowData" top: "b" window_data_param {
            fg_threshold: 0.5 bg_threshold: 0.5 fg_fraction: 0.25 context_pad: 16
            crop_mode: "warp" } })",
                                 "net");
  EXPECT_EQ(IgnoredFields(net.param),
            "these fields have no effect (replacements in parentheses): "
            "data_filler (train_data of the job), fg_threshold (images of the job are whole), "
            "bg_threshold (images of the job are whole), "
            "fg_fraction (images of the job are whole), "
            "context_pad (images of the job are whole), crop_mode (images of the job are whole)");
}

TEST(IgnoredFieldsTest, OtherFieldsAreNot) {
  const NetSource net = ParseNet(
      "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' convolution_param { num_output: "
      "3 engine: CUDNN } }",
      "net");
  EXPECT_EQ(IgnoredFields(net.param), "");
}

}  // namespace
}  // namespace gf
