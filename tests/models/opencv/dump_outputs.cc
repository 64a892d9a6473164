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
#include "tests/models/net_for_test.h"
#include "tests/models/opencv/deploy_form.h"

DEFINE_string(net, "", "file");
DEFINE_int32(channels, 3, "of the image, where the file does not say");
DEFINE_int32(side, 224, "of the image, where the file does not say");
DEFINE_string(out, ".", "folder");

namespace gf {
namespace {

Shape ShapeOfBlob(const Net& net, const std::string& blob) {
  for (const NetOp& op : net.ops()) {
    for (size_t i = 0; i < op.tops.size(); ++i) {
      if (op.tops[i] == blob) return op.top_shapes[i];
    }
  }
  ThrowUserError(FLAGS_net, ": no layer of the compiled net writes ", blob);
}

// Whether the file states the size of images.
bool StatesSize(const NetSource& source) {
  try {
    std::vector<GraphNode> nodes = ResolveGraph(source, TEST);
    SetInputs(1, Shape(), &nodes);
  } catch (const UserError&) {
    return false;
  }
  return true;
}

int Main(int argc, char** argv) {
  const NetSource source = ReadNet(FLAGS_net);
  NetOptions options = TestOptions(TEST);
  options.batch_size = 1;
  options.reuse_memory = false;  // blobs are read
  if (!StatesSize(source)) options.image_shape = {FLAGS_channels, FLAGS_side, FLAGS_side};
  std::vector<GraphNode> nodes = ResolveGraph(source, TEST);
  SetInputs(1, options.image_shape, &nodes);
  const auto net = NewNet(source, options);
  RandomParameters how;
  how.gamma = 1;
  how.last_norm = "branch2c";  // residual branches of deep nets stay small
  SetRandom(how, net->parameters().get());
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
