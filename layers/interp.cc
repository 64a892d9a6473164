#include "layers/interp.h"

#include "core/config/net.pb.h"

namespace gf {
namespace {

bool HasFactor(const InterpParameter& interp) {
  return interp.has_zoom_factor() || interp.has_shrink_factor();
}

}  // namespace

void InterpLayer::CheckSettings(bool has_reference) const {
  const InterpParameter& interp = param().interp_param();
  if (interp.pad_beg() != 0 || interp.pad_end() != 0) {
    Fail("interp_param.pad_beg and pad_end must be 0, got ", interp.pad_beg(), " and ",
         interp.pad_end(), ": cut the bottom with a Crop layer");
  }
  if (interp.height() < 0 || interp.width() < 0) {
    Fail("interp_param.height and width must be at least 1, got ", interp.height(), " and ",
         interp.width());
  }
  if ((interp.height() == 0) != (interp.width() == 0)) {
    Fail("interp_param needs both height and width, got ", interp.height(), " and ",
         interp.width());
  }
  if (interp.zoom_factor() < 1 || interp.shrink_factor() < 1) {
    Fail("interp_param.zoom_factor and shrink_factor must be at least 1, got ",
         interp.zoom_factor(), " and ", interp.shrink_factor());
  }
  if (interp.height() > 0 && HasFactor(interp)) {
    Fail(
        "interp_param has a size and a factor: give height and width, or zoom_factor and "
        "shrink_factor");
  }
  if (interp.height() == 0 && !HasFactor(interp) && !has_reference) {
    Fail(
        "interp_param does not say the size: give height and width, zoom_factor or "
        "shrink_factor, or a second bottom of that size");
  }
}

InterpAxis InterpLayer::AxisFor(const std::string& what, int64_t in, int64_t own,
                                int64_t reference) const {
  const InterpParameter& interp = param().interp_param();
  if (in > InterpAxis::kMost) {
    Fail("the bottom has the ", what, " ", in, ", expected at most ", InterpAxis::kMost);
  }
  int64_t out = own > 0 ? own : reference;
  if (own == 0 && HasFactor(interp)) {
    out = (in - 1) / interp.shrink_factor() + 1;
    out += (out - 1) * (int64_t{interp.zoom_factor()} - 1);
  }
  if (out > InterpAxis::kMost) {
    Fail("the top would have the ", what, " ", out, ", expected at most ", InterpAxis::kMost);
  }
  return InterpAxis(static_cast<int>(in), static_cast<int>(out));
}

void InterpLayer::SetUp(const std::vector<Shape>& bottoms) {
  for (const Shape& bottom : bottoms) {
    if (bottom.rank() != 4) Fail("needs bottoms N x C x H x W, got ", bottom.ToString());
  }
  const bool has_reference = bottoms.size() > 1;
  CheckSettings(has_reference);
  const InterpParameter& interp = param().interp_param();
  const Shape& bottom = bottoms[0];
  rows_ = AxisFor("height", bottom[2], interp.height(), has_reference ? bottoms[1][2] : 0);
  columns_ = AxisFor("width", bottom[3], interp.width(), has_reference ? bottoms[1][3] : 0);
  tops_ = {Shape{bottom[0], bottom[1], rows_.out(), columns_.out()}};
}

namespace {

GF_REGISTER(LayerRegistry, "Interp", InterpLayer);

}  // namespace
}  // namespace gf
