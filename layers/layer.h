#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

class FillerParameter;
class LayerParameter;
enum Phase : int;

// A learnable tensor of a layer.
struct ParameterSpec {
  std::string name;  // "weight"; the full name is "<layer>.weight"
  Shape shape;
  std::shared_ptr<const FillerParameter> filler;
  float lr_mult = 1;
  float decay_mult = 1;
};

// An FP32 tensor that the layer itself updates and that checkpoints store with the weights.
struct StateSpec {
  std::string name;  // "running_mean"
  Shape shape;
  float initial = 0;
  bool fixed = false;  // training does not change it
};

// The device-independent part of a layer: shape rule, parameters, FLOPs. A Kernel holds its
// arithmetic. A new layer needs a subclass, a GF_REGISTER line and one kernel per device.
class Layer {
 public:
  // `location` is the "file:line:col" of the declaration, for messages.
  Layer(const LayerParameter& param, Phase phase, std::string location);
  virtual ~Layer();

  const LayerParameter& param() const { return *param_; }
  const std::string& name() const;
  const std::string& type() const;
  // The type that the net's file says, for messages. Fusion may have chosen another type().
  virtual std::string declared_type() const { return type(); }
  Phase phase() const { return phase_; }

  // Numbers of bottoms and tops that the layer accepts, checked before SetUp. A maximum of -1 means
  // any number.
  virtual int MinBottoms() const { return 1; }
  virtual int MaxBottoms() const { return 1; }
  virtual int MinTops() const { return 1; }
  virtual int MaxTops() const { return 1; }

  // Derives the shapes of tops, the parameters and the states from the shapes of the bottoms.
  // Called once. Throws UserError (Fail) if the shapes do not fit.
  virtual void SetUp(const std::vector<Shape>& bottoms) = 0;

  const std::vector<Shape>& tops() const { return tops_; }
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const std::vector<StateSpec>& states() const { return states_; }

  // Floating-point operations of a forward pass; a multiply-add counts as two. 0 for layers bound
  // by memory.
  virtual int64_t ForwardFlops() const { return 0; }
  // Whether only the shape of a bottom counts: its data are not read, and they may be labels.
  virtual bool ReadsShapeOnly(int bottom) const { return false; }
  // Whether a gradient flows to a bottom; false for labels.
  virtual bool Differentiable(int bottom) const { return !ReadsShapeOnly(bottom); }
  // Whether a bottom holds labels (INT64), and no numbers. The first bottom never does.
  virtual bool WantsLabels(int bottom) const { return bottom > 0 && !Differentiable(bottom); }
  // Number type that a bottom without labels must have, given the compute type.
  virtual DType BottomType(int bottom, DType compute) const { return compute; }
  // Number type of a top, given the compute type.
  virtual DType TopType(int top, DType compute) const { return compute; }
  // Weight of a top in the objective; nonzero for losses, whose type must be FP32.
  virtual float LossWeight(int top) const;
  // Whether loss_weight turns a layer into a loss whose default weight is 0.
  virtual bool CanBeLoss() const { return false; }

  // Throws UserError("file:line:col: layer "conv1" (Convolution): " + args...).
  template <typename... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    ThrowUserError(location_, location_.empty() ? "" : ": ", "layer \"", name(), "\" (",
                   declared_type(), "): ", args...);
  }

 protected:
  // A parameter with lr_mult and decay_mult from the i-th `param { }` of the declaration, or 1
  // without one.
  ParameterSpec Parameter(int i, const std::string& name, Shape shape,
                          const FillerParameter& filler) const;
  // Converts an axis that may count from the end into a non-negative one. Fails if it is out of
  // range.
  int Axis(int axis, int rank) const;

  std::vector<Shape> tops_;
  std::vector<ParameterSpec> parameters_;
  std::vector<StateSpec> states_;

 private:
  void CheckMultiplier(int i, const char* field, float value) const;

  std::unique_ptr<const LayerParameter> param_;
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
