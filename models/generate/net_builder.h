#pragma once

#include <string>
#include <vector>

#include "core/config/net.pb.h"

namespace gf {

// The geometry of a square convolution or pooling window.
struct Window {
  int kernel = 1;
  int stride = 1;
  int pad = 0;
};

// Fillers, as net.proto describes them.
FillerParameter Constant(float value);
FillerParameter Uniform(float limit);  // in [-limit, limit]
FillerParameter Xavier();
FillerParameter MsraFanOut();

// Builds a network layer by layer. Every function appends one layer (BatchNorm: two) and returns
// the name of its top, which is the layer's name unless the layer works in place.
class NetBuilder {
 public:
  explicit NetBuilder(const std::string& name);

  // The inputs "data" [1, channels, size, size] and "label" [1]; returns "data".
  std::string Input(int channels, int size);

  // Without bias.
  std::string Conv(const std::string& name, const std::string& bottom, int outputs, Window window,
                   const FillerParameter& filler);
  // With a bias without weight decay, whose learning rate is bias_lr_mult times the learning rate
  // of the weights.
  std::string ConvBias(const std::string& name, const std::string& bottom, int outputs,
                       Window window, const FillerParameter& filler, const FillerParameter& bias,
                       float bias_lr_mult);
  // A fixed binomial filter of 3x3 on each channel (BlurPool without its stride).
  std::string Blur(const std::string& name, const std::string& bottom, int channels);
  std::string InnerProduct(const std::string& name, const std::string& bottom, int outputs,
                           const FillerParameter& filler, const FillerParameter& bias,
                           float bias_lr_mult);

  // Append BatchNorm `name` and its Scale `name`.scale (no weight decay). BatchNormInPlace
  // overwrites the bottom; BatchNorm writes a new blob.
  std::string BatchNormInPlace(const std::string& name, const std::string& bottom);
  std::string BatchNorm(const std::string& name, const std::string& bottom);

  std::string ReluInPlace(const std::string& name, const std::string& bottom);
  std::string DropoutInPlace(const std::string& name, const std::string& bottom, float ratio);
  // LRN across channels with the constants of AlexNet: 5 channels, alpha 1e-4, beta 0.75.
  std::string Lrn(const std::string& name, const std::string& bottom);

  std::string Pool(const std::string& name, const std::string& bottom,
                   PoolingParameter::PoolMethod method, Window window,
                   PoolingParameter::RoundMode round_mode = PoolingParameter::CEIL);
  std::string GlobalAveragePool(const std::string& name, const std::string& bottom);

  std::string Sum(const std::string& name, const std::string& a, const std::string& b);
  std::string Concat(const std::string& name, const std::vector<std::string>& bottoms);

  // SoftmaxWithLoss against "label".
  void Loss(const std::string& name, const std::string& logits, float weight = 1);
  // Accuracy in phase TEST.
  void Accuracy(const std::string& name, const std::string& logits, int top_k = 1);

  const NetParameter& net() const { return net_; }

 private:
  LayerParameter* Add(const std::string& name, const std::string& type,
                      const std::vector<std::string>& bottoms, const std::string& top);
  std::string AddBatchNorm(const std::string& name, const std::string& bottom,
                           const std::string& top);

  NetParameter net_;
};

}  // namespace gf
