// Sums per column on the emulated GPU, whose blocks arrive in two orders.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "layers/cuda/bias_kernels.h"
#include "tests/emulated_gpu/blocks.h"
#include "tests/emulated_gpu/counts.h"

namespace gf {
namespace {

struct Case {
  ColumnsView view;
  DType type;
};

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return std::string(Name(info.param.type)) + "_" + std::to_string(info.param.view.rows) + "x" +
         std::to_string(info.param.view.columns);
}

class ColumnSumsTest : public testing::TestWithParam<Case> {
 protected:
  ColumnSumsTest() {
    const int64_t count = view_.rows * view_.columns;
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1, 1);
    // Rounded to BF16: the same numbers in all types, but for FP16's range.
    std::vector<char> bytes(count * SizeOf(type_));
    expected_.resize(view_.columns);
    for (int64_t i = 0; i < count; ++i) {
      const float value = __bfloat162float(__float2bfloat16_rn(uniform(random)));
      Put(value, &bytes[i * SizeOf(type_)]);
      expected_[i % view_.columns] += value;
    }
    dy_ = device_.Allocate(bytes.size());
    device_.CopyFromHost(bytes.data(), dy_.get(), bytes.size(), device_.compute_stream());
    counters_ = device_.Allocate(counter_bytes_);
  }
  ~ColumnSumsTest() override { emulated::SetBackwards(false); }

  // The sums; scratch memory holds something else before each call.
  std::vector<char> Sums() {
    const size_t scratch_bytes = ColumnSumsBytes(view_, type_, 1);
    const auto scratch = device_.Allocate(scratch_bytes);
    const std::vector<char> garbage(scratch_bytes, 0x71);
    device_.CopyFromHost(garbage.data(), scratch.get(), scratch_bytes, device_.compute_stream());
    std::vector<char> sums(view_.columns * SizeOf(type_));
    const auto dbias = device_.Allocate(sums.size());
    BiasGradient(view_, type_, dy_.get(), nullptr, dbias.get(), {scratch.get(), counters_.get()},
                 RawStream(device_.compute_stream()));
    device_.CopyToHost(dbias.get(), sums.data(), sums.size(), device_.compute_stream());
    return sums;
  }

  void Put(float value, char* to) const {
    const __half half = __float2half_rn(value);
    const __nv_bfloat16 bfloat = __float2bfloat16_rn(value);
    const void* const from = type_ == DType::kFP32   ? static_cast<const void*>(&value)
                             : type_ == DType::kFP16 ? static_cast<const void*>(&half)
                                                     : &bfloat;
    std::memcpy(to, from, SizeOf(type_));
  }
  float Get(const char* from) const {
    if (type_ == DType::kFP32) return *reinterpret_cast<const float*>(from);
    if (type_ == DType::kFP16) return __half2float(*reinterpret_cast<const __half*>(from));
    return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(from));
  }

  const ColumnsView view_ = GetParam().view;
  const DType type_ = GetParam().type;
  CudaDevice device_;
  std::vector<double> expected_;
  std::shared_ptr<void> dy_, counters_;
  const size_t counter_bytes_ = ColumnCountersBytes(view_, type_);
};

TEST_P(ColumnSumsTest, AreTheSums) {
  const double tolerance = type_ == DType::kFP32 ? 1e-6 : type_ == DType::kFP16 ? 1e-3 : 8e-3;
  const std::vector<char> sums = Sums();
  for (int c = 0; c < view_.columns; ++c) {
    const double scale = std::sqrt(static_cast<double>(view_.rows)) + std::abs(expected_[c]);
    EXPECT_NEAR(Get(&sums[c * SizeOf(type_)]), expected_[c], tolerance * scale) << "column " << c;
  }
}

TEST_P(ColumnSumsTest, DoNotDependOnTheOrderOfTheBlocks) {
  const std::vector<char> forwards = Sums();
  emulated::SetBackwards(true);
  EXPECT_EQ(Sums(), forwards);
}

TEST_P(ColumnSumsTest, LeaveTheCountersAsTheyWere) {
  const std::vector<char> first = Sums();
  std::vector<char> counters(counter_bytes_, 1);
  device_.CopyToHost(counters_.get(), counters.data(), counter_bytes_, device_.compute_stream());
  EXPECT_EQ(counters, std::vector<char>(counter_bytes_, 0));
  EXPECT_EQ(Sums(), first);
}

TEST_P(ColumnSumsTest, TakeOneKernel) {
  const int64_t before = emulated::Now().kernels;
  Sums();
  EXPECT_EQ(emulated::Now().kernels, before + 1);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const DType type : {DType::kFP32, DType::kFP16, DType::kBF16}) {
    // One part and several, one tile and several, the last of which is not full; packs and single
    // columns; columns of fewer threads than a tile; fewer rows than a block has threads.
    for (const ColumnsView view :
         {ColumnsView{3, 8}, ColumnsView{300, 72}, ColumnsView{5003, 64}, ColumnsView{7001, 200},
          ColumnsView{6007, 37}, ColumnsView{12345, 1}, ColumnsView{9000, 16}}) {
      cases.push_back({view, type});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Shapes, ColumnSumsTest, testing::ValuesIn(Cases()), NameOf);

}  // namespace
}  // namespace gf
