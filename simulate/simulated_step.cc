#include "simulate/simulated_step.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace gf {
namespace {

// Prices of plans, and the traffic of the collectives that were priced.
class PlanCosts : public CollectiveCosts {
 public:
  PlanCosts(Pricer* pricer, const std::string& algorithm)
      : pricer_(pricer), algorithm_(algorithm) {}

  int world() const override { return pricer_->network().world(); }

  double Seconds(Kind kind, int64_t bytes) override {
    const PlanPrice& price = pricer_->Price(NameOf(kind, bytes));
    for (int link = 0; link < kLinkKinds; ++link) {
      traffic_[link] += price.traffic[link] * static_cast<double>(bytes);
    }
    return pricer_->Seconds(price, bytes);
  }

  double RateLost(int64_t bytes) const override { return pricer_->RateLost(bytes); }

  const std::array<double, kLinkKinds>& traffic() const { return traffic_; }

 private:
  std::string NameOf(Kind kind, int64_t bytes) {
    switch (kind) {
      case kReduceScatter:
        return Pricer::kReduceScatter;
      case kAllGather:
        return Pricer::kAllGather;
      case kAllToAll:
        return Pricer::kAllToAll;
      default:
        return pricer_->Choose(algorithm_, bytes);
    }
  }

  Pricer* const pricer_;
  const std::string algorithm_;
  std::array<double, kLinkKinds> traffic_ = {};
};

}  // namespace

StepCompute ComputeOf(const NetModel& net, const ComputeTimes& times) {
  StepCompute compute;
  compute.data = times.other;
  for (double layer : times.forward) compute.forward += layer;
  for (size_t k = net.layers.size(); k-- > 0;) {
    compute.backward.push_back({times.backward[k], net.layers[k].entries});
  }
  return compute;
}

SimulatedStep SimulateStep(const SimulatedSetup& setup, const BucketSchedule& schedule,
                           const std::vector<double>& factors, Pricer* pricer, bool spans) {
  PlanCosts costs(pricer, setup.algorithm);
  SimulatedStep step;
  static_cast<StepResult&>(step) = PriceStep(setup, schedule, factors, &costs, spans);
  step.traffic = costs.traffic();
  return step;
}

std::vector<double> JitterOf(double jitter, int world, uint64_t seed, int64_t step) {
  std::vector<double> factors(world, 1.0);
  if (jitter == 0) return factors;
  Random random(seed, StreamId(RandomUse::kDraw, static_cast<uint64_t>(step)));
  for (double& factor : factors) factor = std::max(0.5, 1 + jitter * random.Gaussian());
  return factors;
}

std::vector<double> OverBatches(std::vector<double> factors, double batches) {
  if (batches == 1) return factors;
  for (double& factor : factors) factor = 1 + (factor - 1) / std::sqrt(batches);
  return factors;
}

}  // namespace gf
