// Batches whose images and labels are mixed, from the net's input to its gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

class MixedBatchTest : public testing::Test {
 protected:
  MixedBatchTest() { Build(TestOptions()); }

  void Build(NetOptions options) {
    options.mixed = true;
    net_ = NewNet(kInputs + Conv("c", "x", 6) + Inner("ip", "c", 5) + Loss("loss", "ip"), options);
    net_->InitParameters();
    batch_ = RandomBatch(net_->input_shape(), 5);
    batch_.labels = {0, 3, 3, 1};
  }

  // The gradients of a step, and the loss.
  Values Step(const Batch& batch) {
    const float loss = net_->Forward(batch).Value();
    net_->Backward(1, nullptr);
    Values values = Gradients(*net_);
    values["loss"] = {loss};
    return values;
  }

  // All pixels mixed with 0.6; own labels have this share.
  Batch Mixed(float label_share) const {
    Batch batch = batch_;
    batch.mix = {0, 0, 8, 8, 0.6f, label_share};
    return batch;
  }

  void ExpectGradientsOfBothLabels() {
    const Values own = Step(Mixed(1)), other = Step(Mixed(0)), mixed = Step(Mixed(0.3f));
    double difference = 0;
    for (const auto& [name, values] : mixed) {
      ASSERT_EQ(values.size(), own.at(name).size()) << name;
      for (size_t i = 0; i < values.size(); ++i) {
        const float expected = 0.3f * own.at(name)[i] + 0.7f * other.at(name)[i];
        ASSERT_NEAR(values[i], expected, 1e-5f) << name << " " << i;
        difference += std::abs(own.at(name)[i] - other.at(name)[i]);
      }
    }
    EXPECT_GT(difference, 1);
  }

  std::unique_ptr<Net> net_;
  Batch batch_;
};

TEST_F(MixedBatchTest, GradientsAreThoseOfBothLabels) {
  for (const bool weighted : {false, true}) {
    NetOptions options = TestOptions();
    if (weighted) options.class_weights = {1, 4, 1, 0.5f, 2};
    Build(options);
    ExpectGradientsOfBothLabels();
  }
}

TEST_F(MixedBatchTest, TheOtherLabelIsThatOfTheImageBefore) {
  const Values other = Step(Mixed(0));
  Batch rolled = Mixed(1);
  rolled.labels = {1, 0, 3, 3};
  for (const auto& [name, values] : Step(rolled)) {
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], other.at(name)[i], 1e-5f) << name << " " << i;
    }
  }
}

TEST_F(MixedBatchTest, ABatchThatIsNotMixedFollowsAMixedOne) {
  const Values before = Step(batch_);
  Step(Mixed(0.3f));
  EXPECT_EQ(Step(batch_), before);
}

}  // namespace
}  // namespace gf
