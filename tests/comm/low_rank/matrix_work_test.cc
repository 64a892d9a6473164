// A matrix's order in memory changes nothing in what LOW_RANK makes of it.
#include "comm/low_rank/matrix_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/cpu/dnnl.h"
#include "core/random.h"

namespace gf {
namespace {

using Floats = std::vector<float>;
using Tag = dnnl::memory::format_tag;

enum class Form { kPlain, kBlocked, kConverted };

struct Order {
  std::string name;
  dnnl::memory::dims dims;
  Shape shape;
  Tag tag;
  Form form;
};

// A matrix in some order, with its memory and one step's arithmetic.
class Stored {
 public:
  Stored(Device* device, const Order& order, bool plain, DType type, int rank) : device_(device) {
    entry_.shape = order.shape;
    const dnnl::memory::desc desc(order.dims, dnnl::memory::data_type::f32, order.tag);
    if (!plain) entry_.layout = FromDnnl(desc);
    entry_.count = entry_.layout.StorageCount(entry_.shape);
    m_.entry = &entry_;
    m_.rows = order.shape[0];
    m_.columns = order.shape.count() / m_.rows;
    m_.rank = rank;
    gradient_ = New(type);
    residual_ = New(DType::kFP32);
    left.resize(rank * m_.rows);
    right.resize(rank * m_.columns);
    const MatrixMemory memory = {m_.rows,        m_.columns,  rank,
                                 gradient_.data, type,        residual_.as<float>(),
                                 left.data(),    right.data()};
    workspace_.resize(MatrixWorkspace(m_));
    work = NewMatrixWork(m_, memory, device, workspace_.data());
    form = entry_.layout.plain() ? Form::kPlain
           : RowBlocksOf(m_)     ? Form::kBlocked
                                 : Form::kConverted;
  }

  void SetGradient(const Floats& values) { Set(values, gradient_); }
  Floats Gradient() const { return Get(gradient_); }
  Floats Residual() const { return Get(residual_); }

  // The elements of the pools, of which the matrix has fewer.
  int64_t stored() const { return entry_.count; }
  // How many of them are 0, of the FP32 gradient and of the residual.
  std::pair<int64_t, int64_t> Zeros() const {
    const auto count = [&](const Tensor& pool) {
      return std::count(pool.as<float>(), pool.as<float>() + entry_.count, 0.f);
    };
    return {count(gradient_), count(residual_)};
  }

  Form form;
  Floats left, right;
  std::unique_ptr<MatrixWork> work;

 private:
  Tensor New(DType type) const {
    Tensor tensor;
    tensor.desc = {entry_.shape, type, entry_.layout};
    tensor.owner = device_->Allocate(entry_.count * SizeOf(type));
    tensor.data = tensor.owner.get();
    return tensor;
  }
  void Set(const Floats& values, const Tensor& to) const {
    Tensor plain;
    plain.desc = {entry_.shape, DType::kFP32, Layout()};
    plain.data = const_cast<float*>(values.data());
    device_->Convert(plain, to, device_->compute_stream());
  }
  Floats Get(const Tensor& from) const {
    Floats values(entry_.shape.count());
    Tensor plain;
    plain.desc = {entry_.shape, DType::kFP32, Layout()};
    plain.data = values.data();
    device_->Convert(from, plain, device_->compute_stream());
    return values;
  }

  Device* const device_;
  PoolEntry entry_;
  LowRankMatrix m_;
  Tensor gradient_, residual_;
  Floats workspace_;
};

class MatrixWorkTest : public testing::TestWithParam<Order> {
 protected:
  const std::unique_ptr<Device> device_ = DeviceRegistry::Get().Create("device", "cpu", 2);
};

void ExpectNear(const Floats& actual, const Floats& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST_P(MatrixWorkTest, EqualsThePlainOrder) {
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    for (const int rank : {1, 3, 5}) {
      SCOPED_TRACE(testing::Message() << Name(type) << ", rank " << rank);
      Stored plain(device_.get(), GetParam(), true, type, rank);
      Stored stored(device_.get(), GetParam(), false, type, rank);
      // And one whose residual is read after every step.
      Stored settled(device_.get(), GetParam(), false, type, rank);
      ASSERT_EQ(stored.form, GetParam().form);
      Random random(1, 8);
      const auto fill = [&](Floats* values, float scale) {
        for (float& value : *values) value = scale * random.Gaussian();
      };
      Floats g(GetParam().shape.count());
      for (int step = 0; step < 3; ++step) {
        fill(&g, 1);
        fill(&plain.right, 0.1f);
        stored.right = settled.right = plain.right;
        for (Stored* s : {&plain, &stored, &settled}) {
          s->SetGradient(g);
          s->work->Project();
        }
        ExpectNear(stored.left, plain.left, 1e-4);
        // What other ranks add.
        fill(&plain.left, 0.1f);
        for (Stored* s : {&stored, &settled}) s->left = plain.left;
        for (Stored* s : {&plain, &stored, &settled}) s->work->Correlate();
        ExpectNear(stored.right, plain.right, 1e-4);
        EXPECT_EQ(stored.right, settled.right);
        fill(&plain.right, 1);
        for (Stored* s : {&stored, &settled}) s->right = plain.right;
        for (Stored* s : {&plain, &stored, &settled}) s->work->Expand();
        // The same bits: all ranks must have them, whatever their processors.
        EXPECT_EQ(stored.Gradient(), plain.Gradient());
        settled.work->Settle();
      }
      for (Stored* s : {&plain, &stored}) s->work->Settle();
      ExpectNear(stored.Residual(), plain.Residual(), 1e-4);
      EXPECT_EQ(stored.Residual(), settled.Residual());
      // Again: nothing is left to subtract.
      const Floats before = stored.Residual();
      stored.work->Settle();
      EXPECT_EQ(stored.Residual(), before);
    }
  }
}

// Whatever happens, what lies between the matrix's elements stays 0.
TEST_P(MatrixWorkTest, ThePaddingStaysZero) {
  constexpr int kRank = 2;
  Stored stored(device_.get(), GetParam(), false, DType::kFP32, kRank);
  const int64_t own = GetParam().shape.count(), padding = stored.stored() - own;
  Random random(2, 8);
  Floats g(own);
  for (const bool finite : {true, false}) {
    for (Floats* values : {&g, &stored.right}) {
      for (float& value : *values) value = 1 + random.Uniform();
    }
    stored.SetGradient(g);
    stored.work->Project();
    for (float& value : stored.left) value = 1 + random.Uniform();
    stored.work->Correlate();
    stored.work->Settle();
    EXPECT_EQ(stored.Zeros().second, padding);
    if (!finite) stored.left.assign(stored.left.size(), std::nanf(""));
    stored.work->Expand();
    EXPECT_EQ(stored.Zeros().first, padding);
  }
  for (const float value : stored.Gradient()) ASSERT_TRUE(std::isnan(value));
}

INSTANTIATE_TEST_SUITE_P(
    Orders, MatrixWorkTest,
    testing::Values(
        Order{"plain", {70, 300}, Shape{70, 300}, Tag::ab, Form::kPlain},
        Order{"transposed", {64, 300}, Shape{64, 300}, Tag::ba, Form::kBlocked},
        Order{"transposed_odd", {70, 300}, Shape{70, 300}, Tag::ba, Form::kConverted},
        Order{"matrix_64", {200, 130}, Shape{200, 130}, Tag::AB16b64a, Form::kBlocked},
        Order{"matrix_32", {70, 130}, Shape{70, 130}, Tag::AB16b32a, Form::kBlocked},
        Order{"filters", {70, 37, 3, 5}, Shape{70, 37, 3, 5}, Tag::ABcd16b16a, Form::kBlocked},
        Order{"filters_of_3", {70, 3, 7, 7}, Shape{70, 3, 7, 7}, Tag::Acdb16a, Form::kBlocked},
        Order{"groups", {2, 32, 20, 3, 3}, Shape{64, 20, 3, 3}, Tag::aBCde16c16b, Form::kBlocked},
        Order{"groups_odd",
              {2, 35, 20, 3, 3},
              Shape{70, 20, 3, 3},
              Tag::aBCde16c16b,
              Form::kConverted},
        Order{"pairs", {70, 130}, Shape{70, 130}, Tag::AB8b64a2b, Form::kConverted}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gf
