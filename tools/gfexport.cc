// Writes a network as ONNX: gfexport --help.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "comm/single.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/readable.h"
#include "export/export_net.h"
#include "models/job_net.h"
#include "models/net.h"
#include "solvers/checkpoint/class_names.h"
#include "solvers/checkpoint/load.h"
#include "tools/flags.h"
#include "tools/image_shape.h"
#include "tools/version.h"

DEFINE_string(config, "", "the job: a prototxt `FILE`; its data are not opened");
DEFINE_string(checkpoint, "",
              "a checkpoint's folder, a folder of several (the newest valid one is taken) or a "
              "safetensors file; without this `PATH`, the newest of checkpoint.dir");
DEFINE_string(weights, "",
              "the weights of a `FILE` instead of a checkpoint: safetensors, or a Caffe model "
              "(x.caffemodel, layers of the same names)");
DEFINE_bool(bgr, false,
            "with --weights=x.caffemodel: it was trained on BGR images, as Caffe reads JPEGs");
DEFINE_bool(random_weights, false, "no weights, but the initial values of training, for tests");
DEFINE_string(net, "", "the prototxt `FILE` of a network, instead of a config");
DEFINE_string(input, "", "`CxHxW` of the images if neither net nor config says it");
DEFINE_string(onnx, "", "write the model to this `FILE`");
DEFINE_int64(batch, 0, "images per batch; 0 leaves the batch open, as the dimension N");
DEFINE_bool(softmax, false, "add the output prob, the softmax of the class scores");
DEFINE_bool(fold_batch_norm, true,
            "make batch norms a part of the convolutions and inner products before them");
DEFINE_string(preprocess, "metadata",
              "how the model says what the job's data do to images: metadata (entries gf.*), nodes "
              "(the input is UINT8, and nodes normalize it) or none: the `WAY`");

namespace gf {
namespace {

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "gfexport: writes a trained network as an ONNX model.";
  spec.usage = {"gfexport --config=FILE [--checkpoint=PATH | --weights=FILE] --onnx=FILE [FLAGS]",
                "gfexport --net=FILE --weights=FILE --onnx=FILE [FLAGS]"};
  spec.examples = {"gfexport --config=configs/quickstart.prototxt --onnx=model.onnx",
                   "gfexport --net=deploy.prototxt --weights=x.caffemodel --bgr --onnx=model.onnx"};
  spec.groups = {{"Network", {"config", "set", "net", "input"}},
                 {"Weights", {"checkpoint", "weights", "bgr", "random_weights"}},
                 {"Model", {"onnx", "batch", "softmax", "fold_batch_norm", "preprocess"}}};
  spec.notes = StrCat("The model has opset ", kOnnxOpset, ": docs/deployment.md.");
  return spec;
}

void CheckFlags(const std::vector<std::string>& overrides) {
  if (FLAGS_onnx.empty()) ThrowUserError("--onnx is missing: name the file to write (see --help)");
  if (FLAGS_config.empty() == FLAGS_net.empty()) {
    ThrowUserError("give --config, the job's file, or --net, the network's file",
                   FLAGS_net.empty() ? "" : ", not both");
  }
  const int sources = !FLAGS_checkpoint.empty() + !FLAGS_weights.empty() + FLAGS_random_weights;
  if (sources > 1) ThrowUserError("give one of --checkpoint, --weights and --random_weights");
  if (sources == 0 && FLAGS_config.empty()) {
    ThrowUserError("--weights is missing: name the weights of ", FLAGS_net,
                   ", or give --random_weights for a test");
  }
  if (FLAGS_bgr && FLAGS_weights.empty()) ThrowUserError("--bgr goes with --weights");
  if (!overrides.empty() && FLAGS_config.empty()) ThrowUserError("--set goes with --config");
  if (FLAGS_batch < 0) ThrowUserError("--batch is ", FLAGS_batch, ", must be at least 0");
  const std::vector<std::string> ways = {"metadata", "nodes", "none"};
  if (std::find(ways.begin(), ways.end(), FLAGS_preprocess) == ways.end()) {
    ThrowUserError("--preprocess=", FLAGS_preprocess, ": expected metadata, nodes or none");
  }
  if (FLAGS_preprocess == "nodes" && FLAGS_config.empty()) {
    ThrowUserError("--preprocess=nodes goes with --config, whose data have mean and std");
  }
}

// The images that the net has been validated on.
const DataConfig& DataOf(const JobConfig& config) {
  return config.has_validation_data() ? config.validation_data() : config.train_data();
}

// Fills the parameters of the net. Returns the names of the classes, if they are known.
std::vector<std::string> LoadWeights(const JobConfig& config, Net* net) {
  if (FLAGS_random_weights) {
    net->InitParameters();
    return {};
  }
  const std::unique_ptr<Communicator> alone = NewSingleCommunicator();
  const std::string source = FindEvaluationWeights(
      config, FLAGS_weights.empty() ? FLAGS_checkpoint : FLAGS_weights, alone.get());
  LoadEvaluationWeights(source, FLAGS_bgr, net->parameters().get(), alone.get());
  return CheckpointClassNames(source, alone.get());
}

ExportOptions OptionsOf(const JobConfig& config, const std::vector<std::string>& class_names) {
  ExportOptions options;
  options.fold_batch_norm = FLAGS_fold_batch_norm;
  options.softmax = FLAGS_softmax;
  options.producer_version = Version();
  if (FLAGS_preprocess == "none") return options;
  const bool nodes = FLAGS_preprocess == "nodes";
  const DataConfig& data = DataOf(config);
  if (!FLAGS_config.empty()) options.metadata = PreprocessingMetadata(data, nodes);
  for (const auto& entry : ClassNamesMetadata(class_names)) options.metadata.push_back(entry);
  if (nodes) {
    options.normalization = Normalization{{data.mean().begin(), data.mean().end()},
                                          {data.std().begin(), data.std().end()}};
  }
  return options;
}

std::string DimsOf(const onnx::ValueInfoProto& value) {
  std::string text;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    text += (text.empty() ? "" : "x") +
            (dim.has_dim_param() ? dim.dim_param() : StrCat(dim.dim_value()));
  }
  return StrCat(value.name(), " ", text);
}

void PrintModel(const onnx::GraphProto& graph, uint64_t bytes) {
  std::string values;
  for (const auto& input : graph.input()) values += "  input    " + DimsOf(input) + "\n";
  for (const auto& output : graph.output()) values += "  output   " + DimsOf(output) + "\n";
  std::printf("  model    %s, %s, %s, opset %lld\n%s", FLAGS_onnx.c_str(),
              HumanBytes(static_cast<double>(bytes)).c_str(),
              Counted(graph.node_size(), "node").c_str(), static_cast<long long>(kOnnxOpset),
              values.c_str());
}

int Main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = std::max<int>(FLAGS_minloglevel, google::GLOG_WARNING);
  google::InitGoogleLogging(argv[0]);
  std::vector<std::string> overrides;
  FlagSpec flags = Spec();
  flags.overrides = &overrides;
  const int answered = ParseFlags(argc, argv, flags);
  if (answered >= 0) return answered;
  CheckFlags(overrides);

  JobConfig config;
  if (!FLAGS_config.empty()) config = ReadJobConfig(FLAGS_config, overrides, OpenedData::kNone);
  const NetSource source = FLAGS_config.empty() ? ReadNet(FLAGS_net) : ReadJobNet(config);
  const Shape image = FLAGS_input.empty() ? ImageShapeOf(DataOf(config)) : ParseInput(FLAGS_input);
  const InferenceGraph graph = NewInferenceGraph(source, FLAGS_batch, image);

  const std::unique_ptr<Device> device = DeviceRegistry::Get().Create("device", "cpu", 0);
  NetOptions options;
  options.phase = TEST;
  options.seed = config.seed();
  options.batch_size = graph.batch;
  options.image_shape = image;
  Net net(source, options, device.get());
  const std::vector<std::string> class_names = LoadWeights(config, &net);
  const ExportedNet exported = ExportNet(graph, *net.parameters(), OptionsOf(config, class_names));
  PrintModel(exported.model.graph(), WriteOnnx(exported.model, FLAGS_onnx));
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
