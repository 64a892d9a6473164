// Computes a network of phase TEST once, with random parameters and a random image, and writes what
// another program needs to do the same, and the results:
//   OUT/deploy.prototxt, OUT/weights.caffemodel
//   OUT/input.safetensors   the image
//   OUT/ours.safetensors    results, named after the layers that write them

#include <gflags/gflags.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <fstream>

#include "models/inputs.h"
#include "tests/models/named_tensors.h"
#include "tests/models/opencv/deploy_form.h"
#include "tests/models/random_net.h"

DEFINE_string(net, "", "file");
DEFINE_int32(channels, 3, "of the image, where the file does not say");
DEFINE_int32(side, 224, "of the image, where the file does not say");
DEFINE_string(out, ".", "folder");

namespace gf {
namespace {

int Main(int argc, char** argv) {
  const RandomNet random =
      NewRandomNet(FLAGS_net, {FLAGS_channels, FLAGS_side, FLAGS_side}, /*batch=*/1, /*fuse=*/true);
  Net* const net = random.net.get();
  std::vector<GraphNode> nodes = ResolveGraph(random.source, TEST);
  SetInputs(1, random.image_shape, &nodes);
  const Batch batch = RandomBatch(net->input_shape(), std::max<int64_t>(net->classes(), 1));
  net->Forward(batch);

  const DeployForm form = NewDeployForm(nodes, *net->parameters());
  std::string text;
  google::protobuf::TextFormat::PrintToString(form.net, &text);
  std::ofstream(FLAGS_out + "/deploy.prototxt") << text;
  std::ofstream weights(FLAGS_out + "/weights.caffemodel", std::ios::binary);
  if (!form.weights.SerializeToOstream(&weights)) {
    ThrowUserError(FLAGS_out, "/weights.caffemodel: cannot be written");
  }
  const float* const pixels = batch.images.as<float>();
  const Shape& image = net->input_shape();
  WriteTensors(FLAGS_out + "/input.safetensors",
               {{"data", image, {pixels, pixels + image.count()}}});
  std::vector<NamedTensor> ours;
  for (const DeployForm::Output& output : form.outputs) {
    ours.push_back({output.producer, ShapeOfBlob(*net, output.blob), net->Blob(output.blob)});
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
