#include "tests/comm/flow/separate_transport.h"

#include <glog/logging.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "comm/flow/gradient_transport.h"
#include "comm/plan.h"
#include "core/error.h"
#include "tests/comm/separate_device.h"

namespace gf {
namespace {

thread_local std::string fail_label;

// Makes the sum of a collective in the memory of the device, as a transport between devices does.
class SumOnDevice : public EncodedSum {
 public:
  explicit SumOnDevice(const TensorCollective& collective) : collective_(collective) {}
  void OnHost(float* messages) const override {
    float* const memory = collective_.tensor.as<float>() + collective_.range.begin;
    const size_t bytes = (collective_.range.end - collective_.range.begin) * sizeof(float);
    std::memcpy(SeparateDevice::HostAddress(memory), messages, bytes);
    collective_.sum->OnDevice(memory, nullptr);
    std::memcpy(messages, SeparateDevice::HostAddress(memory), bytes);
  }
  void OnDevice(float*, Stream*) const override { LOG(FATAL) << "a sum in host memory"; }

 private:
  const TensorCollective collective_;
};

class SeparateTransport : public GradientTransport {
 public:
  SeparateTransport(Device*, Communicator* comm, const std::string& algorithm)
      : comm_(comm), algorithm_(algorithm) {}

  std::string Describe() const override {
    return algorithm_.empty() ? "by the device" : "by the device, " + algorithm_;
  }

  int64_t Start(const TensorCollective& c) override {
    const std::string plan =
        algorithm_.empty() || c.kind != Collective::kAllReduce ? "" : ", " + algorithm_;
    TransportLog()->push_back(StrCat("start ", c.label, " (", NameOf(c.kind), plan, ")"));
    const Tensor host = SeparateDevice::HostView(c.tensor);
    const size_t element = SizeOf(host.desc.dtype);
    Flight flight;
    flight.collective = c;
    flight.memory = host.as<char>() + c.range.begin * element;
    flight.values.assign(flight.memory, flight.memory + (c.range.end - c.range.begin) * element);
    std::memset(flight.memory, 0xff, flight.values.size());
    flights_.push_back(std::move(flight));
    return next_++;
  }

  void Await(int64_t number) override {
    CHECK_EQ(number, next_ - static_cast<int64_t>(flights_.size()));
    Flight flight = std::move(flights_.front());
    flights_.pop_front();
    const TensorCollective& c = flight.collective;
    TransportLog()->push_back("await " + c.label);
    if (!fail_label.empty() && c.label.rfind(fail_label, 0) == 0) {
      throw CommError("the transport failed in " + c.label);
    }
    const int64_t count = c.range.end - c.range.begin;
    std::vector<char> sums = flight.values;
    const std::string algorithm = algorithm_.empty() ? "ring" : algorithm_;
    Collective collective = {c.kind, sums.data(), count, c.tensor.desc.dtype, c.wire, algorithm};
    if (c.sum != nullptr) collective.sum = std::make_shared<SumOnDevice>(c);
    comm_->Run(collective, c.label);
    int64_t begin = 0, end = count;
    if (c.kind == Collective::kReduceScatter) {  // the rest stays as it was
      begin = PartBegin(count, comm_->rank(), comm_->size());
      end = PartBegin(count, comm_->rank() + 1, comm_->size());
    }
    const int64_t element = static_cast<int64_t>(SizeOf(c.tensor.desc.dtype));
    std::memcpy(flight.memory, flight.values.data(), flight.values.size());
    std::memcpy(flight.memory + begin * element, sums.data() + begin * element,
                (end - begin) * element);
    ++awaited_;
  }

  void Settle() override {
    CHECK(flights_.empty());
    passed_ = awaited_;
  }

  // A call late, or after Settle. The n-th collective began at second n, took 1/4 s, and was waited
  // for half a second from its end on.
  std::vector<TransferSpan> TakeSpans() override {
    const int64_t end = std::exchange(passed_, awaited_);
    std::vector<TransferSpan> spans;
    for (; taken_ < end; ++taken_) {
      const auto after = [&](int milliseconds) {
        return TransferSpan::TimePoint() + std::chrono::seconds(taken_) +
               std::chrono::milliseconds(milliseconds);
      };
      spans.push_back({after(0), after(250), after(250), after(750)});
    }
    return spans;
  }

 private:
  struct Flight {
    TensorCollective collective;
    char* memory = nullptr;
    std::vector<char> values;
  };

  Communicator* const comm_;
  const std::string algorithm_;
  std::deque<Flight> flights_;
  int64_t next_ = 0;
  int64_t awaited_ = 0;
  // Collectives that TakeSpans finds passed, and those whose spans were taken.
  int64_t passed_ = 0, taken_ = 0;
};

GF_REGISTER(GradientTransportRegistry, "separate", SeparateTransport);

}  // namespace

std::vector<std::string>* TransportLog() {
  thread_local std::vector<std::string> log;
  return &log;
}

void FailTransportOf(const std::string& label) { fail_label = label; }

}  // namespace gf
