#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/gradient_transport.h"

namespace gf {

// A transport that says how long an exchange takes.
class LongTransport : public GradientTransport {
 public:
  LongTransport(std::shared_ptr<GradientTransport> own, double seconds_per_byte)
      : own_(std::move(own)), seconds_per_byte_(seconds_per_byte) {}
  std::string Describe() const override { return own_->Describe(); }
  int64_t Start(const TensorCollective& collective) override { return own_->Start(collective); }
  void Await(int64_t number) override { own_->Await(number); }
  void Settle() override { own_->Settle(); }
  std::vector<TransferSpan> TakeSpans() override { return own_->TakeSpans(); }
  double Seconds(int64_t bytes) const override {
    return seconds_per_byte_ * static_cast<double>(bytes);
  }

 private:
  const std::shared_ptr<GradientTransport> own_;
  const double seconds_per_byte_;
};

}  // namespace gf
