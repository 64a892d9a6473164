#include <gtest/gtest.h>

#include <string>

#include "core/str_cat.h"
#include "tests/core/config/config_for_test.h"

namespace gf {
namespace {

TEST_F(ConfigTest, ModesOfExchangeThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(Error({"comm.mode=PER_TENSOR", "comm.threshold_auto=true"}),
            "--set comm.threshold_auto=true: comm.threshold_auto needs comm.mode LAZY, got "
            "PER_TENSOR: set it to false, or the mode to LAZY");
  EXPECT_EQ(
      Error({"comm.mode=LAZY", "comm.algorithm=ring", "comm.threshold_auto=true"}),
      "--set comm.threshold_auto=true: comm.threshold_auto needs comm.algorithm \"auto\", got "
      "\"ring\": set it to false, or the algorithm to \"auto\"");
  EXPECT_EQ(Error({"comm.mode=LAZY", "comm.algorithm=auto", "comm.threshold_auto=true",
                   "comm.sharded_update=true"}),
            "--set comm.threshold_auto=true: comm.threshold_auto does not go with sharded_update: "
            "set one of them to false");
  EXPECT_EQ(
      Error({"comm.mode=SPARSE", "comm.sharded_update=true"}),
      "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode SPARSE: "
      "set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=TOPK", "comm.sharded_update=true"}),
            "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode TOPK: "
            "set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=TOPK", "solver.type=LARS"}),
            "--set comm.mode=TOPK: comm.mode TOPK needs solver.type SGD, got LARS: set solver.type "
            "to SGD, or the mode to LOW_RANK, SPARSE or LAZY");
  EXPECT_EQ(Error({"comm.mode=LOW_RANK", "solver.type=LARS"}), "no error");
  EXPECT_EQ(
      Error({"comm.mode=LOW_RANK", "comm.sharded_update=true"}),
      "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode LOW_RANK: "
      "set another mode, e.g. LAZY");
  EXPECT_EQ(
      Error({"comm.mode=QUANTIZED", "comm.sharded_update=true"}),
      "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode QUANTIZED: "
      "set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=QUANTIZED", "comm.threshold_auto=true"}),
            "--set comm.threshold_auto=true: comm.threshold_auto needs comm.mode LAZY, got "
            "QUANTIZED: set it to false, or the mode to LAZY");
  EXPECT_EQ(Error({"comm.mode=QUANTIZED", "solver.type=LAMB", "comm.wire_type=BF16",
                   "comm.quantized.bits=4", "comm.quantized.rotate=true"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=TOPK", "solver.type=SGD", "comm.topk.density=0.001"}), "no error");
  EXPECT_EQ(Error({"comm.mode=AUTO", "comm.auto.exposed=0.1", "solver.type=LARS"}), "no error");
  EXPECT_EQ(Error({"comm.mode=AUTO", "comm.sparse.density=0.1"}),
            "--set comm.sparse.density=0.1: comm.sparse.density does not go with comm.mode AUTO, "
            "which chooses it: remove it, or set a mode");
  EXPECT_EQ(Error({"comm.mode=AUTO", "device=cuda"}),
            "--set comm.mode=AUTO: comm.mode AUTO cannot measure on the device \"cuda\": set a "
            "mode, e.g. LAZY with wire_type BF16, or QUANTIZED; gfsim --gpu with --set device=cpu "
            "shows what AUTO would take");
  EXPECT_EQ(Error({"comm.error_feedback=true"}),
            "--set comm.error_feedback=true: comm.error_feedback needs comm.wire_type BF16 or "
            "FP16, got GRADIENT: set one of them, or error_feedback to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.mode=SPARSE"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with comm.mode "
            "SPARSE: set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.mode=SPARSE"})
                .rfind("--set comm.error_feedback=true: comm.error_feedback does not go with", 0),
            0u)
      << "another wire type would not help";
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.mode=QUANTIZED"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with comm.mode "
            "QUANTIZED: set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.sharded_update=true"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with sharded_update: "
            "set one of them to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=BF16", "comm.threshold_auto=true"}),
            "--set comm.error_feedback=true: comm.error_feedback does not go with threshold_auto: "
            "set one of them to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=FP16", "compute_type=BF16"}),
            "--set comm.error_feedback=true: comm.error_feedback needs gradients in FP32: set "
            "compute_type to FP32, or error_feedback to false");
  EXPECT_EQ(Error({"comm.error_feedback=true", "comm.wire_type=FP16"}), "no error");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true", "solver.type=LARS"}),
            "--set comm.sparse.step_ahead=true: comm.sparse.step_ahead needs solver.type SGD, got "
            "LARS: remove it");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true", "compute_type=BF16"}),
            "--set comm.sparse.step_ahead=true: comm.sparse.step_ahead needs compute_type FP32 on "
            "CPUs, got BF16: remove it");
  EXPECT_EQ(
      Error({"comm.mode=PERIODIC", "comm.periodic.exchange=SPARSE", "comm.sparse.step_ahead=true"}),
      "--set comm.sparse.step_ahead=true: comm.sparse.step_ahead does not go with comm.mode "
      "PERIODIC: remove it");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true"}), "no error");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=false", "solver.type=LARS"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=SPARSE", "comm.sparse.step_ahead=true", "device=cuda",
                   "compute_type=BF16"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.periodic.exchange=TOPK", "comm.error_feedback=true"})
                .rfind("--set comm.error_feedback=true: comm.error_feedback needs "
                       "comm.periodic.exchange LAZY, got TOPK",
                       0),
            0u);
  EXPECT_EQ(Error({"comm.mode=SPARSE", "solver.type=LARS"}), "no error");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.periodic.exchange=PER_TENSOR"}),
            "--set comm.periodic.exchange=PER_TENSOR: comm.periodic.exchange is PER_TENSOR, "
            "expected LAZY, SPARSE, TOPK, LOW_RANK or QUANTIZED");
  EXPECT_NE(Error({"comm.periodic.exchange=PERIODIC", "comm.mode=PERIODIC"})
                .find("comm.periodic.exchange is PERIODIC, expected LAZY"),
            std::string::npos);
  EXPECT_EQ(
      Error({"comm.mode=PERIODIC", "comm.periodic.exchange=TOPK", "comm.topk.local_clip=1"}),
      "--set comm.topk.local_clip=1: comm.topk.local_clip does not go with comm.mode PERIODIC: "
      "the part of a difference of weights that it cuts off would be lost; remove it");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.wire_type=FP16"}),
            "--set comm.wire_type=FP16: comm.wire_type FP16 does not go with comm.mode PERIODIC, "
            "whose differences of weights may be too small for it: set BF16 or FP32");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "solver.loss_scale.policy=DYNAMIC"}),
            "--set comm.mode=PERIODIC: comm.mode PERIODIC does not go with loss scaling, whose "
            "skipped steps would differ between the ranks: set solver.loss_scale.policy to NONE "
            "and compute_type to BF16 or FP32");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "batch_norm_group=0"}),
            "--set comm.mode=PERIODIC: comm.mode PERIODIC does not go with batch_norm_group, whose "
            "ranks need the same weights: set batch_norm_group to 1, or the mode to LAZY");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.sharded_update=true"}),
            "--set comm.sharded_update=true: comm.sharded_update does not go with comm.mode "
            "PERIODIC: set another mode, e.g. LAZY");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.error_feedback=true", "comm.wire_type=BF16",
                   "comm.periodic.exchange=TOPK"}),
            "--set comm.error_feedback=true: comm.error_feedback needs comm.periodic.exchange "
            "LAZY, got TOPK, which keeps what it does not send by itself: set error_feedback to "
            "false");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.error_feedback=true"}),
            "--set comm.error_feedback=true: comm.error_feedback needs comm.wire_type BF16, got "
            "GRADIENT: set it, or error_feedback to false");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.error_feedback=true", "comm.wire_type=BF16",
                   "compute_type=BF16"}),
            "no error");
  EXPECT_EQ(Error({"comm.mode=PERIODIC", "comm.periodic.exchange=TOPK", "solver.type=LAMB"}),
            "no error");
  EXPECT_EQ(Error({"comm.algorithm=torus", "comm.sharded_update=true"}),
            "--set comm.sharded_update=true: comm.sharded_update needs comm.algorithm \"auto\" or "
            "\"ring\", got \"torus\": set one of these, or sharded_update to false");
  for (const char* type : {"LARS", "LARC", "LAMB", "Muon"}) {
    EXPECT_EQ(Error({"comm.sharded_update=true", StrCat("solver.type=", type)}),
              StrCat("--set comm.sharded_update=true: comm.sharded_update does not go with "
                     "solver.type ",
                     type,
                     ", which needs whole tensors: set sharded_update to false, or solver.type to "
                     "SGD or AdamW"));
  }
  EXPECT_EQ(Error({"comm.sharded_update=true", "solver.type=AdamW"}), "no error");
  EXPECT_EQ(Error({"comm.sharded_update=true", "solver.loss_scale.policy=DYNAMIC"}),
            "--set comm.sharded_update=true: comm.sharded_update does not go with loss scaling, "
            "which may skip an update: set solver.loss_scale.policy to NONE");
}

TEST_F(ConfigTest, TheBitsOfQuantizedAreAChoice) {
  EXPECT_EQ(Error({"comm.quantized.bits=5"}),
            "--set comm.quantized.bits=5: comm.quantized.bits is 5, must be 8 or 4");
  EXPECT_NE(Error({"comm.quantized.levels=3"}).find("levels"), std::string::npos);
  EXPECT_NE(ErrorOfFile("comm { quantized { bits: 4\n levels: 3 } }").find("FILE:2:2: "),
            std::string::npos);
}

}  // namespace
}  // namespace gf
