#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/shape.h"

namespace gf {

// The shape of a blob, from `shape` or from the four numbers of older files. Throws UserError,
// beginning with `where`, if it is impossible or does not fit the number of values.
Shape CaffeBlobShape(const BlobProto& blob, const std::string& where);

// The values of a blob, taken out of it.
std::vector<float> TakeCaffeBlob(BlobProto* blob);

// The largest file that ReadCaffeBlob reads, in bytes: matrices of 16,384 x 16,384 values fit.
constexpr int64_t kLargestCaffeBlob = (int64_t{1} << 30) + (1 << 10);

struct CaffeBlob {
  Shape shape;
  std::vector<float> values;  // shape.count(), finite
};

// Reads a file that holds one binary BlobProto (Caffe's .binaryproto). Nothing in the file is
// believed unchecked. Throws UserError that begins with the path or says "cannot open PATH".
CaffeBlob ReadCaffeBlob(const std::string& path);

}  // namespace gf
