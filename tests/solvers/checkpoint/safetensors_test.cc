#include "solvers/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "core/error.h"

namespace gf {
namespace {

std::string TempFile(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string Length(uint64_t n) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(n >> (8 * i));
  return bytes;
}

// Writes a file of this header and data, reads it, and returns the error ("" if none).
std::string ErrorOf(const std::string& header, const std::string& data, int64_t length = -1) {
  const std::string path = TempFile("hostile.safetensors");
  std::ofstream(path, std::ios::binary)
      << Length(length < 0 ? header.size() : static_cast<uint64_t>(length)) << header << data;
  try {
    SafetensorsReader reader(path);
    for (const auto& entry : reader.entries()) reader.ReadBytes(entry);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

void ExpectRefused(const std::string& header, const std::string& data, const std::string& what) {
  const std::string error = ErrorOf(header, data);
  EXPECT_NE(error.find(what), std::string::npos) << header << "\n" << error;
}

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

TEST(SafetensorsTest, WhatIsWrittenIsReadBack) {
  const std::string path = TempFile("round_trip.safetensors");
  const std::vector<float> a = {1, -2.5f, 3e-40f, INFINITY, -0.0f, 7};
  const int64_t b = -5;
  {
    SafetensorsWriter writer(path, {{"a", "F32", Shape({2, 3})}, {"b", "I64", Shape()}},
                             {{"format", "pt"}});
    writer.Write(a.data(), a.size() * sizeof(float));
    writer.Write(&b, sizeof(b));
    const FileDigest digest = writer.Finish();
    EXPECT_EQ(digest, DigestFile(path));
  }
  SafetensorsReader reader(path);
  ASSERT_EQ(reader.entries().size(), 2u);
  EXPECT_EQ(reader.metadata().at("format"), "pt");
  ASSERT_NE(reader.Find("a"), nullptr);
  EXPECT_EQ(reader.Find("c"), nullptr);
  EXPECT_EQ(reader.Find("a")->shape, Shape({2, 3}));
  const std::vector<float> read = reader.ReadFloats(*reader.Find("a"));
  ASSERT_EQ(read.size(), a.size());
  EXPECT_EQ(std::memcmp(read.data(), a.data(), a.size() * sizeof(float)), 0);
  const std::vector<char> bytes = reader.ReadBytes(*reader.Find("b"));
  ASSERT_EQ(bytes.size(), sizeof(b));
  EXPECT_EQ(std::memcmp(bytes.data(), &b, sizeof(b)), 0);
}

TEST(SafetensorsTest, ReadsEveryFloatingType) {
  const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x03ff, 0x8000};
  const uint16_t brain[] = {0x3f80, 0xc000};
  const double wide[] = {0.5};
  std::string data(reinterpret_cast<const char*>(half), sizeof(half));
  data.append(reinterpret_cast<const char*>(brain), sizeof(brain));
  data.append(reinterpret_cast<const char*>(wide), sizeof(wide));
  const std::string header = "{" + Tensor("h", "F16", "[6]", "[0,12]") + "," +
                             Tensor("b", "BF16", "[2]", "[12,16]") + "," +
                             Tensor("d", "F64", "[]", "[16,24]") + "}";
  ASSERT_EQ(ErrorOf(header, data), "");
  SafetensorsReader reader(TempFile("hostile.safetensors"));
  EXPECT_EQ(reader.ReadFloats(*reader.Find("h")),
            (std::vector<float>{1, -2, 0x1p-24f, INFINITY, 0x1.ff8p-15f, -0.0f}));
  EXPECT_EQ(reader.ReadFloats(*reader.Find("b")), (std::vector<float>{1, -2}));
  EXPECT_EQ(reader.ReadFloats(*reader.Find("d")), (std::vector<float>{0.5f}));
}

TEST(SafetensorsTest, RefusesIntegersAsWeights) {
  ASSERT_EQ(ErrorOf("{" + Tensor("i", "I32", "[1]", "[0,4]") + "}", "abcd"), "");
  SafetensorsReader reader(TempFile("hostile.safetensors"));
  EXPECT_THROW(reader.ReadFloats(*reader.Find("i")), UserError);
}

TEST(SafetensorsTest, RefusesTruncatedFilesAndNamesTheLikelyCause) {
  const std::string good = "{" + Tensor("a", "F32", "[2]", "[0,8]") + "}";
  EXPECT_EQ(ErrorOf(good, "12345678"), "");
  EXPECT_NE(ErrorOf(good, "1234567").find("incomplete download"), std::string::npos);
  EXPECT_NE(ErrorOf(good, "123456789").find("incomplete download"), std::string::npos);
  EXPECT_NE(ErrorOf(good, "", 4000).find("header should have 4000 bytes"), std::string::npos);
  std::ofstream(TempFile("short.safetensors")) << "abc";
  EXPECT_THROW(SafetensorsReader reader(TempFile("short.safetensors")), UserError);
  EXPECT_THROW(SafetensorsReader reader(TempFile("not_there.safetensors")), UserError);
  EXPECT_THROW(SafetensorsReader reader(::testing::TempDir()), UserError);
}

TEST(SafetensorsTest, RefusesHugeHeaders) {
  EXPECT_NE(ErrorOf("{}", "", int64_t{1} << 40).find("header would have"), std::string::npos);
  EXPECT_NE(ErrorOf("{}", "", INT64_MAX).find("header would have"), std::string::npos);
}

TEST(SafetensorsTest, RefusesHostileHeaders) {
  ExpectRefused("", "", "not a JSON object");
  ExpectRefused("[1]", "", "not a JSON object");
  ExpectRefused("{\"a\":", "", "not a JSON object");
  ExpectRefused("{\"a\":1}", "", "not a JSON object");
  ExpectRefused(std::string(100000, '['), "", "nested too deeply");
  ExpectRefused("{\"a\":{\"dtype\":\"F32\"}}", "", "lacks a proper");
  ExpectRefused("{" + Tensor("a", "F31", "[1]", "[0,4]") + "}", "1234", "unknown dtype");
  ExpectRefused("{" + Tensor("a", "F32", "[-1]", "[0,4]") + "}", "1234", "shape of non-numbers");
  ExpectRefused("{" + Tensor("a", "F32", "[1.5]", "[0,4]") + "}", "1234", "shape of non-numbers");
  ExpectRefused("{" + Tensor("a", "F32", "[\"1\"]", "[0,4]") + "}", "1234", "shape of non-numbers");
  ExpectRefused("{" + Tensor("a", "F32", "[1]", "[0,-4]") + "}", "1234", "not numbers");
  ExpectRefused("{" + Tensor("a", "F32", "[1]", "[0]") + "}", "1234", "lacks a proper");
  ExpectRefused("{" + Tensor("a", "F32", "[1]", "[4,0]") + "}", "1234", "lies at bytes");
  ExpectRefused("{" + Tensor("a", "F32", "[1]", "[0,400]") + "}", "1234", "lies at bytes");
  ExpectRefused("{\"__metadata__\":{\"a\":1}}", "", "__metadata__");
}

TEST(SafetensorsTest, RefusesShapesWhoseProductOverflows) {
  ExpectRefused("{" + Tensor("a", "F32", "[4294967296,4294967296]", "[0,0]") + "}", "",
                "impossible shape");
  ExpectRefused("{" + Tensor("a", "F32", "[18446744073709551615]", "[0,4]") + "}", "1234",
                "impossible shape");
  ExpectRefused("{" + Tensor("a", "F32", "[2]", "[0,4]") + "}", "1234", "takes 8");
}

TEST(SafetensorsTest, RefusesOverlapsAndGaps) {
  const std::string a = Tensor("a", "U8", "[4]", "[0,4]");
  ExpectRefused("{" + a + "," + Tensor("b", "U8", "[4]", "[2,6]") + "}", "123456", "overlap");
  ExpectRefused("{" + a + "," + Tensor("b", "U8", "[4]", "[0,4]") + "}", "1234", "overlap");
  ExpectRefused("{" + a + "," + Tensor("b", "U8", "[4]", "[6,10]") + "}", "1234567890", "gap");
  ExpectRefused("{" + a + "}", "123456", "4 bytes, but 6");
}

TEST(SafetensorsTest, EmptyTensorsAreAllowed) {
  EXPECT_EQ(ErrorOf("{" + Tensor("a", "F32", "[0,3]", "[0,0]") + "}", ""), "");
}

TEST(SafetensorsTest, AKeyTwiceIsRefused) {
  const std::string a = Tensor("a", "U8", "[4]", "[0,4]");
  ExpectRefused("{" + a + "," + Tensor("a", "U8", "[4]", "[4,8]") + "}", "12345678",
                "its header has \"a\" twice");
  ExpectRefused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
                "1234", "has \"dtype\" twice");
  // Equal keys of different tensors, as in every file.
  EXPECT_EQ(ErrorOf("{" + a + "," + Tensor("b", "U8", "[4]", "[4,8]") + "}", "12345678"), "");
}

TEST(SafetensorsTest, HostileTextIsShortAndPrintableInMessages) {
  const std::string endless(100000, 'x');
  std::string shape = "[1";
  for (int i = 0; i < 100000; ++i) shape += ",1";
  for (const std::string& header :
       {"{" + Tensor("a", endless, "[1]", "[0,4]") + "}",
        "{" + Tensor("a", "F32", shape + "]", "[0,8]") + "}",
        "{" + Tensor(endless, "F32", "[3]", "[0,4]") + "}",
        "{" + Tensor(endless, "F32", "[1]", "[4,8]") + "}",
        "{" + Tensor(endless, "F32", "[1]", "[0,4]") + "," +
            Tensor(endless, "F32", "[1]", "[4,8]") + "}",
        "{" + Tensor("\\u001b[31m\\u009b", "F31", "[1]", "[0,4]") + "}"}) {
    const std::string error = ErrorOf(header, "12345678");
    EXPECT_NE(error, "");
    EXPECT_LT(error.size(), 1000u);
    EXPECT_EQ(error.find('\x1b'), std::string::npos) << error;
    EXPECT_EQ(error.find('\x9b'), std::string::npos) << error;
  }
}

// The error of a file of these bytes under the name x.pth.
std::string ErrorOfTorch(const std::string& bytes) {
  const std::string path = TempFile("x.pth");
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    SafetensorsReader reader(path);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(SafetensorsTest, AFileOfTorchSaveIsRecognizedWithTheWayToConvertIt) {
  const std::string path = TempFile("x.pth");
  const std::string expected =
      path +
      ": is a file of torch.save, expected safetensors: convert it with these lines of "
      "Python\n  import torch, safetensors.torch\n  weights = torch.load(\"" +
      path +
      "\", map_location=\"cpu\")\n  safetensors.torch.save_file({k: v.contiguous() for k, v in "
      "weights.get(\"state_dict\", weights).items()}, \"" +
      TempFile("x.safetensors") + "\")";
  EXPECT_EQ(ErrorOfTorch("PK\x03\x04" + std::string(60, '\0')), expected);
  // The magic number of torch.save before 1.6, and Python's own pickle.
  EXPECT_EQ(ErrorOfTorch("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), expected);
  EXPECT_EQ(ErrorOfTorch("\x80\x04\x95 pickle pickle"), expected);
  EXPECT_NE(ErrorOfTorch("\x89HDF\r\n\x1a\n........").find("an HDF5 file"), std::string::npos);
  EXPECT_NE(ErrorOfTorch("name: \"LeNet\"\n").find("is a text file"), std::string::npos);
  EXPECT_NE(ErrorOfTorch("version https://git-lfs.github.com/spec/v1").find("git lfs pull"),
            std::string::npos);
  // A header of 0x280 bytes begins like a pickle.
  const std::string header = "{" + Tensor("a", "U8", "[4]", "[0,4]") + "}";
  std::ofstream(path, std::ios::binary)
      << Length(0x280) << header << std::string(0x280 - header.size(), ' ') << "1234";
  EXPECT_EQ(SafetensorsReader(path).entries().size(), 1u);
}

}  // namespace
}  // namespace gf
