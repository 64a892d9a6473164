#include "tests/layers/cuda/cudnn/shipped_convolutions.h"

#include <memory>
#include <set>

#include "core/device.h"
#include "core/error.h"
#include "layers/convolution.h"
#include "models/compiled_net.h"
#include "models/graph.h"

namespace gf {
namespace {

constexpr const char* kNets[] = {"resnet50",       "resnet50_v2",   "resnet18",    "googlenet",
                                 "alexnet",        "alexnet_bn",    "alexnet_owt", "lenet",
                                 "quickstart_net", "resnet20_cifar"};

std::string KeyOf(const ShippedConvolution& c) {
  const ConvolutionShape& s = c.shape;
  std::string key = StrCat(static_cast<int>(c.pass), c.epilogue.bias, c.epilogue.relu, " ",
                           s.channels, " ", s.outputs, " ", s.groups);
  for (int i = 0; i < 2; ++i) {
    key +=
        StrCat(" ", s.in[i], " ", s.kernel[i], " ", s.stride[i], " ", s.pad[i], " ", s.dilation[i]);
  }
  return key;
}

}  // namespace

std::vector<ShippedConvolution> ShippedConvolutions() {
  const std::unique_ptr<Device> device = DeviceRegistry::Get().Create("device", "cpu", 1);
  NetOptions options;
  options.batch_size = 1;
  std::vector<ShippedConvolution> all;
  std::set<std::string> keys;
  const auto add = [&](ShippedConvolution c) {
    if (keys.insert(KeyOf(c)).second) all.push_back(std::move(c));
  };
  for (const std::string net : kNets) {
    const CompiledNet compiled =
        CompileNet(ReadNet("models/" + net + ".prototxt"), options, device.get());
    for (const CompiledOp& op : compiled.ops) {
      const auto* layer = dynamic_cast<const ConvolutionLayer*>(op.layer.get());
      if (layer == nullptr) continue;
      const ConvolutionShape shape =
          ShapeOf(*layer, op.setup.bottoms[0].shape, op.setup.tops[0].shape);
      const std::string name = net + " " + layer->name();
      const ConvolutionEpilogue epilogue = {layer->bias(), layer->relu()};
      add({name + " forward", ConvolutionPass::kForward, shape, {}});
      if (!epilogue.nothing()) {
        add({StrCat(name, " forward", epilogue.bias ? "+bias" : "", epilogue.relu ? "+relu" : ""),
             ConvolutionPass::kForward, shape, epilogue});
      }
      add({name + " weights", ConvolutionPass::kBackwardFilter, shape, {}});
      if (op.setup.propagate[0]) add({name + " data", ConvolutionPass::kBackwardData, shape, {}});
    }
  }
  return all;
}

}  // namespace gf
