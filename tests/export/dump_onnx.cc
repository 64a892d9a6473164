// Computes a network of phase TEST once, with random parameters and random images, and writes it as
// ONNX, with what another program needs to do the same, and the results:
//   OUT/model.onnx
//   OUT/input.safetensors   the images, for every input of the model
//   OUT/ours.safetensors    the results, named like the outputs of the model
// With --normalize the images are whole numbers from 0 to 255, and the model normalizes them.

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "export/export_net.h"
#include "tests/models/named_tensors.h"
#include "tests/models/random_net.h"

DEFINE_string(net, "", "file");
DEFINE_int32(channels, 3, "of the images, where the file does not say");
DEFINE_int32(side, 224, "of the images, where the file does not say");
// Neither 2 nor 3, the batches of NewInferenceGraph.
DEFINE_int32(batch, 5, "images");
DEFINE_bool(fixed_batch, false, "the model takes this batch only");
DEFINE_bool(fold_batch_norm, true, "see ExportOptions");
DEFINE_bool(softmax, false, "see ExportOptions");
DEFINE_bool(normalize, false, "the model takes pixels");
DEFINE_string(out, ".", "folder");

namespace gf {
namespace {

// Replaces the images by pixels from 0 to 255, which it returns, as `how` normalizes them.
std::vector<float> ToPixels(const PixelScaling& how, Batch* batch) {
  const Shape& shape = batch->images.desc.shape;
  const int64_t plane = shape[2] * shape[3];
  std::vector<float> pixels(shape.count());
  float* const images = batch->images.as<float>();
  for (int64_t i = 0; i < shape.count(); ++i) {
    const int64_t channel = i / plane % shape[1];
    pixels[i] = std::floor(std::clamp(128 + 60 * images[i], 0.f, 255.f));
    images[i] = (pixels[i] - how.mean[channel]) / how.deviation[0];
  }
  return pixels;
}

int Main(int argc, char** argv) {
  const RandomNet random = NewRandomNet(FLAGS_net, {FLAGS_channels, FLAGS_side, FLAGS_side},
                                        FLAGS_batch, /*fuse=*/false);
  Net* const net = random.net.get();
  const Shape& shape = net->input_shape();
  Batch batch = RandomBatch(shape, std::max<int64_t>(net->classes(), 1));
  const float* const images = batch.images.as<float>();
  std::vector<float> inputs(images, images + shape.count());

  ExportOptions options;
  options.fold_batch_norm = FLAGS_fold_batch_norm;
  options.softmax = FLAGS_softmax;
  if (FLAGS_normalize) {
    options.scaling = PixelScaling{{}, {64.f}};
    for (int64_t c = 0; c < shape[1]; ++c) {
      options.scaling->mean.push_back(100.f + 10.f * static_cast<float>(c));
    }
    inputs = ToPixels(*options.scaling, &batch);
  }
  net->Forward(batch);

  const InferenceGraph graph =
      NewInferenceGraph(random.source, FLAGS_fixed_batch ? FLAGS_batch : 0, random.image_shape);
  const ExportedNet exported = ExportNet(graph, *net->parameters(), options);
  WriteOnnx(exported.model, FLAGS_out + "/model.onnx");
  WriteTensors(FLAGS_out + "/input.safetensors", {{"images", shape, inputs}});
  std::vector<NamedTensor> ours;
  for (const auto& [name, blob] : exported.outputs) {
    ours.push_back({name, ShapeOfBlob(*net, blob), net->Blob(blob)});
  }
  WriteTensors(FLAGS_out + "/ours.safetensors", ours);
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return gf::RunMain(&gf::Main, argc, argv);
}
