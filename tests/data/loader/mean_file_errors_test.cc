// Mean images that do not fit the data or the config, and files that are none.
#include <cmath>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "tests/data/loader/mean_file_util.h"

namespace gf {
namespace {

TEST_F(MeanFileTest, ImagesAreResizedToTheMeanImage) {
  WritePictures(folder_ / "a.tar", 9);  // of several sizes
  DataConfig config = MeanConfig(3, 3, MeanBlob({20, 30}, 3));
  const std::string error = Error(config);
  EXPECT_TRUE(Has(error, "a.tar:s0:")) << error;
  EXPECT_TRUE(Has(error,
                  "mean.binaryproto has 20x30 (height x width), but an image has 40x60 "
                  "(height x width) after resizing: set resize_height: 20 and "
                  "resize_width: 30, or replace mean_file by its mean per channel, mean: ["))
      << error;
  config.set_resize_height(20);
  config.set_resize_width(30);
  EXPECT_EQ(Loader(config, {}).image_shape(), (Shape{3, 20, 30}));
  config.clear_resize_height();
  config.clear_resize_width();
  // The first one fits.
  WriteFile(folder_ / "mean.binaryproto", MeanBlob({40, 60}, 3).SerializeAsString());
  config.set_crop_size(24);
  EXPECT_TRUE(Has(Error(config), "after resizing: set resize_height: 40")) << Error(config);
}

TEST_F(MeanFileTest, WrongFilesAreRefused) {
  WriteNoise(4, 3);
  DataConfig config = MeanConfig(2, 3, MeanBlob(kSize, 3));
  const std::string field = StrCat("mean_file: ", config.mean_file(), ": ");
  const auto error = [&](const std::string& bytes) {
    WriteFile(config.mean_file(), bytes);
    return Error(config);
  };
  const auto blob_error = [&](const std::vector<int64_t>& dims, int values) {
    BlobProto blob;
    for (const int64_t dim : dims) blob.mutable_shape()->add_dim(dim);
    for (int i = 0; i < values; ++i) blob.add_data(1);
    return error(blob.SerializeAsString());
  };
  EXPECT_EQ(blob_error({1, 9, 11}, 99),
            field + "has 1 channel, expected 3 (channels): name another file, or set channels: 1");
  EXPECT_EQ(blob_error({2, 9, 11}, 198),
            field + "has 2 channels, expected 3 (channels): name another file, or set channels: 2");
  EXPECT_EQ(blob_error({17, 1, 1}, 17),
            field + "has 17 channels, expected 3 (channels): name another file");
  const std::vector<std::vector<int64_t>> others = {
      {2, 3, 9, 11}, {594}, {3, 198}, {1, 1, 3, 9, 22}};
  for (const std::vector<int64_t>& dims : others) {
    EXPECT_TRUE(StartsWith(blob_error(dims, 594), field + "has the shape ")) << dims.size();
  }
  EXPECT_TRUE(Has(blob_error({3, 9, 11}, 296), "has 296 values, but its shape 3x9x11 takes 297"));
  EXPECT_TRUE(Has(blob_error({3, int64_t{1} << 40, 1 << 20}, 1), "impossible shape"));
  EXPECT_TRUE(Has(blob_error({3, 1, 70'000}, 210'000), "has the shape 3x1x70000"));
  BlobProto infinite = MeanBlob(kSize, 3);
  infinite.set_data(5, INFINITY);
  EXPECT_TRUE(Has(error(infinite.SerializeAsString()), "value 5 is inf"));
  const std::string whole = MeanBlob(kSize, 3).SerializeAsString();
  for (size_t bytes = 0; bytes < whole.size(); bytes += bytes < 40 ? 1 : 97) {
    EXPECT_TRUE(StartsWith(error(whole.substr(0, bytes)), field)) << bytes;
  }
  EXPECT_TRUE(StartsWith(error("data: 1"), field));
  config.set_mean_file(folder_ / "none");
  EXPECT_TRUE(Has(Error(config), "mean_file: cannot open")) << Error(config);
  EXPECT_TRUE(Has(Error(config), folder_ / "none"));
}

TEST_F(MeanFileTest, WrongSettingsAreRefused) {
  WriteNoise(4, 3);
  const DataConfig good = MeanConfig(2, 3, MeanBlob(kSize, 3));
  DataConfig config = good;
  config.add_mean(1);
  EXPECT_EQ(Error(config), "mean_file does not go with mean: give one of them");
  config = good;
  config.set_device_cache_mib(1);
  EXPECT_TRUE(StartsWith(Error(config), "mean_file does not go with device_cache_mib: "));
  config = good;
  config.set_pad(2);
  EXPECT_TRUE(StartsWith(Error(config), "pad is 2, must be 0 with mean_file"));
  // The bytes of FP32 count.
  config = MeanConfig(16'000'000, 3, MeanBlob({100, 100}, 3));
  config.set_resize_height(100);
  config.set_resize_width(100);
  EXPECT_TRUE(Has(Error(config), "batch_size: 16,000,000 images take 1.92 TB")) << Error(config);
}

TEST_F(MeanFileTest, OtherValuesHaveAnotherHash) {
  WriteNoise(2, 1);
  EXPECT_EQ(Loader(Config(folder_ / "a.tar", 1), {}).mean_file_hash(), 0u);
  BlobProto blob = MeanBlob(kSize, 1);
  const uint64_t first = Loader(MeanConfig(1, 1, blob), {}).mean_file_hash();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(Loader(MeanConfig(1, 1, MeanBlob(kSize, 1, true)), {}).mean_file_hash(), first);
  blob.set_data(98, blob.data(98) + 1);
  EXPECT_NE(Loader(MeanConfig(1, 1, blob), {}).mean_file_hash(), first);
}

}  // namespace
}  // namespace gf
