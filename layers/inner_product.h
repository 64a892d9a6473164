#pragma once

#include "layers/layer.h"

namespace gf {

// y = x W^T + b, where x is the bottom flattened from `axis` on. Parameters: weight [num_output, K]
// and, with bias_term, bias [num_output].
class InnerProductLayer : public Layer {
 public:
  using Layer::Layer;

  void SetUp(const std::vector<Shape>& bottoms) override;
  int64_t ForwardFlops() const override;

  int64_t rows() const { return rows_; }
  int64_t inputs() const { return parameters_[0].shape[1]; }
  int64_t outputs() const { return parameters_[0].shape[0]; }
  bool bias() const { return parameters_.size() > 1; }
  bool relu() const;

 private:
  int64_t rows_ = 0;
};

}  // namespace gf
