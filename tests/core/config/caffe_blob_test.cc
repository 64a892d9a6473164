#include "core/config/caffe_blob.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/core/file_util.h"

namespace gf {
namespace {

class CaffeBlobTest : public FolderOfTest {
 protected:
  std::string Write(const std::string& bytes) const {
    std::ofstream(Path("x.binaryproto"), std::ios::binary) << bytes;
    return Path("x.binaryproto");
  }
  std::string Write(const BlobProto& blob) const { return Write(blob.SerializeAsString()); }
  std::string Error(const BlobProto& blob) const {
    return ErrorOf([&] { ReadCaffeBlob(Write(blob)); });
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  static BlobProto Blob(const std::vector<int64_t>& dims, const std::vector<float>& values) {
    BlobProto blob;
    for (const int64_t d : dims) blob.mutable_shape()->add_dim(d);
    for (const float value : values) blob.add_data(value);
    return blob;
  }
};

TEST_F(CaffeBlobTest, IsReadInEachOfItsForms) {
  const std::vector<float> values = {1, 2.5f, -3, 4, 5, 6};
  const CaffeBlob plain = ReadCaffeBlob(Write(Blob({2, 3}, values)));
  EXPECT_EQ(plain.shape, (Shape{2, 3}));
  EXPECT_EQ(plain.values, values);

  BlobProto old;
  old.set_num(1);
  old.set_channels(1);
  old.set_height(3);
  old.set_width(2);
  for (const float value : values) old.add_double_data(value);
  const CaffeBlob doubles = ReadCaffeBlob(Write(old));
  EXPECT_EQ(doubles.shape, (Shape{1, 1, 3, 2}));
  EXPECT_EQ(doubles.values, values);
}

TEST_F(CaffeBlobTest, DamagedFilesAreRefused) {
  EXPECT_TRUE(Has(ErrorOf([&] { ReadCaffeBlob(Path("none")); }), Path("none")));
  EXPECT_TRUE(Has(ErrorOf([&] { ReadCaffeBlob(Write("width: 3")); }),
                  Path("x.binaryproto") + ": not a valid binary BlobProto"));
  const std::string whole = Blob({2, 3}, {1, 2, 3, 4, 5, 6}).SerializeAsString();
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::string cut = Write(whole.substr(0, bytes));
    EXPECT_TRUE(StartsWith(ErrorOf([&] { ReadCaffeBlob(cut); }), cut + ": ")) << bytes;
  }
  EXPECT_TRUE(Has(Error(Blob({2, 3}, {1, 2})), "has 2 values, but its shape 2x3 takes 6"));
  EXPECT_TRUE(Has(Error(Blob({int64_t{1} << 40, int64_t{1} << 40}, {})), "impossible shape"));
  EXPECT_TRUE(Has(Error(Blob({-1, -1}, {1})), "impossible shape -1x-1"));
  EXPECT_TRUE(Has(Error(Blob({3}, {1, INFINITY, 2})), "value 1 is inf, expected a finite number"));
}

}  // namespace
}  // namespace gf
