#include "export/preprocessing.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/str_cat.h"

namespace gf {
namespace {

// "[123.68,116.78]", with the fewest digits that stand for the same FP32 numbers.
template <typename Numbers>
std::string ToJson(const Numbers& numbers) {
  std::string text = "[";
  for (const float number : numbers) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    text += (text.size() > 1 ? "," : "") + std::string(digits, end);
  }
  return text + "]";
}

// The operation with one number for all channels, or one for each.
std::string PerChannel(const std::string& op, const std::string& x, const char* field,
                       const std::vector<float>& numbers, int64_t channels, OnnxGraph* graph) {
  const auto count = static_cast<int64_t>(numbers.size());
  if (count != 1 && count != channels) {
    ThrowUserError("--preprocess=nodes: the data have ", count, " numbers of ", field,
                   ", but the net takes ", channels, channels == 1 ? " channel" : " channels");
  }
  return graph->AddNode("preprocessing", op, {x, graph->Floats({count, 1, 1}, numbers)}, 1, {})[0];
}

}  // namespace

OnnxMetadata PreprocessingMetadata(const DataConfig& data, bool nodes_normalize) {
  OnnxMetadata metadata = {{"gf.channels", data.channels() == 1   ? "gray"
                                           : data.channels() == 3 ? "RGB"
                                                                  : StrCat(data.channels())}};
  if (data.pixel_type() != DataConfig::UINT8) {
    metadata.emplace_back("gf.pixel_type", DataConfig::PixelType_Name(data.pixel_type()));
  }
  const std::pair<const char*, int32_t> sizes[] = {{"gf.resize_shorter", data.resize_shorter()},
                                                   {"gf.resize_height", data.resize_height()},
                                                   {"gf.resize_width", data.resize_width()},
                                                   {"gf.pad", data.pad()},
                                                   {"gf.crop_size", data.crop_size()}};
  bool resizes = false;
  for (const auto& [key, size] : sizes) {
    if (size == 0) continue;
    metadata.emplace_back(key, StrCat(size));
    resizes |= StartsWith(key, "gf.resize");
  }
  if (data.pad() > 0 && data.pad_mode() != DataConfig::ZERO) {
    metadata.emplace_back("gf.pad_mode", DataConfig::PadMode_Name(data.pad_mode()));
  }
  if (resizes) metadata.emplace_back("gf.filter", DataConfig::Filter_Name(data.filter()));
  if (nodes_normalize) return metadata;
  if (data.mean_size() > 0) metadata.emplace_back("gf.mean", ToJson(data.mean()));
  if (data.std_size() > 0) metadata.emplace_back("gf.std", ToJson(data.std()));
  return metadata;
}

OnnxMetadata ClassNamesMetadata(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  return {{"gf.class_names", nlohmann::json(names).dump()}};
}

onnx::TensorProto::DataType PixelTensorType(const PixelScaling& how) {
  switch (how.type) {
    case DataConfig::UINT8:
      return onnx::TensorProto::UINT8;
    case DataConfig::UINT16:
      return onnx::TensorProto::UINT16;
    case DataConfig::FP32:
      break;
  }
  return onnx::TensorProto::FLOAT;
}

std::string Normalize(const std::string& pixels, int64_t channels, const PixelScaling& how,
                      OnnxGraph* graph) {
  std::string x = pixels;
  if (PixelTensorType(how) != onnx::TensorProto::FLOAT) {
    x = graph->AddNode("preprocessing", "Cast", {x}, 1,
                       {IntAttribute("to", onnx::TensorProto::FLOAT)})[0];
  }
  if (!how.mean.empty()) x = PerChannel("Sub", x, "mean", how.mean, channels, graph);
  if (!how.deviation.empty()) x = PerChannel("Div", x, "std", how.deviation, channels, graph);
  return x;
}

}  // namespace gf
