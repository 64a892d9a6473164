// Every plan, carried out as a device with an ordered stream does.
#include "comm/plan_carrier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "comm/local/transport.h"
#include "core/error.h"
#include "tests/comm/algorithms/placements.h"

namespace gf {
namespace {

constexpr double kTimeout_s = 30;

// On numbers in host memory; a step has ended when Exchange returns.
class HostCarrier : public PlanCarrier {
 public:
  HostCarrier(std::vector<int>* vector, Transport* transport)
      : vector_(vector), transport_(transport) {}

  void Exchange(const Message& out, const Message& in, bool aside) override {
    EXPECT_TRUE(aside || !(out.peer >= 0 && in.peer >= 0 && out.range.begin < in.range.end &&
                           in.range.begin < out.range.end))
        << "what is sent is overwritten";
    aside_.assign(in.range.end - in.range.begin, -1);
    const auto bytes = [](const ElementRange& r) { return (r.end - r.begin) * sizeof(int); };
    int64_t receive = -1, send = -1;
    if (in.peer >= 0) {
      EXPECT_LT(in.range.begin, in.range.end);
      int* const to = aside ? aside_.data() : vector_->data() + in.range.begin;
      receive = transport_->Receive(in.peer, to, bytes(in.range), 0);
    }
    if (out.peer >= 0) {
      EXPECT_LT(out.range.begin, out.range.end);
      send = transport_->Send(out.peer, vector_->data() + out.range.begin, bytes(out.range), 0);
    }
    transport_->Drive(
        [&] {
          if (receive >= 0 && transport_->Done(receive)) receive = -1;
          if (send >= 0 && transport_->Done(send)) send = -1;
          return receive < 0 && send < 0 ? Progress::kDone : Progress::kNone;
        },
        "a step", 0);
  }

  void Merge(const ElementRange& range, bool add) override {
    ASSERT_EQ(static_cast<int64_t>(aside_.size()), range.end - range.begin);
    for (size_t i = 0; i < aside_.size(); ++i) {
      int& own = (*vector_)[range.begin + i];
      own = add ? own + aside_[i] : aside_[i];
    }
  }

 private:
  std::vector<int>* const vector_;
  Transport* const transport_;
  std::vector<int> aside_;
};

int Value(int rank, int64_t i) { return static_cast<int>(1000 * rank + i % 97); }

// The vectors of all ranks afterwards.
std::vector<std::vector<int>> CarryOutEverywhere(const std::vector<Plan>& plans, int64_t count) {
  const int world = static_cast<int>(plans.size());
  const auto mail = NewLocalMail(std::vector<std::string>(world, "local"), kTimeout_s);
  std::vector<std::vector<int>> vectors(world);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    for (int64_t i = 0; i < count; ++i) vectors[rank].push_back(Value(rank, i));
    ranks.emplace_back([&, rank] {
      const auto transport = NewLocalTransport(rank, mail);
      HostCarrier carrier(&vectors[rank], transport.get());
      try {
        CarryOut(plans[rank], count, &carrier);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
        BreakLocalMail(mail.get(), "another rank has failed");
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return vectors;
}

void CheckAlgorithms(const Topology& topology) {
  for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
    const auto algorithm = AlgorithmRegistry::Get().Create("algorithm", name);
    if (!algorithm->Fits(topology)) continue;
    std::vector<Plan> plans;
    for (int rank = 0; rank < topology.world(); ++rank) {
      plans.push_back(algorithm->AllReduce(rank, topology));
    }
    for (const int64_t count : {0, 1, 3, 64, 1001}) {
      SCOPED_TRACE(StrCat(name, ", ", Describe(topology), ", ", count, " elements"));
      std::vector<int> sum(count);
      for (int rank = 0; rank < topology.world(); ++rank) {
        for (int64_t i = 0; i < count; ++i) sum[i] += Value(rank, i);
      }
      for (const auto& vector : CarryOutEverywhere(plans, count)) ASSERT_EQ(vector, sum);
    }
  }
}

TEST(PlanCarrierTest, EveryAlgorithmSumsOverAllRanks) {
  for (const int world : {1, 2, 3, 4, 7, 8}) {
    for (const Topology& topology : Placements(world)) CheckAlgorithms(topology);
  }
}

TEST(PlanCarrierTest, WhatIsSentIsFromBeforeTheStep) {
  // Two ranks exchange their vectors, each replaced by the other's.
  const auto swap = [](int with) { return Plan{1, {{with, {0, 1}, with, {0, 1}, false}}}; };
  const auto vectors = CarryOutEverywhere({swap(1), swap(0)}, 5);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(vectors[0][i], Value(1, i));
    EXPECT_EQ(vectors[1][i], Value(0, i));
  }
}

}  // namespace
}  // namespace gf
