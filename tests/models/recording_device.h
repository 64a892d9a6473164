#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/comm/separate_device.h"

namespace gf {

// The device "recording" (GF_TEST_DEVICE=recording): a processor that nets find as hard to use as a
// GPU. The host cannot read its memory, and it records: while Record runs, a kernel's call is kept
// with its arguments as they are then and not done; a replay does it with these. Its kernels are
// the processor's. The kernels of Input, Dropout and StochasticDepth (forward), SoftmaxWithLoss and
// Accuracy do not repeat, and calling one inside of Record is a CHECK failure.
class RecordingDevice : public SeparateDevice {
 public:
  RecordingDevice();

  std::string name() const override { return "recording"; }
  bool Supports(DType compute) const override { return cpu()->Supports(compute); }
  std::unique_ptr<Recording> Record(const std::function<void()>& enqueue) override;
  void Convert(const Tensor& from, const Tensor& to, Stream* stream) override;
  void Zero(void* data, size_t bytes, Stream* stream) override;
  using SeparateDevice::cpu;

  // Does the work now, or keeps it for the recording under way.
  void Enqueue(std::function<void()> work);
  bool recording() const { return kept_ != nullptr; }
  // From now on nothing can be recorded.
  void Refuse() { refuses_ = true; }

  int recordings() const { return recordings_; }  // that were made
  int64_t calls() const { return calls_; }        // of kernels that were done

 private:
  std::vector<std::function<void()>>* kept_ = nullptr;
  bool refuses_ = false;
  int recordings_ = 0;
  int64_t calls_ = 0;
};

}  // namespace gf
