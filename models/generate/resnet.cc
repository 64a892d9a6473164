#include <cmath>
#include <string>
#include <vector>

#include "models/generate/net_builder.h"
#include "models/generate/networks.h"

namespace gf {
namespace {

// One stage: `blocks` residual blocks; the first has the given stride.
struct Stage {
  int blocks;
  int width;
  int stride;
};

// A block appends its layers with the prefix "layerS.B." and returns its result. `outputs` is the
// number of channels of the result; `project` tells whether the shortcut needs a 1x1 convolution.
struct BlockShape {
  std::string prefix;
  int inputs;
  int width;
  int outputs;
  int stride;
  bool project;
  bool blur;  // before convolutions with a stride (Zhang, arXiv 1904.11486)
};

std::string ConvNorm(NetBuilder* net, const std::string& conv, const std::string& norm,
                     const std::string& bottom, int outputs, Window window) {
  return net->BatchNormInPlace(norm, net->Conv(conv, bottom, outputs, window, MsraFanOut()));
}

// The bottom of a convolution with the block's stride.
std::string MaybeBlurred(NetBuilder* net, const std::string& name, const std::string& bottom,
                         int channels, const BlockShape& block) {
  if (!block.blur || block.stride == 1) return bottom;
  return net->Blur(block.prefix + name, bottom, channels);
}

std::string Shortcut(NetBuilder* net, std::string bottom, const BlockShape& block) {
  if (!block.project) return bottom;
  const std::string name = block.prefix + "downsample.";
  bottom = MaybeBlurred(net, "downsample.blur", bottom, block.inputs, block);
  return ConvNorm(net, name + "0", name + "1", bottom, block.outputs, {1, block.stride, 0});
}

std::string AddRelu(NetBuilder* net, const std::string& branch, const std::string& shortcut,
                    const BlockShape& block) {
  const std::string sum = net->Sum(block.prefix + "add", branch, shortcut);
  return net->ReluInPlace(block.prefix + "relu", sum);
}

std::string BasicBlock(NetBuilder* net, const std::string& bottom, const BlockShape& block) {
  const std::string& p = block.prefix;
  const std::string shortcut = Shortcut(net, bottom, block);
  std::string x = ConvNorm(net, p + "conv1", p + "bn1", bottom, block.width, {3, block.stride, 1});
  x = net->ReluInPlace(p + "relu1", x);
  x = ConvNorm(net, p + "conv2", p + "bn2", x, block.outputs, {3, 1, 1});
  return AddRelu(net, x, shortcut, block);
}

std::string Bottleneck(NetBuilder* net, const std::string& bottom, const BlockShape& block) {
  const std::string& p = block.prefix;
  const std::string shortcut = Shortcut(net, bottom, block);
  std::string x = ConvNorm(net, p + "conv1", p + "bn1", bottom, block.width, {1, 1, 0});
  x = MaybeBlurred(net, "blur2", net->ReluInPlace(p + "relu1", x), block.width, block);
  x = ConvNorm(net, p + "conv2", p + "bn2", x, block.width, {3, block.stride, 1});
  x = net->ReluInPlace(p + "relu2", x);
  x = ConvNorm(net, p + "conv3", p + "bn3", x, block.outputs, {1, 1, 0});
  return AddRelu(net, x, shortcut, block);
}

// The pre-activated bottom feeds the branch and the projection; an identity shortcut takes the
// bottom itself.
std::string PreActivationBottleneck(NetBuilder* net, const std::string& bottom,
                                    const BlockShape& block) {
  const std::string& p = block.prefix;
  std::string x = net->ReluInPlace(p + "relu1", net->BatchNorm(p + "bn1", bottom));
  const std::string shortcut = block.project ? net->Conv(p + "downsample", x, block.outputs,
                                                         {1, block.stride, 0}, MsraFanOut())
                                             : bottom;
  x = ConvNorm(net, p + "conv1", p + "bn2", x, block.width, {1, 1, 0});
  x = net->ReluInPlace(p + "relu2", x);
  x = ConvNorm(net, p + "conv2", p + "bn3", x, block.width, {3, block.stride, 1});
  x = net->ReluInPlace(p + "relu3", x);
  x = net->Conv(p + "conv3", x, block.outputs, {1, 1, 0}, MsraFanOut());
  return net->Sum(p + "add", x, shortcut);
}

using Block = std::string (*)(NetBuilder*, const std::string&, const BlockShape&);

// Appends all stages. *channels is the number of input channels and, on return, of output channels.
// A block's result has expansion * width channels.
std::string Stages(NetBuilder* net, std::string x, Block block, int expansion,
                   const std::vector<Stage>& stages, int* channels, bool blur = false) {
  for (size_t s = 0; s < stages.size(); ++s) {
    const int outputs = stages[s].width * expansion;
    for (int b = 0; b < stages[s].blocks; ++b) {
      BlockShape shape;
      shape.prefix = "layer" + std::to_string(s + 1) + "." + std::to_string(b) + ".";
      shape.inputs = *channels;
      shape.width = stages[s].width;
      shape.outputs = outputs;
      shape.stride = b == 0 ? stages[s].stride : 1;
      shape.project = shape.stride != 1 || *channels != outputs;
      shape.blur = blur;
      x = block(net, x, shape);
      *channels = outputs;
    }
  }
  return x;
}

// Appends the global average, the classifier, the loss and the accuracies. As in PyTorch, weights
// and bias of the classifier start uniform in +-1/sqrt(fan-in).
void Head(NetBuilder* net, const std::string& bottom, int channels, int classes) {
  const FillerParameter filler = Uniform(1 / std::sqrt(static_cast<float>(channels)));
  const std::string pool = net->GlobalAveragePool("avgpool", bottom);
  const std::string logits = net->InnerProduct("fc", pool, classes, filler, filler, 1);
  net->Loss("loss", logits);
  net->Accuracy("top1", logits);
  if (classes >= 100) net->Accuracy("top5", logits, 5);
}

std::string MaxPool(NetBuilder* net, const std::string& bottom) {
  return net->Pool("maxpool", bottom, PoolingParameter::MAX, {3, 2, 1}, PoolingParameter::FLOOR);
}

// The networks for 224x224 images of ImageNet's 1,000 classes.
NetParameter ImageNetResNet(const std::string& name, Block block, int expansion,
                            const std::vector<int>& blocks, bool blur = false) {
  NetBuilder net(name);
  std::string x = ConvNorm(&net, "conv1", "bn1", net.Input(3, 224), 64, {7, 2, 3});
  x = MaxPool(&net, net.ReluInPlace("relu", x));
  int channels = 64;
  x = Stages(&net, x, block, expansion,
             {{blocks[0], 64, 1}, {blocks[1], 128, 2}, {blocks[2], 256, 2}, {blocks[3], 512, 2}},
             &channels, blur);
  Head(&net, x, channels, 1000);
  return net.net();
}

}  // namespace

NetParameter ResNet18() { return ImageNetResNet("resnet18", BasicBlock, 1, {2, 2, 2, 2}); }

NetParameter ResNet50() { return ImageNetResNet("resnet50", Bottleneck, 4, {3, 4, 6, 3}); }

NetParameter ResNet50Blur() {
  return ImageNetResNet("resnet50_blur", Bottleneck, 4, {3, 4, 6, 3}, /*blur=*/true);
}

NetParameter ResNet50V2() {
  NetBuilder net("resnet50_v2");
  std::string x = net.Conv("conv1", net.Input(3, 224), 64, {7, 2, 3}, MsraFanOut());
  x = MaxPool(&net, x);
  int channels = 64;
  x = Stages(&net, x, PreActivationBottleneck, 4,
             {{3, 64, 1}, {4, 128, 2}, {6, 256, 2}, {3, 512, 2}}, &channels);
  x = net.ReluInPlace("relu", net.BatchNormInPlace("bn", x));
  Head(&net, x, channels, 1000);
  return net.net();
}

NetParameter ResNet20Cifar() {
  NetBuilder net("resnet20_cifar");
  std::string x = ConvNorm(&net, "conv1", "bn1", net.Input(3, 32), 16, {3, 1, 1});
  x = net.ReluInPlace("relu", x);
  int channels = 16;
  x = Stages(&net, x, BasicBlock, 1, {{3, 16, 1}, {3, 32, 2}, {3, 64, 2}}, &channels);
  Head(&net, x, channels, 10);
  return net.net();
}

}  // namespace gf
