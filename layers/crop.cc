#include "layers/crop.h"

#include "core/config/net.pb.h"

namespace gf {

// An axis that is not cut joins the axis before it.
CropBox Simplified(const CropBox& box) {
  CropBox simple;
  for (size_t i = 0; i < box.dims.size(); ++i) {
    const int64_t dim = box.dims[i];
    if (i > 0 && box.extents[i] == dim) {
      simple.dims.back() *= dim;
      simple.extents.back() *= dim;
      simple.offsets.back() *= dim;
    } else {
      simple.dims.push_back(dim);
      simple.extents.push_back(box.extents[i]);
      simple.offsets.push_back(box.offsets[i]);
    }
  }
  return simple;
}

void CropLayer::SetUp(const std::vector<Shape>& bottoms) {
  const CropParameter& crop = param().crop_param();
  const Shape &data = bottoms[0], &reference = bottoms[1];
  const int rank = data.rank();
  if (rank > 12) Fail("the bottom has ", rank, " axes, expected at most 12");
  const int axis = Axis(crop.axis(), rank);
  if (reference.rank() != rank) {
    Fail("its bottoms must have the same number of axes, got ", data.ToString(), " and ",
         reference.ToString());
  }
  const int offsets = crop.offset_size();
  if (offsets > 1 && offsets != rank - axis) {
    Fail("crop_param has ", offsets, " numbers in offset, expected none, one, or one for each of ",
         rank - axis, " axes from axis ", axis, " on");
  }
  box_ = {data.dims(), data.dims(), std::vector<int64_t>(rank)};
  for (int i = axis; i < rank; ++i) {
    const int64_t extent = reference[i];
    const int64_t offset = offsets == 0 ? 0 : crop.offset(offsets == 1 ? 0 : i - axis);
    if (offset + extent > data[i]) {
      Fail("axis ", i, ": the offset ", offset, " and the size ", extent, " of bottom 1 reach ",
           offset + extent, ", but bottom 0 has only ", data[i], ": ", data.ToString(), " and ",
           reference.ToString());
    }
    box_.extents[i] = extent;
    box_.offsets[i] = offset;
  }
  tops_ = {Shape(box_.extents)};
}

bool CropLayer::keeps_channels() const {
  return box_.dims.size() < 2 || box_.extents[1] == box_.dims[1];
}

CropBox CropLayer::Box(int64_t block) const {
  if (block == 1) return Simplified(box_);
  CropBox box = box_;
  const int64_t channels = box_.dims[1], blocks = (channels + block - 1) / block;
  box.dims[1] = box.extents[1] = blocks;
  box.offsets[1] = 0;
  // Blocks are padded.
  box.dims.push_back(block);
  box.extents.push_back(keeps_channels() ? block : box_.extents[1]);
  box.offsets.push_back(box_.offsets[1]);
  return Simplified(box);
}

namespace {

GF_REGISTER(LayerRegistry, "Crop", CropLayer);

}  // namespace
}  // namespace gf
