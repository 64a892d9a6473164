#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/gradient_transport.h"

namespace gf {

// A transport that measures once, so that the flows which use it one after another have the same
// algorithms and only the first one takes the time. They must send the same messages.
class MeasuredTransport : public GradientTransport {
 public:
  explicit MeasuredTransport(std::unique_ptr<GradientTransport> transport)
      : transport_(std::move(transport)) {}

  std::string Describe() const override { return transport_->Describe(); }
  int64_t Start(const TensorCollective& collective) override {
    return transport_->Start(collective);
  }
  void Await(int64_t number) override { transport_->Await(number); }
  void Settle() override { transport_->Settle(); }
  std::vector<TransferSpan> TakeSpans() override { return transport_->TakeSpans(); }
  void Measure(int64_t largest, DType dtype, DType wire) override {
    if (!std::exchange(measured_, true)) transport_->Measure(largest, dtype, wire);
  }
  double Seconds(int64_t bytes) const override { return transport_->Seconds(bytes); }

 private:
  const std::unique_ptr<GradientTransport> transport_;
  bool measured_ = false;
};

}  // namespace gf
