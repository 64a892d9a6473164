#include "layers/copies.h"

#include "core/config/net.pb.h"

namespace gf {

void FlattenLayer::SetUp(const std::vector<Shape>& bottoms) {
  const Shape& bottom = bottoms[0];
  const int begin = Axis(param().flatten_param().axis(), bottom.rank());
  const int end = Axis(param().flatten_param().end_axis(), bottom.rank()) + 1;
  if (end <= begin) {
    Fail("flatten_param.end_axis ", end - 1, " lies before axis ", begin, " (bottom ",
         bottom.ToString(), ")");
  }
  std::vector<int64_t> dims(bottom.dims().begin(), bottom.dims().begin() + begin);
  dims.push_back(bottom.count(begin, end));
  dims.insert(dims.end(), bottom.dims().begin() + end, bottom.dims().end());
  tops_ = {Shape(dims)};
}

void SplitLayer::SetUp(const std::vector<Shape>& bottoms) {
  tops_.assign(param().top_size(), bottoms[0]);
}

void ReshapeLayer::SetUp(const std::vector<Shape>& bottoms) {
  const ReshapeParameter& reshape = param().reshape_param();
  const Shape& bottom = bottoms[0];
  const int rank = bottom.rank();
  const int begin = reshape.axis() < 0 ? reshape.axis() + rank + 1 : reshape.axis();
  if (begin < 0 || begin > rank) {
    Fail("reshape_param.axis ", reshape.axis(), " is out of range for a bottom with ", rank,
         " axes");
  }
  if (reshape.num_axes() < -1 || reshape.num_axes() > rank - begin) {
    Fail("reshape_param.num_axes ", reshape.num_axes(), " from axis ", begin,
         " is out of range for a bottom with ", rank, " axes");
  }
  const int end = reshape.num_axes() == -1 ? rank : begin + reshape.num_axes();

  std::vector<int64_t> dims(bottom.dims().begin(), bottom.dims().begin() + begin);
  int inferred = -1;
  for (int i = 0; i < reshape.shape().dim_size(); ++i) {
    int64_t dim = reshape.shape().dim(i);
    if (dim == 0) {
      if (begin + i >= rank) {
        Fail("reshape_param.shape: dim ", i, " is 0 (keep the bottom's extent), but bottom ",
             bottom.ToString(), " has no axis ", begin + i);
      }
      dim = bottom[begin + i];
    } else if (dim == -1) {
      if (inferred >= 0) Fail("reshape_param.shape: only one dim may be -1 (inferred)");
      inferred = static_cast<int>(dims.size());
      dim = 1;
    } else if (dim < 0 || dim > kMaxElements) {
      Fail("reshape_param.shape: dim ", dim, "; extents are positive, 0 (keep) or -1 (infer)");
    }
    dims.push_back(dim);
  }
  dims.insert(dims.end(), bottom.dims().begin() + end, bottom.dims().end());

  if (!IsSane(Shape(dims))) {
    Fail("reshape_param.shape gives the ", Impossible(Shape(dims)));
  }
  const int64_t explicit_count = Shape(dims).count();
  if (inferred >= 0) {
    if (bottom.count() % explicit_count != 0) {
      Fail("cannot infer dim -1: the ", bottom.count(), " elements of bottom ", bottom.ToString(),
           " are not a multiple of the product of the other extents, ", explicit_count);
    }
    dims[inferred] = bottom.count() / explicit_count;
  }
  tops_ = {Shape(dims)};
  if (tops_[0].count() != bottom.count()) {
    Fail("the new shape ", tops_[0].ToString(), " has ", tops_[0].count(), " elements, bottom ",
         bottom.ToString(), " has ", bottom.count());
  }
}

namespace {

// Layers that the net inserts; all bottoms and tops have the same shape. _Reorder converts between
// layouts, _GradientSum adds up the gradients of a blob.
class InternalLayer : public Layer {
 public:
  using Layer::Layer;
  int MaxBottoms() const override { return -1; }
  void SetUp(const std::vector<Shape>& bottoms) override { tops_ = {bottoms[0]}; }
};

GF_REGISTER(LayerRegistry, "Flatten", FlattenLayer);
GF_REGISTER(LayerRegistry, "Reshape", ReshapeLayer);
GF_REGISTER(LayerRegistry, "Split", SplitLayer);
GF_REGISTER(LayerRegistry, "Silence", SilenceLayer);
GF_REGISTER(LayerRegistry, "_Reorder", InternalLayer);
GF_REGISTER(LayerRegistry, "_GradientSum", InternalLayer);

}  // namespace
}  // namespace gf
