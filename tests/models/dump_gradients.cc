// Runs a shipped network once on random parameters and a random batch and writes what
// tests/golden/torch_reference.py needs to do the same, and the results:
//   OUT/weights.safetensors, OUT/input.safetensors as that script describes them
//   OUT/ours.safetensors     loss, logits, grad/<name>, state/<name> of a training step;
//                            eval_logits (a TEST net on the training net's parameters),
//                            eval_alone_logits (a TEST net of its own), both before that step

#include <gflags/gflags.h>

#include <cstdio>
#include <sstream>
#include <string>

#include "tests/models/named_tensors.h"
#include "tests/models/net_for_test.h"

DEFINE_string(net, "", "name of a shipped network");
DEFINE_int32(batch, 4, "images");
DEFINE_int32(side, 0, "pixels of an image's side; 0 = what the net says");
DEFINE_double(bias, 0, "middle of the biases of convolutions and inner products");
DEFINE_double(gamma, 0.35, "middle of the batch norms' gammas");
DEFINE_string(last_norm, "", "part of the names of the batch norms whose gamma is 0.1");
DEFINE_uint64(seed, 7, "of the batch");
DEFINE_string(compute, "FP32", "compute type of the training net: FP32, BF16 or FP16");
DEFINE_double(label_smoothing, 0, "of the training net's loss");
DEFINE_string(class_weights, "", "of the training net's loss, with commas; empty: none");
DEFINE_bool(deterministic, false, "as the job's setting");
DEFINE_string(out, ".", "folder");

namespace gf {
namespace {

void Append(const std::string& prefix, const Values& values, const PoolLayout& layout,
            std::vector<NamedTensor>* tensors) {
  for (const PoolEntry& entry : layout.entries()) {
    tensors->push_back({prefix + entry.name, entry.shape, values.at(entry.name)});
  }
}

int Main(int argc, char** argv) {
  const NetSource source = ShippedNet(FLAGS_net, FLAGS_batch, FLAGS_side);
  NetOptions training = TestOptions();
  training.compute = FLAGS_compute == "BF16"   ? DType::kBF16
                     : FLAGS_compute == "FP16" ? DType::kFP16
                                               : DType::kFP32;
  training.deterministic = FLAGS_deterministic;
  training.label_smoothing = static_cast<float>(FLAGS_label_smoothing);
  std::istringstream of_classes(FLAGS_class_weights);
  for (std::string weight; std::getline(of_classes, weight, ',');) {
    training.class_weights.push_back(std::stof(weight));
  }
  const auto net = NewNet(source, training);
  const ParameterStore& store = *net->parameters();
  RandomParameters how;
  how.bias = static_cast<float>(FLAGS_bias);
  how.gamma = static_cast<float>(FLAGS_gamma);
  how.last_norm = FLAGS_last_norm;
  SetRandom(how, net->parameters().get());
  const Batch batch = RandomBatch(net->input_shape(), net->classes(), FLAGS_seed);

  std::vector<NamedTensor> weights;
  Append("", Parameters(*net), store.layout(), &weights);
  Append("", States(*net), store.state_layout(), &weights);
  WriteTensors(FLAGS_out + "/weights.safetensors", weights);
  const float* pixels = batch.images.as<float>();
  WriteTensors(FLAGS_out + "/input.safetensors",
               {{"data", net->input_shape(), {pixels, pixels + net->input_shape().count()}}},
               batch.labels);

  const Shape scores{net->input_shape()[0], net->classes()};
  std::vector<NamedTensor> ours;
  NetOptions options = training;
  options.phase = TEST;
  options.label_smoothing.reset();
  options.class_weights.clear();
  const auto alone = NewNet(source, options);
  CopyParameters(*net, alone.get());
  options.parameters = net->parameters();
  const auto shared = NewNet(source, options);
  ours.push_back({"eval_loss", {1}, {shared->Forward(batch).Value()}});
  ours.push_back({"eval_logits", scores, shared->Logits()});
  alone->Forward(batch);
  ours.push_back({"eval_alone_logits", scores, alone->Logits()});

  ours.push_back({"loss", {1}, {net->Forward(batch).Value()}});
  ours.push_back({"logits", scores, net->Logits()});
  net->Backward(1, nullptr);
  Append("grad/", Gradients(*net), store.layout(), &ours);
  Append("state/", States(*net), store.state_layout(), &ours);
  WriteTensors(FLAGS_out + "/ours.safetensors", ours);
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return gf::RunMain(&gf::Main, argc, argv);
}
