#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// A learnable tensor of a layer.
struct ParameterSpec {
  std::string name;  // "weight"; the full name is "<layer>.weight"
  Shape shape;
  FillerParameter filler;
  float lr_mult = 1;
  float decay_mult = 1;
};

// A tensor that a layer updates itself and that is saved with the weights (FP32).
struct StateSpec {
  std::string name;  // "running_mean"
  Shape shape;
  float initial = 0;
};

// What a layer is, the same on every device: shape rule, parameters, FLOPs. Its arithmetic is
// a Kernel. A new layer is a subclass, a GF_REGISTER line and a kernel per device.
class Layer {
 public:
  // `location` is "file:line:col" of the declaration, for messages.
  Layer(const LayerParameter& param, Phase phase, std::string location)
      : param_(param), phase_(phase), location_(std::move(location)) {}
  virtual ~Layer() = default;

  const LayerParameter& param() const { return param_; }
  const std::string& name() const { return param_.name(); }
  const std::string& type() const { return param_.type(); }
  Phase phase() const { return phase_; }

  // How many bottoms and tops the layer takes; checked before SetUp. A max of -1: any number.
  virtual int MinBottoms() const { return 1; }
  virtual int MaxBottoms() const { return 1; }
  virtual int MinTops() const { return 1; }
  virtual int MaxTops() const { return 1; }

  // Derives top shapes, parameters and states from the bottoms' shapes. Called once. Throws
  // UserError (Fail) when they do not fit.
  virtual void SetUp(const std::vector<Shape>& bottoms) = 0;

  const std::vector<Shape>& tops() const { return tops_; }
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const std::vector<StateSpec>& states() const { return states_; }

  // Arithmetic of a forward pass; a multiply-add counts as two. 0 for what is bound by memory.
  virtual int64_t ForwardFlops() const { return 0; }
  // Whether a gradient flows to bottom i (not to labels).
  virtual bool Differentiable(int bottom) const { return true; }
  // The number type of top i, given the compute type.
  virtual DType TopType(int top, DType compute) const { return compute; }
  // Weight of top i in the objective; non-zero for losses.
  virtual float LossWeight(int top) const {
    return top < param_.loss_weight_size() ? param_.loss_weight(top) : 0;
  }

  // throw UserError("file:line:col: layer "conv1" (Convolution): " + args...)
  template <typename... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    ThrowUserError(location_, location_.empty() ? "" : ": ", "layer \"", name(), "\" (", type(),
                   "): ", args...);
  }

 protected:
  // lr_mult, decay_mult of the i-th `param { }` of the declaration, 1 where there is none.
  ParameterSpec Parameter(int i, const std::string& name, Shape shape,
                          const FillerParameter& filler) const;
  // A non-negative axis from one that may count from the end; Fails if out of range.
  int Axis(int axis, int rank) const;

  std::vector<Shape> tops_;
  std::vector<ParameterSpec> parameters_;
  std::vector<StateSpec> states_;

 private:
  LayerParameter param_;
  Phase phase_;
  std::string location_;
};

// A layer with one bottom whose top has the bottom's shape.
class SameShapeLayer : public Layer {
 public:
  using Layer::Layer;
  void SetUp(const std::vector<Shape>& bottoms) override { tops_ = {bottoms[0]}; }
};

using LayerRegistry = Registry<Layer, const LayerParameter&, Phase, std::string>;

}  // namespace gf
