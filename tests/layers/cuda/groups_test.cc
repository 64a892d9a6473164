// Kernels that divide 32-bit indices, on tensors that take several groups: the result is that of
// one group (Note [Indices of 31 bits]).
#include <functional>

#include "core/cuda/convert_kernels.h"
#include "core/cuda/error.h"
#include "layers/cuda/crop_kernels.h"
#include "layers/cuda/input_kernels.h"
#include "layers/cuda/interp_kernels.h"
#include "layers/cuda/scale_kernels.h"
#include "layers/cuda/softmax_kernels.h"
#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

class GroupsTest : public KernelTest {
 protected:
  Numbers Draw(DType type, int64_t count) const {
    Numbers numbers(type, count);
    Random random(3, static_cast<uint64_t>(count));
    numbers.FillGaussian(&random);
    return numbers;
  }
  // What run(to) writes of `count` numbers with groups of `most` items.
  Numbers Result(int64_t count, int64_t most, const std::function<void(void*)>& run) const {
    const ItemsOfGroup items(most);
    const auto to = NewNumbers(GetParam(), count);
    run(to.get());
    return Get(to, GetParam(), count);
  }
  void ExpectGroupsDoNotMatter(int64_t count, int64_t most, const std::function<void(void*)>& run) {
    const Numbers whole = Result(count, INT32_MAX, run);
    for (int64_t i = 0; i < count; ++i) ASSERT_FALSE(std::isnan(whole.Get(i))) << i;
    ExpectSame(Result(count, most, run), whole, "in groups");
  }
};

TEST_P(GroupsTest, Scale) {
  const ScaleView view = {7, 5, 6};
  const auto x = Put(Draw(GetParam(), 210)), gamma = Put(Draw(DType::kFP32, 5)),
             beta = Put(Draw(DType::kFP32, 5));
  ExpectGroupsDoNotMatter(210, 70, [&](void* y) {
    ScaleForward(view, GetParam(), x.get(), static_cast<const float*>(gamma.get()),
                 static_cast<const float*>(beta.get()), y, stream());
  });
}

TEST_P(GroupsTest, SoftmaxLossGradient) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 7 * 6; ++i) labels.push_back(i % 5);
  const auto saved = Put(Draw(DType::kFP32, 210));
  const auto gpu_labels = Put(labels.data(), labels.size() * sizeof(int64_t));
  SoftmaxLoss call;
  call.view = {7, 5, 6};
  call.type = GetParam();
  call.labels = static_cast<const int64_t*>(gpu_labels.get());
  call.samples = 6;
  for (const float share : {1.f, 0.3f}) {
    call.share = share;
    ExpectGroupsDoNotMatter(210, 70, [&](void* dx) {
      SoftmaxLossGradient(call, static_cast<const float*>(saved.get()), 0.5f, dx, stream());
    });
  }
}

TEST_P(GroupsTest, MixImages) {
  const Shape shape = {3, 2, 7, 5};
  const Numbers images = Draw(GetParam(), 210);
  const auto from = Put(images);
  // A row of the window has 6 numbers.
  ExpectGroupsDoNotMatter(210, 12, [&](void* y) {
    GF_CUDA(cudaMemcpyAsync(y, from.get(), 210 * SizeOf(GetParam()), cudaMemcpyDefault, stream()));
    MixImages({1, 2, 5, 3, 0.3f, 1}, shape, GetParam(), y, stream());
  });
}

TEST_P(GroupsTest, Transpose) {
  // 2 x 3 tiles in each of 5 matrices.
  const int64_t rows = 40, columns = 70, count = 5 * rows * columns;
  const auto from = Put(Draw(DType::kFP32, count));
  ExpectGroupsDoNotMatter(count, 13, [&](void* to) {
    TransposeElements(DType::kFP32, from.get(), GetParam(), to, 5, rows, columns, stream());
  });
}

TEST_P(GroupsTest, Crop) {
  const CropView view = {3, {6, 4, 5}, {7, 5, 6}, {1, 0, 1}};
  const auto from = Put(Draw(GetParam(), 210));
  ExpectGroupsDoNotMatter(
      120, 45, [&](void* to) { CopyShifted(view, SizeOf(GetParam()), from.get(), to, stream()); });
}

TEST_P(GroupsTest, Interp) {
  const InterpImages images = {7, 3, InterpAxis(4, 5), InterpAxis(6, 3)};
  const auto x = Put(Draw(GetParam(), 7 * 3 * 4 * 6));
  ExpectGroupsDoNotMatter(7 * 3 * 5 * 3, 100,
                          [&](void* y) { Interpolate(images, GetParam(), x.get(), y, stream()); });
}

GF_FOR_EVERY_TYPE(GroupsTest);

}  // namespace
}  // namespace gf
