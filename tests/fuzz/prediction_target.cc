// What a prediction reads beside images. The first byte of the input, '0' to '5', says which file
// the rest is: a net, safetensors, a preprocessing, a caffemodel, a mean image, or the state.json
// of a checkpoint, whose checksums are put right.
#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"
#include "core/file_digest.h"
#include "core/folder.h"
#include "models/prediction_net.h"
#include "predict/predictor.h"
#include "solvers/checkpoint/training_state.h"
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

// The checksums of a text that is JSON become those of the files in `folder` and of the text
// itself.
std::string WithChecksums(const std::string& text, const std::string& folder) {
  using json = nlohmann::ordered_json;
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return text;
  const auto files = root.find("files");
  if (files != root.end() && files->is_object()) {
    for (const auto& file : files->items()) {
      const std::string path = folder + "/" + file.key();
      if (!IsFile(path)) continue;
      const FileDigest digest = DigestFile(path);
      file.value() = {{"bytes", digest.bytes}, {"xxh3", HashName(digest.hash)}};
    }
  }
  root.erase("xxh3");
  const std::string hashed = JsonText(root);
  root["xxh3"] = HashName(XXH3_64bits(hashed.data(), hashed.size()));
  return JsonText(root);
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

// Files of this process that are good, and the one that is not.
class Files {
 public:
  Files() : base_(Base()), checkpoint_(base_ + ".checkpoint") {
    MakeFolders(checkpoint_);
    for (const std::string& net : {base_ + ".prototxt", checkpoint_ + "/net.prototxt"}) {
      Write(net, kNet);
    }
    for (const std::string& weights :
         {base_ + ".safetensors", checkpoint_ + "/weights.safetensors"}) {
      Write(weights, Weights());
    }
    Write(base_ + ".mean", StrCat("mean_file: '", base_, ".binaryproto'"));
  }
  ~Files() {
    for (const char* end : {".checkpoint", ".prototxt", ".safetensors", ".mean", ".other",
                            ".caffemodel", ".binaryproto"}) {
      RemoveQuietly(base_ + end);
    }
  }

  PredictionOptions With(char kind, const std::string& bytes) const {
    PredictionOptions options;
    options.threads = 1;
    options.batch_size = 2;
    if (kind == '5') {
      Write(checkpoint_ + "/state.json", WithChecksums(bytes, checkpoint_));
      options.checkpoint = checkpoint_;
      return options;
    }
    options.net = base_ + ".prototxt";
    options.weights = base_ + ".safetensors";
    std::string other = base_ + ".other";
    if (kind == '4') {
      other = base_ + ".binaryproto";
      options.preprocessing = base_ + ".mean";
    } else if (kind == '3') {
      options.weights = other = base_ + ".caffemodel";
    } else if (kind == '2') {
      options.preprocessing = other;
    } else {
      options.weights = other;
    }
    Write(other, bytes);
    return options;
  }

 private:
  const std::string base_, checkpoint_;
};

}  // namespace
}  // namespace gf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const gf::Files files;
  if (size == 0) return 0;
  const char kind = static_cast<char>('0' + data[0] % 6);
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (kind == '0') {
      gf::ReadNetText(rest);
    } else {
      gf::Predict(files.With(kind, rest));
    }
  } catch (const gf::UserError&) {
  }
  return 0;
}
