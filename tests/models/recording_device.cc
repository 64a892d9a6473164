#include "tests/models/recording_device.h"

#include <glog/logging.h>

#include <mutex>
#include <set>
#include <utility>

#include "layers/kernel.h"

namespace gf {
namespace {

class KeptWork : public Recording {
 public:
  explicit KeptWork(std::vector<std::function<void()>> work) : work_(std::move(work)) {}
  void Replay() override {
    for (const auto& call : work_) call();
  }

 private:
  const std::vector<std::function<void()>> work_;
};

template <typename T>
void Translate(T** pointer) {
  if (*pointer != nullptr) *pointer = static_cast<T*>(SeparateDevice::HostAddress(*pointer));
}
template <typename T>
void Translate(std::vector<T>* all) {
  for (T& one : *all) Translate(&one);
}

class RecordingKernel : public Kernel {
 public:
  RecordingKernel(const std::string& type, const Layer& layer, const KernelContext& context)
      : device_(static_cast<RecordingDevice*>(context.device)), type_(type) {
    KernelContext own = context;
    own.device = device_->cpu();
    kernel_ = KernelRegistry::Get().Create("kernel", "cpu/" + type, layer, own);
  }

  void Setup(KernelSetup* setup) override { kernel_->Setup(setup); }
  bool CanOmitBottomDiff() const override { return kernel_->CanOmitBottomDiff(); }
  bool CanRecompute() const override { return kernel_->CanRecompute(); }
  bool ForwardRepeats() const override {
    return BackwardRepeats() && type_ != "Dropout" && type_ != "StochasticDepth";
  }
  bool BackwardRepeats() const override {
    static const std::set<std::string> others = {"Input", "SoftmaxWithLoss", "Accuracy"};
    return others.count(type_) == 0;
  }

  void Forward(const KernelArgs& args) override { Do(ForwardRepeats(), &Kernel::Forward, args); }
  void Backward(const KernelArgs& args) override { Do(BackwardRepeats(), &Kernel::Backward, args); }
  void Recompute(const KernelArgs& args) override { Do(true, &Kernel::Recompute, args); }

 private:
  void Do(bool repeats, void (Kernel::*call)(const KernelArgs&), KernelArgs args) {
    CHECK(repeats || !device_->recording()) << type_ << " was recorded";
    Translate(&args.bottoms);
    Translate(&args.tops);
    Translate(&args.parameters);
    Translate(&args.master);
    Translate(&args.states);
    Translate(&args.saved);
    Translate(&args.scratch);
    Translate(&args.top_diffs);
    Translate(&args.bottom_diffs);
    Translate(&args.parameter_diffs);
    Kernel* const kernel = kernel_.get();
    device_->Enqueue([kernel, call, args]() mutable {
      // What the processor's kernels derive from weights is renewed.
      static uint64_t version = 0;
      args.parameters_version = ++version;
      (kernel->*call)(args);
    });
  }

  RecordingDevice* const device_;
  const std::string type_;
  std::unique_ptr<Kernel> kernel_;
};

// Of every type that the processor has.
void RegisterKernels() {
  const std::string prefix = "cpu/";
  for (const std::string& name : KernelRegistry::Get().Keys()) {
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string type = name.substr(prefix.size());
    KernelRegistry::Get().Add(
        "recording/" + type,
        [type](const Layer& layer, const KernelContext& context) -> std::unique_ptr<Kernel> {
          return std::make_unique<RecordingKernel>(type, layer, context);
        });
  }
}

const bool registered = DeviceRegistry::Get().Add("recording", [](int) -> std::unique_ptr<Device> {
  return std::make_unique<RecordingDevice>();
});

}  // namespace

RecordingDevice::RecordingDevice() {
  static std::once_flag once;
  std::call_once(once, RegisterKernels);
}

void RecordingDevice::Enqueue(std::function<void()> work) {
  const auto counted = [this, work = std::move(work)] {
    ++calls_;
    work();
  };
  if (kept_ == nullptr) return counted();
  kept_->push_back(counted);
}

std::unique_ptr<Recording> RecordingDevice::Record(const std::function<void()>& enqueue) {
  if (refuses_) return nullptr;
  std::vector<std::function<void()>> kept;
  kept_ = &kept;
  enqueue();
  kept_ = nullptr;
  ++recordings_;
  return std::make_unique<KeptWork>(std::move(kept));
}

void RecordingDevice::Zero(void* data, size_t bytes, Stream* stream) {
  Enqueue([this, data, bytes, stream] { SeparateDevice::Zero(data, bytes, stream); });
}

void RecordingDevice::Convert(const Tensor& from, const Tensor& to, Stream* stream) {
  cpu()->Convert(HostView(from), HostView(to), stream);
}

}  // namespace gf
