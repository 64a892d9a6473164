#include "core/config/caffe_blob.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/file.h"

namespace gf {

Shape CaffeBlobShape(const BlobProto& blob, const std::string& where) {
  constexpr int kMostAxes = 32;  // Caffe's limit
  if (blob.shape().dim_size() > kMostAxes) {
    ThrowUserError(where, ": has ", blob.shape().dim_size(), " axes, expected at most ", kMostAxes,
                   ": the file is damaged");
  }
  std::vector<int64_t> dims = {blob.num(), blob.channels(), blob.height(), blob.width()};
  if (blob.has_shape()) dims.assign(blob.shape().dim().begin(), blob.shape().dim().end());
  Shape shape(std::move(dims));
  if (!IsSane(shape)) {
    ThrowUserError(where, ": has the ", Impossible(shape), ": the file is damaged");
  }
  const int64_t values = blob.double_data_size() > 0 ? blob.double_data_size() : blob.data_size();
  if (values != shape.count()) {
    ThrowUserError(where, ": has ", values, " values, but its shape ", shape.ToString(), " takes ",
                   shape.count(), ": the file is damaged");
  }
  return shape;
}

std::vector<float> TakeCaffeBlob(BlobProto* blob) {
  std::vector<float> values;
  if (blob->double_data_size() > 0) {
    values.assign(blob->double_data().begin(), blob->double_data().end());
  } else {
    values.assign(blob->data().begin(), blob->data().end());
  }
  blob->Clear();
  return values;
}

CaffeBlob ReadCaffeBlob(const std::string& path) {
  const std::string bytes = ReadSmallFile(path, kLargestCaffeBlob);
  BlobProto message;
  if (!message.ParseFromString(bytes)) {
    ThrowUserError(path,
                   ": not a valid binary BlobProto of Caffe (.binaryproto). Perhaps an incomplete "
                   "download or copy?");
  }
  CaffeBlob blob;
  blob.shape = CaffeBlobShape(message, path);
  blob.values = TakeCaffeBlob(&message);
  for (size_t i = 0; i < blob.values.size(); ++i) {
    if (std::isfinite(blob.values[i])) continue;
    ThrowUserError(path, ": value ", i, " is ", blob.values[i], ", expected a finite number");
  }
  return blob;
}

}  // namespace gf
