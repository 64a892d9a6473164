// Layers that move or drop elements of one blob, and layers that change nothing.

#include <algorithm>

#include "core/config/net.pb.h"
#include "export/layer_writer.h"
#include "layers/crop.h"
#include "layers/interp.h"
#include "layers/permute.h"
#include "layers/slice.h"
#include "layers/tile.h"

namespace gf {
namespace {

// Dropout and StochasticDepth (phase TEST), and Split.
void ConvertIdentity(LayerWriter* w) {
  for (int i = 0; i < w->param().top_size(); ++i) w->SetTop(w->Input(), i);
}

// Flatten and Reshape.
void ConvertReshape(LayerWriter* w) {
  const InferenceBlob &bottom = w->bottom(), &top = w->top();
  w->SetTop(w->Reshape(w->Input(), bottom.shape, top.shape, top.follows_batch));
}

void ConvertPermute(LayerWriter* w) {
  const std::vector<int>& order = w->As<PermuteLayer>().order();
  w->SetTop(
      w->Node("Transpose", {w->Input()}, {IntsAttribute("perm", {order.begin(), order.end()})}));
}

void ConvertShuffleChannel(LayerWriter* w) {
  const auto& [shape, follows_batch] = w->bottom();
  const int64_t group = w->param().shuffle_channel_param().group();
  const int64_t part = shape[1] / group, spatial = shape.count(2, shape.rank());
  const Shape parts{shape[0], group, part, spatial}, shuffled{shape[0], part, group, spatial};
  const std::string x = w->Reshape(w->Input(), shape, parts, follows_batch);
  const std::string y = w->Node("Transpose", {x}, {IntsAttribute("perm", {0, 2, 1, 3})});
  w->SetTop(w->Reshape(y, shuffled, shape, follows_batch));
}

void ConvertTile(LayerWriter* w) {
  const auto& layer = w->As<TileLayer>();
  std::vector<int64_t> repeats(w->bottom().shape.rank(), 1);
  repeats[layer.axis()] = layer.tiles();
  w->SetTop(w->Node("Tile", {w->Input(), w->Integers(repeats)}));
}

void ConvertSlice(LayerWriter* w) {
  const int axis = w->As<SliceLayer>().axis(), tops = w->param().top_size();
  std::vector<int64_t> extents;
  for (int i = 0; i < tops; ++i) extents.push_back(w->top(i).shape[axis]);
  std::vector<std::string> inputs = {w->Input()};
  if (axis > 0 || !w->bottom().follows_batch) {
    inputs.push_back(w->Integers(extents));
  } else if (std::any_of(extents.begin(), extents.end(),
                         [&](int64_t extent) { return extent != extents[0]; })) {
    w->layer().Fail(
        "cuts the batch, which is open, into unequal parts: set --batch=N to export the net for a "
        "fixed batch");
  }  // else Split makes equal parts of any batch
  const std::vector<std::string> parts =
      w->Nodes("Split", inputs, tops, {IntAttribute("axis", axis)});
  for (int i = 0; i < tops; ++i) w->SetTop(parts[i], i);
}

void ConvertCrop(LayerWriter* w) {
  const CropBox& box = w->As<CropLayer>().box();
  std::vector<int64_t> axes, begins, ends;
  for (size_t i = 0; i < box.dims.size(); ++i) {
    if (box.extents[i] == box.dims[i]) continue;
    axes.push_back(static_cast<int64_t>(i));
    begins.push_back(box.offsets[i]);
    ends.push_back(box.offsets[i] + box.extents[i]);
  }
  if (axes.empty()) return w->SetTop(w->Input());
  if (axes[0] == 0 && w->bottom().follows_batch) {
    w->layer().Fail(
        "takes a part of the batch, which is open: set --batch=N to export the net for "
        "a fixed batch");
  }
  w->SetTop(
      w->Node("Slice", {w->Input(), w->Integers(begins), w->Integers(ends), w->Integers(axes)}));
}

void ConvertInterp(LayerWriter* w) {
  const Shape& top = w->top().shape;
  std::string sizes;
  if (w->top().follows_batch) {
    // Not factors, whose products may be rounded to another size.
    const std::string own =
        w->Node("Slice", {w->Node("Shape", {w->Input()}), w->Integers({0}), w->Integers({2})});
    sizes = w->Node("Concat", {own, w->Integers({top[2], top[3]})}, {IntAttribute("axis", 0)});
  } else {
    sizes = w->Integers(top.dims());
  }
  w->SetTop(w->Node("Resize", {w->Input(), "", "", sizes},
                    {TextAttribute("mode", "linear"),
                     TextAttribute("coordinate_transformation_mode", "align_corners")}));
}

GF_REGISTER(ConverterRegistry, "Crop", ConvertBy<&ConvertCrop>);
GF_REGISTER(ConverterRegistry, "Dropout", ConvertBy<&ConvertIdentity>);
GF_REGISTER(ConverterRegistry, "Flatten", ConvertBy<&ConvertReshape>);
GF_REGISTER(ConverterRegistry, "Interp", ConvertBy<&ConvertInterp>);
GF_REGISTER(ConverterRegistry, "Permute", ConvertBy<&ConvertPermute>);
GF_REGISTER(ConverterRegistry, "Reshape", ConvertBy<&ConvertReshape>);
GF_REGISTER(ConverterRegistry, "ShuffleChannel", ConvertBy<&ConvertShuffleChannel>);
GF_REGISTER(ConverterRegistry, "Slice", ConvertBy<&ConvertSlice>);
GF_REGISTER(ConverterRegistry, "Split", ConvertBy<&ConvertIdentity>);
GF_REGISTER(ConverterRegistry, "StochasticDepth", ConvertBy<&ConvertIdentity>);
GF_REGISTER(ConverterRegistry, "Tile", ConvertBy<&ConvertTile>);

}  // namespace
}  // namespace gf
