#include "layers/infogain_loss.h"

#include <utility>

#include "core/config/caffe_blob.h"
#include "core/config/net.pb.h"

namespace gf {
namespace {

// Whether a matrix with so many values can be classes x classes, whatever its extents.
bool IsSquare(const Shape& shape, int64_t classes) {
  return shape.count() % classes == 0 && shape.count() / classes == classes;
}

}  // namespace

void InfogainLossLayer::SetUp(const std::vector<Shape>& bottoms) {
  const InfogainLossParameter& infogain = param().infogain_loss_param();
  const int rank = bottoms[0].rank();
  if (param().softmax_param().has_axis() &&
      Axis(param().softmax_param().axis(), rank) != Axis(infogain.axis(), rank)) {
    Fail("softmax_param.axis is ", param().softmax_param().axis(),
         ", but infogain_loss_param.axis, the axis of the classes, is ", infogain.axis(),
         ": remove softmax_param");
  }
  RefuseOtherTargets();
  SetUpScores(bottoms, infogain.axis());
  const int64_t classes = view().classes;
  if (bottoms.size() > 2) {
    if (IsSquare(bottoms[2], classes)) return;
    Fail("bottom \"", param().bottom(2), "\", the matrix, is ", bottoms[2].ToString(),
         ", expected ", classes, "x", classes, " for ", classes, " classes");
  }
  if (infogain.source().empty()) {
    Fail("lacks its matrix: give infogain_loss_param.source, a binary BlobProto of ", classes, "x",
         classes, " values, or a third bottom");
  }
  CaffeBlob blob;
  try {
    blob = ReadCaffeBlob(infogain.source());
  } catch (const UserError& error) {
    Fail("infogain_loss_param.source: ", error.what());
  }
  if (!IsSquare(blob.shape, classes)) {
    Fail("infogain_loss_param.source: ", infogain.source(), ": its matrix is ",
         blob.shape.ToString(), ", expected ", classes, "x", classes, " for ", classes, " classes");
  }
  matrix_ = std::move(blob.values);
}

namespace {

GF_REGISTER(LayerRegistry, "InfogainLoss", InfogainLossLayer);

}  // namespace
}  // namespace gf
