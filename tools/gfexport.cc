// Writes a network as ONNX: gfexport --help.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/device.h"
#include "core/error.h"
#include "core/readable.h"
#include "data/loader/normalization.h"
#include "export/export_net.h"
#include "models/net.h"
#include "models/parameter_store.h"
#include "predict/prediction_source.h"
#include "solvers/checkpoint/weights_file.h"
#include "tools/flags.h"
#include "tools/image_shape.h"
#include "tools/version.h"

DEFINE_string(config, "", "the job: a prototxt `FILE`; its data are not opened");
DEFINE_string(checkpoint, "",
              "a checkpoint's folder, a folder of several, or a run's folder (the newest valid "
              "checkpoint is taken): `PATH`; without it, checkpoint.dir of the job");
DEFINE_string(weights, "",
              "the weights of a `FILE` instead of a checkpoint: safetensors, or a Caffe model "
              "(x.caffemodel, layers of the same names)");
DEFINE_bool(bgr, false,
            "with --weights=x.caffemodel: it was trained on BGR images, as Caffe reads JPEGs");
DEFINE_bool(random_weights, false, "no weights, but the initial values of training, for tests");
DEFINE_string(net, "",
              "the network of a prototxt `FILE`, instead of the checkpoint's or the job's");
DEFINE_string(input, "", "`CxHxW` of the images if neither net nor config says it");
DEFINE_string(onnx, "", "write the model to this `FILE`");
DEFINE_int64(batch, 0, "images per batch; 0 leaves the batch open, as the dimension N");
DEFINE_bool(softmax, false, "add the output prob, the softmax of the class scores");
DEFINE_bool(fold_batch_norm, true,
            "make batch norms a part of the convolutions and inner products before them");
DEFINE_string(
    preprocess, "metadata",
    "how the model says what the job's data do to images: metadata (entries gf.*), nodes "
    "(the input holds pixels, UINT8 by default, and nodes normalize it) or none: the `WAY`");

namespace gf {
namespace {

void Warn(const std::string& text) { PrintWarning(text); }

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "gfexport: writes a trained network as an ONNX model.";
  spec.usage = {"gfexport --checkpoint=PATH --onnx=FILE [FLAGS]",
                "gfexport --config=FILE [--checkpoint=PATH | --weights=FILE] --onnx=FILE [FLAGS]",
                "gfexport --net=FILE --weights=FILE --onnx=FILE [FLAGS]"};
  spec.examples = {"gfexport --checkpoint=runs/quickstart --onnx=model.onnx",
                   "gfexport --net=deploy.prototxt --weights=x.caffemodel --bgr --onnx=model.onnx"};
  spec.groups = {{"Network", {"config", "set", "net", "input"}},
                 {"Weights", {"checkpoint", "weights", "bgr", "random_weights"}},
                 {"Model", {"onnx", "batch", "softmax", "fold_batch_norm", "preprocess"}}};
  spec.notes = StrCat("The model has opset ", kOnnxOpset, ": docs/deployment.md.");
  return spec;
}

void CheckFlags(const std::vector<std::string>& overrides) {
  if (FLAGS_onnx.empty()) ThrowUserError("--onnx is missing: name the file to write (see --help)");
  const bool named = !FLAGS_checkpoint.empty() || !FLAGS_config.empty() || !FLAGS_net.empty();
  if (!named) {
    ThrowUserError("name what to export: --checkpoint, --config, or --net and --weights");
  }
  const bool has_weights = !FLAGS_checkpoint.empty() || !FLAGS_weights.empty();
  if (FLAGS_random_weights && has_weights) {
    ThrowUserError("give --random_weights, or --checkpoint and --weights, not both");
  }
  if (!FLAGS_random_weights && !has_weights && FLAGS_config.empty()) {
    ThrowUserError("--weights is missing: name the weights of ", FLAGS_net,
                   ", or give --random_weights for a test");
  }
  if (FLAGS_bgr && FLAGS_weights.empty() && FLAGS_checkpoint.empty()) {
    ThrowUserError("--bgr goes with --weights");
  }
  if (!overrides.empty() && FLAGS_config.empty()) ThrowUserError("--set goes with --config");
  if (FLAGS_batch < 0) ThrowUserError("--batch is ", FLAGS_batch, ", must be at least 0");
  const std::vector<std::string> ways = {"metadata", "nodes", "none"};
  if (std::find(ways.begin(), ways.end(), FLAGS_preprocess) == ways.end()) {
    ThrowUserError("--preprocess=", FLAGS_preprocess, ": expected metadata, nodes or none");
  }
}

PredictionOptions OptionsOfFlags(const std::vector<std::string>& overrides) {
  PredictionOptions options;
  options.checkpoint = FLAGS_checkpoint;
  options.weights = FLAGS_weights;
  options.config = FLAGS_config;
  options.net = FLAGS_net;
  options.overrides = overrides;
  options.without_weights = FLAGS_random_weights;
  options.bgr = FLAGS_bgr;
  options.batch_size = 1;
  options.note = Warn;
  return options;
}

ExportOptions ExportOptionsOf(PredictionSource* source) {
  ExportOptions options;
  options.fold_batch_norm = FLAGS_fold_batch_norm;
  options.softmax = FLAGS_softmax;
  options.producer_version = Version();
  if (FLAGS_preprocess == "none") return options;
  const bool nodes = FLAGS_preprocess == "nodes";
  if (nodes && !source->prepared) {
    ThrowUserError("--preprocess=nodes needs a job's mean and std: give --config, or a checkpoint");
  }
  DataConfig* const data = &source->data;
  if (!data->mean_file().empty()) {
    Warn(StrCat(data->mean_file(), ": the model gets the mean image's mean per channel"));
    UseMeanPerChannel(data);
  }
  if (source->prepared) options.metadata = PreprocessingMetadata(*data, nodes);
  for (const auto& entry : ClassNamesMetadata(source->class_names)) {
    options.metadata.push_back(entry);
  }
  if (nodes) {
    options.scaling = PixelScaling{{data->mean().begin(), data->mean().end()},
                                   {data->std().begin(), data->std().end()},
                                   data->pixel_type()};
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

  PredictionSource source = FindPredictionSource(OptionsOfFlags(overrides));
  NetOptions options = source.options;
  if (!FLAGS_input.empty()) options.image_shape = ParseInput(FLAGS_input);
  const InferenceGraph graph = NewInferenceGraph(source.net, FLAGS_batch, options.image_shape,
                                                 options.labels ? &*options.labels : nullptr);
  options.batch_size = graph.batch;
  options.compute = DType::kFP32;
  const std::unique_ptr<Device> device = DeviceRegistry::Get().Create("device", "cpu", 0);
  Net net(source.net, options, device.get());
  if (FLAGS_random_weights) {
    net.InitParameters();
  } else {
    LoadWeightsFile(source.weights, {/*complete=*/true, FLAGS_bgr}, net.parameters().get(), Warn);
  }
  const ExportedNet exported = ExportNet(graph, *net.parameters(), ExportOptionsOf(&source));
  PrintModel(exported.model.graph(), WriteOnnx(exported.model, FLAGS_onnx));
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
