#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/config/config.h"
#include "core/error.h"

namespace gf {
namespace {

// The message of the UserError that reading this network gives.
std::string NetError(const std::string& text) {
  try {
    ParseNet(text, "net.prototxt");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

std::string JobError(const std::string& text) {
  try {
    JobConfig config;
    ParseTextProto(text, "job.prototxt", &config);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

std::string FileError(const std::string& file) {
  try {
    ReadNet(file);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

std::string Write(const std::string& name, const std::string& contents) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << contents;
  return path;
}

TEST(TextProtoTest, AMisspeltFieldIsPointedAtAndTheNearestNamed) {
  EXPECT_EQ(NetError("layer {\n  name: \"c\"\n  convolution_param {\n    num_ouput: 3\n  }\n}"),
            "net.prototxt:4:5: ConvolutionParameter has no field \"num_ouput\"; did you mean "
            "\"num_output\"?");
}

TEST(TextProtoTest, TheColumnCountsTabsToMultiplesOfEight) {
  EXPECT_EQ(NetError("layer {\n\tnmae: \"c\"\n}").find("net.prototxt:2:9: "), 0u);
}

TEST(TextProtoTest, AFieldLikeNoOtherGetsTheListOfFields) {
  const std::string error = NetError("layer { dropout_param { zzzzzz: 1 } }");
  EXPECT_EQ(error,
            "net.prototxt:1:25: DropoutParameter has no field \"zzzzzz\" (known: dropout_ratio)");
}

TEST(TextProtoTest, AFieldInTheWrongBlockIsSentToTheRightOne) {
  EXPECT_EQ(JobError("base_lr: 0.1"),
            "job.prototxt:1:1: JobConfig has no field \"base_lr\"; did you mean it inside "
            "solver { }?");
  EXPECT_EQ(NetError("layer { dropout_ratio: 0.5 }"),
            "net.prototxt:1:9: LayerParameter has no field \"dropout_ratio\"; did you mean it "
            "inside dropout_param { }?");
  EXPECT_EQ(NetError("layer { batch_size: 8 }"),
            "net.prototxt:1:9: LayerParameter has no field \"batch_size\"; did you mean it inside "
            "data_param { }, hdf5_data_param { }, image_data_param { }, memory_data_param { }, "
            "window_data_param { }?");
}

TEST(TextProtoTest, AWrongEnumValueGetsTheAllowedOnes) {
  EXPECT_EQ(NetError("layer {\n pooling_param {\n  # which\n  pool: MEAN\n stride: 2 } }"),
            "net.prototxt:4:9: pool cannot be \"MEAN\" (one of MAX, AVE, STOCHASTIC)");
  EXPECT_EQ(JobError("solver { lr_policy: multistep }"),
            "job.prototxt:1:21: lr_policy cannot be \"multistep\"; did you mean MULTISTEP? (one "
            "of FIXED, STEP, MULTISTEP, POLY, COSINE, EXP, INV, SIGMOID)");
}

TEST(TextProtoTest, ACaffeStyleQuotedEnumGetsTheAllowedOnes) {
  EXPECT_EQ(JobError("solver { lr_policy: \"step\" }"),
            "job.prototxt:1:21: lr_policy cannot be \"step\"; did you mean STEP? (one of FIXED, "
            "STEP, MULTISTEP, POLY, COSINE, EXP, INV, SIGMOID)");
}

TEST(TextProtoTest, AParameterOfAMissingLayerTypeSaysSo) {
  EXPECT_EQ(NetError("layer { mvn_param { } }"),
            "net.prototxt:1:9: LayerParameter has no field \"mvn_param\": this layer type is "
            "not supported");
}

TEST(TextProtoTest, NamesOfOtherProgramsLeadToTheField) {
  EXPECT_NE(JobError("solver { epochs: 3 }").find("did you mean max_epochs?"), std::string::npos);
  EXPECT_NE(JobError("epochs: 3").find("did you mean solver.max_epochs?"), std::string::npos);
}

TEST(TextProtoTest, OneKindOfFileGivenForAnotherIsRecognized) {
  EXPECT_NE(JobError("net: \"a\"\ntest_iter: 100").find("Caffe solver file"), std::string::npos);
  for (const auto& [text, hint] : {
           std::make_pair("debug_info: true", "Caffe's debug_info is not supported"),
           std::make_pair("max_iter: 100", "Caffe's max_iter is solver.max_steps here"),
           std::make_pair("solver { max_iter: 100 }", "max_iter is solver.max_steps here"),
           std::make_pair("solver { stepsize: 100 }", "stepsize is solver.step_size here"),
           std::make_pair("test_interval: 9", "test_interval is validation_interval_steps here"),
           std::make_pair("test_initialization: true", "is validate_at_start here"),
           std::make_pair("rampup_lr: 0.1", "rampup_lr is solver.warmup_lr here"),
           std::make_pair("delta: 1e-7", "delta is solver.epsilon here"),
           std::make_pair("solver { momentum2: 0.99 }", "momentum2 is solver.beta2 here"),
           std::make_pair("solver { rms_decay: 0.98 }", "rms_decay is solver.beta2 here"),
           std::make_pair("display: 20", "display is telemetry.display_interval here"),
           std::make_pair("snapshot: 20", "snapshot is checkpoint.interval_steps here"),
           std::make_pair("test_iter: 20", "test_iter is not needed: validation takes all"),
           std::make_pair("clip_gradients: 20", "clip_gradients is not supported: leave it out"),
           std::make_pair("mean_file: 'x'", "did you mean it inside train_data { }, validation_"),
           std::make_pair("train_data { scale: 0.004 }", "scale is std, of which it is 1 / scale"),
       }) {
    EXPECT_NE(JobError(text).find(hint), std::string::npos) << JobError(text);
  }
  for (const char* net : {"layer { name: \"a\" }", "layers { name: \"a\" }"}) {
    EXPECT_NE(JobError(net).find("looks like a network"), std::string::npos);
  }
  EXPECT_NE(NetError("train_data { }").find("looks like a job config"), std::string::npos);
}

TEST(TextProtoTest, AMissingBraceNamesTheBlockThatIsOpen) {
  EXPECT_EQ(NetError("layer {\n  name: \"a\"\n  lrn_param {\n    alpha: 1\n"),
            "net.prototxt:5:1: the file ends inside lrn_param { } of line 3: a } is missing");
}

TEST(TextProtoTest, AWrongValueNamesItsFieldAndWhatItMustBe) {
  EXPECT_EQ(NetError("layer { convolution_param { num_output: many } }"),
            "net.prototxt:1:41: num_output: many is not a whole number");
  EXPECT_EQ(NetError("layer { convolution_param { num_output: -1 } }"),
            "net.prototxt:1:41: num_output is negative, must be at least 0");
  EXPECT_EQ(JobError("solver { iter_size: 99999999999 }"),
            "job.prototxt:1:21: iter_size: 99999999999 is out of range");
  EXPECT_EQ(JobError("solver { iter_size: 2.5 }"),
            "job.prototxt:1:21: iter_size: 2.5 is not a whole number");
  EXPECT_EQ(JobError("solver { base_lr: abc }"), "job.prototxt:1:19: base_lr: abc is not a number");
  EXPECT_EQ(JobError("solver { base_lr: \"0.1\" }"),
            "job.prototxt:1:19: base_lr: \"0.1\" is not a number");
  EXPECT_EQ(JobError("comm { overlap: maybe }"),
            "job.prototxt:1:17: overlap: maybe must be true or false");
  EXPECT_EQ(JobError("comm { overlap: \"true\" }"),
            "job.prototxt:1:17: overlap: \"true\" must be true or false, without quotes");
  EXPECT_EQ(JobError("comm { overlap: 2 }"), "job.prototxt:1:17: overlap: 2 must be true or false");
  EXPECT_EQ(JobError("net: lenet"),
            "job.prototxt:1:6: net: lenet must be in quotes: net: \"lenet\"");
}

TEST(TextProtoTest, WrongFormIsExplained) {
  EXPECT_EQ(JobError("comm { overlap: true sparse 5 }"),
            "job.prototxt:1:29: sparse: a block is expected, sparse { ... }");
  EXPECT_EQ(JobError("net: \"a\" solver = 5"),
            "job.prototxt:1:17: solver: a block is expected, solver { ... }");
  EXPECT_EQ(JobError("solver { base_lr { } }"),
            "job.prototxt:1:18: base_lr takes a value, not a block");
  EXPECT_EQ(JobError("solver { base_lr # my rate\n 0.1 }"),
            "job.prototxt:2:2: a colon is missing after base_lr");
  EXPECT_EQ(JobError("solver { base_lr: }"), "job.prototxt:1:19: base_lr: the value is missing");
  EXPECT_EQ(JobError("solver { iter_size: -99999999999 }"),
            "job.prototxt:1:22: iter_size: -99999999999 is out of range");
  EXPECT_EQ(JobError("solver: 5"), "job.prototxt:1:9: solver: a block is expected, solver { ... }");
  EXPECT_EQ(JobError("net: \"a\"\nsolver { base_lr 0.1 }"),
            "job.prototxt:2:18: a colon is missing after base_lr");
  EXPECT_EQ(JobError("solver { base_lr: 0.1 0.2 }"),
            "job.prototxt:1:23: the name of a field is expected, got 0.2");
  EXPECT_EQ(JobError("net: \"a\"\nnet: \"b\""), "job.prototxt:2:1: net is set twice: remove one");
}

TEST(TextProtoTest, AMissingBraceIsSuspectedWhereAFieldFitsAnOuterBlock) {
  EXPECT_EQ(JobError("solver {\n  base_lr: 1\ncomm { }"),
            "job.prototxt:3:1: SolverConfig has no field \"comm\" (known: " +
                JobError("solver { zzzzzzzz: 1 }").substr(64) +
                "; or is a } missing before it, for solver { of line 1?");
}

TEST(TextProtoTest, ListsNumbersAndQuotesAreExplained) {
  EXPECT_EQ(JobError("train_data { mean: 1,2 }"),
            "job.prototxt:1:22: mean: write several values as a list, [1, 2]");
  EXPECT_EQ(JobError("comm { timeout_s: 1,5 }"),
            "job.prototxt:1:21: timeout_s takes one value; decimals have a point");
  EXPECT_EQ(JobError("train_data { mean: [1 2] }"),
            "job.prototxt:1:23: a comma or ] is missing in a list");
  EXPECT_EQ(JobError("comm { timeout_s: 5s }"),
            "job.prototxt:1:20: a number ends in letters: remove them");
  EXPECT_EQ(JobError("net: \"a\nseed: 1"), "job.prototxt:1:8: a closing quote is missing");
  EXPECT_EQ(JobError("net: \u201ca\u201d"),
            "job.prototxt:1:6: a character outside of quotes is not ASCII: replace it");
}

TEST(TextProtoTest, AByteOrderMarkIsLeftOut) {
  JobConfig config;
  ReadTextProto(Write("bom.prototxt", "\xef\xbb\xbfnet: \"a\""), &config);
  EXPECT_EQ(config.net(), "a");
}

TEST(TextProtoTest, OnlyTheFirstErrorIsReported) {
  const std::string error = JobError("sed: 1\nsolvr { }\n");
  EXPECT_EQ(error.find("job.prototxt:1:1:"), 0u);
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(TextProtoTest, DeepNestingEndsInAnErrorNotInACrash) {
  std::string text;
  for (int i = 0; i < 1000000; ++i) text += "layer{";
  EXPECT_NE(NetError(text), "no error");
  EXPECT_NE(NetError(std::string(1000000, '{')), "no error");
  EXPECT_NE(NetError("layer: " + std::string(1000000, '[')), "no error");
}

TEST(TextProtoTest, LayersRememberWhereTheyWereDeclared) {
  const NetSource net = ParseNet(
      "name: \"n\"\nlayer { name: \"a\" }\n\n  layer {\n name: \"b\" }\n", "dir/net.prototxt");
  EXPECT_EQ(net.file, "dir/net.prototxt");
  ASSERT_EQ(net.param.layer_size(), 2);
  EXPECT_EQ(net.layer_locations,
            (std::vector<std::string>{"dir/net.prototxt:2:1", "dir/net.prototxt:4:3"}));
}

TEST(TextProtoTest, CaffeFilesWithCommentsCommasAndCarriageReturnsAreRead) {
  const NetSource net = ParseNet(
      "# a net\r\nlayer {\r\n  name: 'a', type: \"ReLU\";\r\n bottom: \"x\"\r\n}\r\n", "n");
  ASSERT_EQ(net.param.layer_size(), 1);
  EXPECT_EQ(net.param.layer(0).type(), "ReLU");
}

TEST(ReadTextProtoTest, FilesThatCannotBeReadAreNamed) {
  EXPECT_EQ(FileError("/nowhere/net.prototxt"),
            "cannot open /nowhere/net.prototxt: No such file or directory (check the path)");
  EXPECT_EQ(FileError(testing::TempDir()),
            "cannot open " + testing::TempDir() + ": Is a directory (name a file)");
  const std::string empty = Write("empty.prototxt", " \n\t\n");
  EXPECT_EQ(FileError(empty), empty + ": the file is empty");
  EXPECT_NE(FileError("").find("empty"), std::string::npos);
}

TEST(ReadTextProtoTest, AnUnreadableFileIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root can read every file";
  const std::string path = Write("secret.prototxt", "name: \"a\"");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  EXPECT_EQ(FileError(path).find("cannot open " + path + ": Permission denied"), 0u);
}

TEST(ReadTextProtoTest, BinaryFilesAreRefused) {
  const std::string path = Write("net.caffemodel", std::string("\n\x04name\0\x01", 8));
  EXPECT_EQ(FileError(path).find(path + ": not a text file (byte 0x04 at offset 1)"), 0u)
      << FileError(path);
}

TEST(ReadTextProtoTest, HugeFilesAreRefused) {
  const std::string path = Write("huge.prototxt", "name: \"a\"\n");
  ASSERT_EQ(truncate(path.c_str(), (int64_t{64} << 20) + 1), 0);
  EXPECT_NE(FileError(path).find(path + ": has 67108865 bytes, expected at most 67108864"),
            std::string::npos);
  unlink(path.c_str());
}

}  // namespace
}  // namespace gf
