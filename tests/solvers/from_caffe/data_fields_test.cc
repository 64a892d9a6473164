#include "solvers/from_caffe/data_fields.h"

#include "tests/solvers/from_caffe/caffe_files.h"

namespace gf {
namespace {

DataFields FieldsOf(const std::string& layer, Phase phase = TRAIN) {
  return TranslateData(
      ParseNet("layer { name: 'd' top: 'data' top: 'label' " + layer + " }", "net"), phase);
}

std::string ErrorIn(const std::string& layer) {
  return ErrorOf([&] { FieldsOf(layer); });
}

TEST(DataFieldsTest, TrainingAndTestHaveTheirOwn) {
  const NetSource net = ParseNet(R"(
    layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TRAIN }
            transform_param { mirror: true crop_size: 227 mean_file: "mean.binaryproto" }
            data_param { source: "train_lmdb" batch_size: 256 backend: LMDB } }
    layer { name: "d" type: "Data" top: "data" top: "label" include { phase: TEST }
            transform_param { mirror: false crop_size: 227 mean_file: "mean.binaryproto" }
            data_param { source: "val_lmdb" batch_size: 50 backend: LMDB } })",
                                 "net");
  const DataFields train = TranslateData(net, TRAIN), test = TranslateData(net, TEST);
  EXPECT_EQ(train.config.DebugString(),
            "source: \"train_lmdb\"\nbatch_size: 256\ncrop_size: 227\nrandom_crop: true\n"
            "mirror: true\nmean_file: \"mean.binaryproto\"\n");
  EXPECT_EQ(test.config.DebugString(),
            "source: \"val_lmdb\"\nbatch_size: 50\ncrop_size: 227\n"
            "mean_file: \"mean.binaryproto\"\n");
  EXPECT_TRUE(train.found && test.found);
  EXPECT_TRUE(train.remarks.empty() && train.no_source.empty());
}

// (pixel - mean) * scale; Caffe's channels are B, G, R.
TEST(DataFieldsTest, MeanAndScale) {
  const DataConfig gray = FieldsOf(R"(type: "Data" transform_param { scale: 0.25 mean_value: 128
      force_gray: true } data_param { source: "x" batch_size: 1 })")
                              .config;
  EXPECT_EQ(gray.DebugString(), "source: \"x\"\nbatch_size: 1\nchannels: 1\nmean: 128\nstd: 4\n");
  const DataConfig color = FieldsOf(R"(type: "Data"
      transform_param { mean_value: 104 mean_value: 117 mean_value: 123 }
      data_param { source: "x" batch_size: 1 })")
                               .config;
  EXPECT_EQ(color.DebugString(),
            "source: \"x\"\nbatch_size: 1\nchannels: 3\nmean: 123\nmean: 117\nmean: 104\n");
}

// As the planes of a Datum: of four channels the first three are B, G, R.
TEST(DataFieldsTest, MeansOfOtherNumbersOfChannels) {
  const auto fields = [](const std::string& values) {
    return FieldsOf("type: 'Data' transform_param { " + values +
                    " } data_param { source: 'x' batch_size: 1 }")
        .config.DebugString();
  };
  const std::string four = "mean_value: 1 mean_value: 2 mean_value: 3 mean_value: 4";
  EXPECT_EQ(fields(four),
            "source: \"x\"\nbatch_size: 1\nchannels: 4\nmean: 3\nmean: 2\nmean: 1\nmean: 4\n");
  EXPECT_EQ(fields(four + " mean_value: 5"),
            "source: \"x\"\nbatch_size: 1\nchannels: 5\nmean: 1\nmean: 2\nmean: 3\nmean: 4\n"
            "mean: 5\n");
}

TEST(DataFieldsTest, OlderFieldsOfDataParam) {
  const DataConfig config = FieldsOf(R"(type: "Data" data_param { source: "x" batch_size: 2
      mean_file: "m" scale: 0.5 mirror: true crop_size: 24 })")
                                .config;
  EXPECT_EQ(config.DebugString(),
            "source: \"x\"\nbatch_size: 2\ncrop_size: 24\nrandom_crop: true\nmirror: true\n"
            "std: 2\nmean_file: \"m\"\n");
}

TEST(DataFieldsTest, RandomSizesAreApproximated) {
  const DataFields fields = FieldsOf(R"(type: "Data" transform_param { crop_size: 224
      img_rand_resize_lower: 240 img_rand_resize_upper: 288 vertical_stretch_lower: 0.7
      vertical_stretch_upper: 1.3 horizontal_stretch_lower: 0.7 horizontal_stretch_upper: 1.3 }
      data_param { source: "x" batch_size: 2 })");
  EXPECT_TRUE(fields.config.random_resized_crop());
  EXPECT_FALSE(fields.config.random_crop());
  EXPECT_NEAR(fields.config.min_area(), 0.60494, 1e-4);
  EXPECT_NEAR(fields.config.max_area(), 0.87111, 1e-4);
  EXPECT_NEAR(fields.config.min_aspect(), 0.53846, 1e-4);
  EXPECT_NEAR(fields.config.max_aspect(), 1.85714, 1e-4);
  ASSERT_EQ(fields.remarks.size(), 1);
  EXPECT_EQ(fields.remarks[0].find("net:1:1: layer \"d\" (Data): random sizes"), 0);
  EXPECT_NE(ErrorIn(R"(type: "Data" transform_param { crop_size: 224 img_rand_resize_lower: 200
      img_rand_resize_upper: 288 })")
                .find("img_rand_resize_lower is 200"),
            -1);
}

TEST(DataFieldsTest, ListsOfImages) {
  const DataFields fields = FieldsOf(R"(type: "ImageData" image_data_param { source: "list.txt"
      batch_size: 8 new_height: 32 new_width: 48 root_folder: "images/" is_color: false })");
  EXPECT_EQ(fields.config.DebugString(), R"(source: "list.txt"
format: LIST
batch_size: 8
channels: 1
resize_height: 32
resize_width: 48
root_folder: "images/"
)");
  EXPECT_EQ(fields.no_source, "");
  const DataFields plain = FieldsOf(R"(type: "ImageData" image_data_param { source: "l.txt" })");
  EXPECT_EQ(plain.config.DebugString(),
            "source: \"l.txt\"\nformat: LIST\nbatch_size: 1\nroot_folder: \".\"\n");
  EXPECT_EQ(ErrorIn(R"(type: "ImageData" image_data_param { source: "l.txt" new_width: 48 })"),
            "net:1:1: layer \"d\" (ImageData): new_height is 0 and new_width 48: set both or none");
}

TEST(DataFieldsTest, DataThatAreNotRead) {
  const DataFields windows = FieldsOf(R"(type: "WindowData" window_data_param { source: "w.txt"
      batch_size: 8 })");
  EXPECT_EQ(windows.config.DebugString(), "batch_size: 8\n");
  EXPECT_EQ(
      windows.no_source,
      "net:1:1: layer \"d\" (WindowData): its data are not read: put the images into an LMDB, "
      "shards, or a folder for each class, and name it with --set train_data.source=PATH");
  const DataFields none =
      TranslateData(ParseNet("layer { name: 'a' type: 'Input' top: 'a' }", "net"), TEST);
  EXPECT_FALSE(none.found);
  EXPECT_NE(none.no_source.find("no data layer in phase TEST"), -1);
}

TEST(DataFieldsTest, Contradictions) {
  EXPECT_NE(ErrorIn("type: 'Data' transform_param { mean_file: 'm' mean_value: 1 }")
                .find("net:1:1: layer \"d\" (Data): has mean_file and mean_value"),
            -1);
  EXPECT_NE(ErrorIn("type: 'Data' transform_param { scale: 0 }").find("scale is 0, must be"), -1);
  EXPECT_NE(ErrorIn("type: 'Data' transform_param { force_gray: true force_color: true }")
                .find("has force_color and force_gray"),
            -1);
  const std::string three = "transform_param { mean_value: 1 mean_value: 2 mean_value: 3 ";
  const char* const message = "has 3 values of mean_value, but images of 1 channel: give one value";
  EXPECT_NE(ErrorIn("type: 'Data' " + three + "force_gray: true }").find(message), -1);
  EXPECT_NE(
      ErrorIn("type: 'ImageData' " + three + "} image_data_param { source: 'l' is_color: false }")
          .find(message),
      -1);
}

TEST(DataFieldsTest, ChannelsOfNothingAreUnknown) {
  DataConfig data;
  EXPECT_EQ(PixelsOf(data).channels, 0);
  data.set_source("/nowhere");
  EXPECT_EQ(PixelsOf(data).channels, 0);
  data.set_mean_file("/nowhere");
  EXPECT_EQ(PixelsOf(data).channels, 0);
  for (const int channels : {1, 2, 3, 16, 17}) {
    BlobProto mean;
    for (const int extent : {1, channels, 1, 1}) mean.mutable_shape()->add_dim(extent);
    for (int c = 0; c < channels; ++c) mean.add_data(0);
    data.set_mean_file(WriteText("mean.binaryproto", mean.SerializeAsString()));
    EXPECT_EQ(PixelsOf(data).channels, channels == 17 ? 0 : channels);
    EXPECT_EQ(PixelsOf(data).type, PixelType::kUINT8);
  }
}

}  // namespace
}  // namespace gf
