#include "layers/permute.h"

#include <algorithm>

#include "core/config/net.pb.h"

namespace gf {

AxisOrder Simplified(const AxisOrder& permutation) {
  const auto& [dims, order] = permutation;
  // Runs of axes that stay together, by their first axis; axes of extent 1 are in none.
  std::vector<int64_t> extents(dims.size());
  std::vector<int> firsts;  // in the order of the result
  int last = -1;
  for (const int axis : order) {
    if (dims[axis] == 1) continue;
    int next = last + 1;  // the axis that would go on with the run
    while (last >= 0 && next < static_cast<int>(dims.size()) && dims[next] == 1) ++next;
    if (last >= 0 && axis == next) {
      extents[firsts.back()] *= dims[axis];
    } else {
      firsts.push_back(axis);
      extents[axis] = dims[axis];
    }
    last = axis;
  }
  std::vector<int> sorted = firsts;
  std::sort(sorted.begin(), sorted.end());
  AxisOrder simple;
  for (const int first : sorted) simple.dims.push_back(extents[first]);
  for (const int first : firsts) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), first);
    simple.order.push_back(static_cast<int>(place - sorted.begin()));
  }
  return simple;
}

AxisOrder Inverse(const AxisOrder& permutation) {
  AxisOrder inverse;
  inverse.dims = ResultDims(permutation);
  inverse.order.resize(permutation.order.size());
  for (size_t i = 0; i < permutation.order.size(); ++i) {
    inverse.order[permutation.order[i]] = static_cast<int>(i);
  }
  return inverse;
}

std::vector<int64_t> ResultDims(const AxisOrder& permutation) {
  std::vector<int64_t> dims;
  for (const int axis : permutation.order) dims.push_back(permutation.dims[axis]);
  return dims;
}

std::vector<int64_t> SourceStrides(const AxisOrder& permutation) {
  const auto count = static_cast<int>(permutation.dims.size());
  std::vector<int64_t> plain(count, 1), strides;
  for (int i = count - 2; i >= 0; --i) plain[i] = plain[i + 1] * permutation.dims[i + 1];
  for (const int axis : permutation.order) strides.push_back(plain[axis]);
  return strides;
}

void PermuteLayer::SetUp(const std::vector<Shape>& bottoms) {
  const int rank = bottoms[0].rank();
  if (rank > 12) Fail("the bottom has ", rank, " axes, expected at most 12");
  order_.clear();
  const auto named = [&](int axis) {
    return std::find(order_.begin(), order_.end(), axis) != order_.end();
  };
  for (const uint32_t axis : param().permute_param().order()) {
    if (axis >= static_cast<uint32_t>(rank)) {
      Fail("permute_param.order: axis ", axis, " is out of range for a bottom with ", rank,
           " axes");
    }
    if (named(static_cast<int>(axis))) Fail("permute_param.order names axis ", axis, " twice");
    order_.push_back(static_cast<int>(axis));
  }
  for (int axis = 0; axis < rank; ++axis) {
    if (!named(axis)) order_.push_back(axis);
  }
  tops_ = {Shape(ResultDims({bottoms[0].dims(), order_}))};
}

AxisOrder PermuteLayer::View(const Shape& bottom, bool channels_last) const {
  return Simplified({bottom.dims(), order_});
}

void ShuffleChannelLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const int64_t group = param().shuffle_channel_param().group();
  if (bottom.rank() < 2) Fail("expects a bottom N x C x ..., got ", bottom.ToString());
  if (group < 1 || bottom[1] % group != 0) {
    Fail("shuffle_channel_param.group is ", group, ", must divide the ", bottom[1], " channels");
  }
  tops_ = {bottom};
}

AxisOrder ShuffleChannelLayer::View(const Shape& bottom, bool channels_last) const {
  const int64_t group = param().shuffle_channel_param().group(), channels = bottom[1];
  const int64_t spatial = bottom.count(2, bottom.rank());
  if (channels_last) return Simplified({{bottom[0] * spatial, group, channels / group}, {0, 2, 1}});
  return Simplified({{bottom[0], group, channels / group, spatial}, {0, 2, 1, 3}});
}

namespace {

GF_REGISTER(LayerRegistry, "Permute", PermuteLayer);
GF_REGISTER(LayerRegistry, "ShuffleChannel", ShuffleChannelLayer);

}  // namespace
}  // namespace gf
