#include "comm/flow/mode_advice.h"

#include <gtest/gtest.h>

#include <string>

namespace gf {
namespace {

PoolLayout Vector(int64_t elements) {
  PoolLayout layout;
  PoolEntry entry;
  entry.name = "scale";
  entry.shape = Shape({elements});
  layout.Add(entry);
  return layout;
}

TEST(ModeAdviceTest, ModesThatFindNothingToCompressAreNamed) {
  const auto layout = [](int64_t inputs) {
    PoolLayout layout;
    PoolEntry entry;
    entry.name = "ip.weight";
    entry.shape = Shape({64, inputs});
    layout.Add(entry);
    return layout;
  };
  CommConfig comm;
  for (const CommConfig::Mode mode : {CommConfig::TOPK, CommConfig::QUANTIZED}) {
    comm.set_mode(mode);
    EXPECT_EQ(NothingIsLarge(comm, layout(64)), "");
    EXPECT_EQ(NothingIsLarge(comm, PoolLayout()), "");
    EXPECT_EQ(NothingIsLarge(comm, layout(63)),
              "comm.mode " + CommConfig::Mode_Name(mode) +
                  " sends everything as a whole: the net has no weights of 4,096 elements or "
                  "more; set comm.mode to LAZY");
  }
  comm.set_mode(CommConfig::SPARSE);
  EXPECT_EQ(NothingIsLarge(comm, layout(63)), "");
}

TEST(ModeAdviceTest, FewChunksAreNamedWithABetterSize) {
  CommConfig comm;
  comm.set_mode(CommConfig::SPARSE);
  EXPECT_EQ(FewChunks(comm, Vector(272000)),
            "comm.mode SPARSE chooses among only 9 chunks: 272,000 gradients in chunks of "
            "comm.sparse.chunk_size (32,000); set comm.sparse.chunk_size to 1360 or less, or set "
            "comm.mode to LAZY for a net as small as this");
  // The pool pads these to 272,000.
  EXPECT_NE(FewChunks(comm, Vector(271999)).find("only 9 chunks: 271,999 gradients in chunks"),
            std::string::npos);
  EXPECT_EQ(FewChunks(comm, Vector(6400)),
            "comm.mode SPARSE chooses among only 1 chunk: 6,400 gradients in chunks of "
            "comm.sparse.chunk_size (32,000); set comm.sparse.chunk_size to 32 or less, or set "
            "comm.mode to LAZY for a net as small as this");
  EXPECT_EQ(FewChunks(comm, Vector(2176)),
            "comm.mode SPARSE chooses among only 1 chunk: 2,176 gradients in chunks of "
            "comm.sparse.chunk_size (32,000); set comm.mode to LAZY for a net as small as this");
  EXPECT_EQ(FewChunks(comm, Vector(3200000)), "");
  comm.mutable_sparse()->set_chunk_size(1360);
  EXPECT_EQ(FewChunks(comm, Vector(272000)), "");
  comm.mutable_sparse()->set_chunk_size(32000);
  comm.mutable_sparse()->set_density(1);
  EXPECT_EQ(FewChunks(comm, Vector(272000)), "");
  comm.set_mode(CommConfig::LAZY);
  EXPECT_EQ(FewChunks(comm, Vector(272000)), "");
  comm.mutable_sparse()->set_density(0.1);
  comm.set_mode(CommConfig::PERIODIC);
  EXPECT_EQ(FewChunks(comm, Vector(272000)), "");
  comm.mutable_periodic()->set_exchange(CommConfig::SPARSE);
  EXPECT_EQ(
      FewChunks(comm, Vector(2176)),
      "comm.periodic.exchange SPARSE chooses among only 1 chunk: 2,176 gradients in chunks of "
      "comm.sparse.chunk_size (32,000); set comm.periodic.exchange to LAZY for a net as "
      "small as this");
  comm.mutable_periodic()->set_exchange(CommConfig::TOPK);
  EXPECT_NE(NothingIsLarge(comm, Vector(100)).find("set comm.periodic.exchange to LAZY"),
            std::string::npos);
}

TEST(ModeAdviceTest, TopkThatSendsAllIsNamedWithALowerDensity) {
  CommConfig comm;
  comm.set_mode(CommConfig::TOPK);
  comm.mutable_topk()->set_density(0.01);
  EXPECT_EQ(TopkSendsAll(comm, DType::kBF16, 100), "");
  EXPECT_EQ(TopkSendsAll(comm, DType::kBF16, 101),
            "TOPK equals LAZY at comm.topk.density 0.01 on 101 ranks: their messages "
            "would be longer than an allreduce of all gradients in BF16, so all gradients are "
            "sent; set comm.topk.density to 0.0049 or less, which sends at most half as many "
            "bytes, or take another mode");
  comm.set_wire_type(CommConfig::FP32);
  EXPECT_EQ(TopkSendsAll(comm, DType::kBF16, 133), "");
  EXPECT_NE(TopkSendsAll(comm, DType::kBF16, 134), "");
  comm.mutable_topk()->set_density(0.0049);
  EXPECT_EQ(TopkSendsAll(comm, DType::kBF16, 134), "");
  comm.mutable_topk()->set_density(1);  // as the user wants it
  EXPECT_EQ(TopkSendsAll(comm, DType::kBF16, 134), "");
  comm.mutable_topk()->set_density(0.01);
  comm.mutable_periodic()->set_exchange(CommConfig::TOPK);
  comm.set_mode(CommConfig::PERIODIC);
  EXPECT_NE(TopkSendsAll(comm, DType::kBF16, 134), "");
  comm.set_mode(CommConfig::LAZY);
  EXPECT_EQ(TopkSendsAll(comm, DType::kBF16, 134), "");
}

TEST(ModeAdviceTest, OnlyWhatIsNotWellIsNamed) {
  PoolLayout layout;
  PoolEntry entry;
  entry.name = "ip.bias";
  entry.shape = Shape({10});
  layout.Add(entry);
  CommConfig comm;
  EXPECT_TRUE(ModeAdvice(comm, layout, DType::kFP32, 200).empty());
  comm.set_mode(CommConfig::TOPK);
  EXPECT_EQ(ModeAdvice(comm, layout, DType::kFP32, 200).size(), 2u);
  EXPECT_EQ(ModeAdvice(comm, layout, DType::kFP32, 2).size(), 1u);
}

}  // namespace
}  // namespace gf
