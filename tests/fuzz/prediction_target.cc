// What a prediction reads beside images. The first byte of the input says which file the rest is:
// a net, weights, or a preprocessing.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "models/prediction_net.h"
#include "predict/predictor.h"
#include "tests/fuzz/fuzz.h"

namespace gf {
namespace {

constexpr char kNet[] =
    "layer { name: 'data' type: 'Input' top: 'data'"
    "        input_param { shape { dim: [1, 3, 4, 4] } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'"
    "        inner_product_param { num_output: 3 } }\n"
    "layer { name: 'prob' type: 'Softmax' bottom: 'ip' top: 'prob' }\n";

std::string Base() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return StrCat(folder ? folder : "/tmp", "/fuzz-", getpid());
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Tensors of kNet: a safetensors file of zeros.
std::string Weights() {
  const std::string header =
      R"({"ip.weight":{"dtype":"F32","shape":[3,48],"data_offsets":[0,576]},)"
      R"("ip.bias":{"dtype":"F32","shape":[3],"data_offsets":[576,588]}})";
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(588, '\0');
}

// A net for predictions is one that is read back unchanged.
void ReadNetText(const std::string& text) {
  const NetParameter net = PredictionNet(ParseNet(text, "net"), {3, 4, 4});
  const std::string again = net.DebugString();
  if (ParseNet(again, "again").param.DebugString() != again) __builtin_trap();
}

void Predict(const PredictionOptions& options) {
  Predictor predictor(options);
  static const std::vector<uint8_t> pixels(7 * 9 * 3, 77);
  bool more = true;
  int results = 0;
  predictor.Predict(
      [&](ImageInput* input) {
        if (!more) return false;
        more = false;
        input->pixels = pixels.data();
        input->size = {7, 9};
        input->channels = 3;
        input->row_bytes = 9 * 3;
        return true;
      },
      [&](const ImageInput&, const Prediction& result) {
        if (result.error.empty() == (result.probabilities == nullptr)) __builtin_trap();
        ++results;
      });
  if (results != 1) __builtin_trap();
}

}  // namespace
}  // namespace gf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string base = gf::Base(), net = base + ".prototxt",
                           weights = base + ".safetensors", other = base + ".other";
  static const bool written = [] {
    gf::Write(net, gf::kNet);
    gf::Write(weights, gf::Weights());
    return true;
  }();
  if (!written || size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  gf::PredictionOptions options;
  options.net = net;
  options.weights = weights;
  options.threads = 1;
  options.batch_size = 2;
  try {
    if (data[0] % 3 == 0) {
      gf::ReadNetText(rest);
    } else {
      gf::Write(other, rest);
      (data[0] % 3 == 1 ? options.weights : options.preprocessing) = other;
      gf::Predict(options);
    }
  } catch (const gf::UserError&) {
  }
  return 0;
}
