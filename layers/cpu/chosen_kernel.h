#pragma once

#include <memory>
#include <string>

#include "layers/kernel.h"

namespace gf {

// A kernel that chooses one of several implementations once shapes and layouts are known.
class ChosenKernel : public Kernel {
 public:
  void Setup(KernelSetup* setup) override {
    kernel_ = Choose(*setup);
    kernel_->Setup(setup);
  }
  void Forward(const KernelArgs& args) override { kernel_->Forward(args); }
  void Backward(const KernelArgs& args) override { kernel_->Backward(args); }
  bool CanOmitBottomDiff() const override { return kernel_->CanOmitBottomDiff(); }
  std::string Describe() const override { return kernel_->Describe(); }

 protected:
  // The implementation; its Setup receives `setup` next.
  virtual std::unique_ptr<Kernel> Choose(const KernelSetup& setup) = 0;

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace gf
