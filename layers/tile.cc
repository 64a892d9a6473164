#include "layers/tile.h"

#include "core/config/net.pb.h"

namespace gf {

int64_t TileLayer::tiles() const { return param().tile_param().tiles(); }

void TileLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  axis_ = Axis(param().tile_param().axis(), bottom.rank());
  if (tiles() < 1) Fail("tile_param.tiles is ", tiles(), ", must be at least 1");
  if (tiles() > kMaxElements / bottom.count()) {
    Fail("tile_param.tiles is ", tiles(), ", which is too large for a bottom of ",
         bottom.ToString());
  }
  std::vector<int64_t> dims = bottom.dims();
  dims[axis_] *= tiles();
  tops_ = {Shape(dims)};
}

namespace {

GF_REGISTER(LayerRegistry, "Tile", TileLayer);

}  // namespace
}  // namespace gf
