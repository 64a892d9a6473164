#include "layers/deconvolution.h"

namespace gf {

int64_t DeconvolutionLayer::TopExtent(int axis, int64_t bottom) const {
  const int64_t whole = window().stride[axis] * (bottom - 1) + window().extent(axis);
  const int64_t removed = 2 * window().pad[axis];
  if (whole <= removed) {
    Fail("the output would be empty: ", SideName(axis), " ", bottom, " becomes ", whole,
         ", from which pad ", window().pad[axis], " removes ", removed, "; use a smaller pad");
  }
  return whole - removed;
}

GF_REGISTER(LayerRegistry, "Deconvolution", DeconvolutionLayer);

}  // namespace gf
