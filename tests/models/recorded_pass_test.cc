// Nets whose repeated work is recorded and replayed.

#include "models/recorded_pass.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/layers_for_test.h"
#include "tests/models/recording_device.h"

namespace gf {
namespace {

// What a pass of six operations, of which the one numbered 2 does not repeat, does: "e<k>" when
// operation k is enqueued by a call, "r<k>" by a replay of its first recording and "R<k>" of a
// later one, "a<k>" when `after` is called for it.
class Pass {
 public:
  Pass() : pass_(&device_, {true, true, false, true, true, true}) {}

  std::string Run(bool plain = false) {
    did_.clear();
    const auto enqueue = [&](int k) {
      const char* const how = !device_.recording() ? "e" : recorded_.insert(k).second ? "r" : "R";
      device_.Enqueue([this, how, k] { did_ += how + std::to_string(k); });
    };
    const auto after = [&](int k) { did_ += "a" + std::to_string(k) + " "; };
    plain ? pass_.RunPlain(enqueue, after) : pass_.Run(enqueue, after);
    return did_;
  }

  RecordingDevice device_;
  RecordedPass pass_;
  std::set<int> recorded_;
  std::string did_;
};

TEST(RecordedPassTest, TheFirstPassIsPlainAndLaterPassesAreReplayed) {
  Pass pass;
  const std::string plain = "e0a0 e1a1 e2a2 e3a3 e4a4 e5a5 ";
  EXPECT_EQ(pass.Run(), plain);
  EXPECT_EQ(pass.pass_.recorded(), 0);
  for (int run = 0; run < 3; ++run) EXPECT_EQ(pass.Run(), "r0a0 r1a1 e2a2 r3a3 r4a4 r5a5 ");
  EXPECT_EQ(pass.pass_.recorded(), 5);
  EXPECT_EQ(pass.Run(/*plain=*/true), plain);
}

TEST(RecordedPassTest, StretchesEndAtBucketEndsAndBeforeOperationsThatDoNotRepeat) {
  Pass pass;
  pass.pass_.SetEnds({false, false, false, false, true, false});
  pass.Run();
  for (int run = 0; run < 2; ++run) EXPECT_EQ(pass.Run(), "r0r1a0 a1 e2a2 r3r4a3 a4 r5a5 ");
  EXPECT_EQ(pass.device_.recordings(), 3);
  pass.pass_.SetEnds({false, false, false, false, true, false});  // no change, no new recording
  pass.Run();
  EXPECT_EQ(pass.device_.recordings(), 3);
  pass.pass_.SetEnds({false, false, false, false, false, false});
  EXPECT_EQ(pass.Run(), "R0R1a0 a1 e2a2 R3R4R5a3 a4 a5 ");
  EXPECT_EQ(pass.device_.recordings(), 5);
}

TEST(RecordedPassTest, ADeviceThatCannotRecordGoesOnAsBefore) {
  Pass pass;
  pass.device_.Refuse();
  pass.pass_.SetEnds({false, false, false, false, false, false});
  for (int run = 0; run < 3; ++run) EXPECT_EQ(pass.Run(), "e0a0 e1a1 e2a2 e3a3 e4a4 e5a5 ");
  EXPECT_EQ(pass.pass_.recorded(), 0);
}

// --- whole nets ----------------------------------------------------------------------------

struct Trained {
  Values parameters, states;
  float loss = 0;
  std::vector<std::vector<int>> done;  // entries, by calls of the last backward pass

  bool operator==(const Trained& other) const {
    return parameters == other.parameters && states == other.states && loss == other.loss &&
           done == other.done;
  }
};

NetSource SmallNet() {
  const std::string kBias = "scale_param { bias_term: true }";
  return ParseNet(
      kInputs + Conv("c1", "x", 6) + Simple("BatchNorm", "b1", "c1") +
          Simple("Scale", "s1", "b1", kBias) + Simple("ReLU", "r1", "s1") + Conv("c2", "r1", 6) +
          Simple("BatchNorm", "b2", "c2") + Simple("Scale", "s2", "b2", kBias) +
          "layer { name: 'add' type: 'Eltwise' bottom: 's2' bottom: 'r1' top: 'add' }" +
          Simple("ReLU", "r2", "add") +
          Simple("Pooling", "p", "r2", "pooling_param { kernel_size: 2 stride: 2 }") +
          Inner("f1", "p", 16) + Simple("Dropout", "d", "f1") + Inner("f2", "d", 5) +
          Loss("loss", "f2") +
          "layer { name: 'accuracy' type: 'Accuracy' bottom: 'f2' bottom: 'y' top: 'accuracy' }",
      "test.prototxt");
}

// Six steps, each with other batches and another sequence number; in every second one there are two
// batches, and the loss scale changes in the middle.
Trained Train(const NetOptions& options, Device* device, const std::vector<int>* bucket_ends,
              std::pair<int, int>* recorded) {
  Net net(SmallNet(), options, device);
  net.InitParameters();
  if (bucket_ends != nullptr) net.SetBucketEnds(*bucket_ends);
  Trained trained;
  ParameterStore* const store = net.parameters().get();
  const auto& entries = store->layout().entries();
  for (uint64_t step = 0; step < 6; ++step) {
    const float scale = step < 3 ? 1 : 4;
    for (uint64_t part = 0; part <= step % 2; ++part) {
      const uint64_t sequence = 2 * step + part;
      trained.loss = net.Forward(RandomBatch(net.input_shape(), 5, sequence), sequence).Value();
      trained.done.clear();
      net.Backward(scale, [&](const std::vector<int>& done) { trained.done.push_back(done); });
      for (const PoolEntry& entry : entries) {
        const std::vector<float> gradient = store->Export(store->gradient(), entry);
        std::vector<float> weights = store->Export(store->master(), entry);
        for (size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.02f / scale * gradient[i];
        store->Import(weights, entry, store->master());
      }
    }
    store->SyncCompute();
    store->BumpVersion();
  }
  *recorded = net.RecordedOps();
  trained.parameters = Parameters(net);
  trained.states = States(net);
  return trained;
}

// Bit for bit what it does without recordings, on a device that records and on the tested one.
class RecordedNetTest : public ::testing::TestWithParam<bool> {};

TEST_P(RecordedNetTest, TrainsWithTheSameBits) {
  RecordingDevice recording;
  for (Device* device : {static_cast<Device*>(&recording), TestDevice()}) {
    NetOptions options = TestOptions();
    options.deterministic = true;
    options.recompute = GetParam();
    options.record = false;
    std::pair<int, int> recorded;
    const Trained wanted = Train(options, device, nullptr, &recorded);
    EXPECT_EQ(recorded.first, 0);
    EXPECT_EQ(wanted.done.size(), 6u);
    options.record = true;
    const std::vector<int> none, one = {2};
    for (const auto* ends : {static_cast<const std::vector<int>*>(nullptr), &none, &one}) {
      EXPECT_TRUE(Train(options, device, ends, &recorded) == wanted);
      if (device == TestDevice() && device->shares_host_memory()) continue;
      // All but both inputs, the loss and the accuracy, and dropout's forward pass.
      EXPECT_GE(recorded.first, recorded.second - 9) << "of " << recorded.second;
      EXPECT_LT(recorded.first, recorded.second);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recompute, RecordedNetTest, ::testing::Bool());

// How many calls of kernels are done when `done` comes for each entry in the third backward pass.
std::map<int, int64_t> CallsWhenDone(const std::vector<int>* bucket_ends) {
  RecordingDevice device;
  Net net(SmallNet(), TestOptions(), &device);
  net.InitParameters();
  if (bucket_ends != nullptr) net.SetBucketEnds(*bucket_ends);
  std::map<int, int64_t> calls;
  for (int step = 0; step < 3; ++step) {
    net.Forward(RandomBatch(net.input_shape(), 5));
    const int64_t before = device.calls();
    net.Backward(1, [&](const std::vector<int>& done) {
      for (int entry : done) calls[entry] = device.calls() - before;
    });
  }
  return calls;
}

TEST(RecordedNetTest, DoneComesAtOnceForTheEndsOfBucketsAndForAllByDefault) {
  const std::vector<int> ends = {2};
  const auto plain = CallsWhenDone(nullptr), merged = CallsWhenDone(&ends);
  ASSERT_EQ(plain.size(), merged.size());
  ASSERT_GT(plain.size(), 4u);
  int64_t last = 0;
  for (const auto& [entry, calls] : plain) {
    EXPECT_GE(calls, last);
    last = calls;
  }
  EXPECT_LT(plain.at(0), plain.at(2));
  EXPECT_EQ(merged.at(2), plain.at(2));
  EXPECT_EQ(merged.at(0), plain.at(2));
  EXPECT_EQ(merged.rbegin()->second, last);
  EXPECT_GT(merged.at(4), plain.at(4));
}

}  // namespace
}  // namespace gf
