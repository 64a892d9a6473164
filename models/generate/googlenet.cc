#include <string>

#include "models/generate/net_builder.h"
#include "models/generate/networks.h"

namespace gf {
namespace {

// Channels of the convolutions of an inception module, in the order of the paper's table 1.
struct Inception {
  int one;
  int reduce3, three;
  int reduce5, five;
  int pool;
};

std::string ConvRelu(NetBuilder* net, const std::string& prefix, const std::string& name,
                     const std::string& bottom, int outputs, Window window) {
  const std::string top =
      net->ConvBias(prefix + name, bottom, outputs, window, Xavier(), Constant(0.2f), 2);
  return net->ReluInPlace(prefix + "relu_" + name, top);
}

std::string Module(NetBuilder* net, const std::string& name, const std::string& bottom,
                   const Inception& size) {
  const std::string p = "inception_" + name + "/";
  const std::string one = ConvRelu(net, p, "1x1", bottom, size.one, {1, 1, 0});
  std::string three = ConvRelu(net, p, "3x3_reduce", bottom, size.reduce3, {1, 1, 0});
  three = ConvRelu(net, p, "3x3", three, size.three, {3, 1, 1});
  std::string five = ConvRelu(net, p, "5x5_reduce", bottom, size.reduce5, {1, 1, 0});
  five = ConvRelu(net, p, "5x5", five, size.five, {5, 1, 2});
  std::string pool = net->Pool(p + "pool", bottom, PoolingParameter::MAX, {3, 1, 1});
  pool = ConvRelu(net, p, "pool_proj", pool, size.pool, {1, 1, 0});
  return net->Concat(p + "output", {one, three, five, pool});
}

// An auxiliary classifier with loss weight 0.3.
void Auxiliary(NetBuilder* net, const std::string& name, const std::string& bottom) {
  const std::string p = name + "/";
  std::string x = net->Pool(p + "ave_pool", bottom, PoolingParameter::AVE, {5, 3, 0});
  x = ConvRelu(net, p, "conv", x, 128, {1, 1, 0});
  x = net->InnerProduct(p + "fc", x, 1024, Xavier(), Constant(0.2f), 2);
  x = net->ReluInPlace(p + "relu_fc", x);
  x = net->DropoutInPlace(p + "drop_fc", x, 0.7f);
  x = net->InnerProduct(p + "classifier", x, 1000, Xavier(), Constant(0), 2);
  net->Loss(p + "loss", x, 0.3f);
}

std::string MaxPool(NetBuilder* net, const std::string& name, const std::string& bottom) {
  return net->Pool(name, bottom, PoolingParameter::MAX, {3, 2, 0});
}

}  // namespace

NetParameter GoogLeNet() {
  NetBuilder net("googlenet");
  std::string x = ConvRelu(&net, "conv1/", "7x7_s2", net.Input(3, 224), 64, {7, 2, 3});
  x = net.Lrn("pool1/norm1", MaxPool(&net, "pool1/3x3_s2", x));
  x = ConvRelu(&net, "conv2/", "3x3_reduce", x, 64, {1, 1, 0});
  x = ConvRelu(&net, "conv2/", "3x3", x, 192, {3, 1, 1});
  x = MaxPool(&net, "pool2/3x3_s2", net.Lrn("conv2/norm2", x));
  x = Module(&net, "3a", x, {64, 96, 128, 16, 32, 32});
  x = Module(&net, "3b", x, {128, 128, 192, 32, 96, 64});
  x = MaxPool(&net, "pool3/3x3_s2", x);
  x = Module(&net, "4a", x, {192, 96, 208, 16, 48, 64});
  Auxiliary(&net, "loss1", x);
  x = Module(&net, "4b", x, {160, 112, 224, 24, 64, 64});
  x = Module(&net, "4c", x, {128, 128, 256, 24, 64, 64});
  x = Module(&net, "4d", x, {112, 144, 288, 32, 64, 64});
  Auxiliary(&net, "loss2", x);
  x = Module(&net, "4e", x, {256, 160, 320, 32, 128, 128});
  x = MaxPool(&net, "pool4/3x3_s2", x);
  x = Module(&net, "5a", x, {256, 160, 320, 32, 128, 128});
  x = Module(&net, "5b", x, {384, 192, 384, 48, 128, 128});
  x = net.GlobalAveragePool("pool5/7x7_s1", x);
  x = net.DropoutInPlace("pool5/drop_7x7_s1", x, 0.4f);
  x = net.InnerProduct("loss3/classifier", x, 1000, Xavier(), Constant(0), 2);
  net.Loss("loss", x);
  net.Accuracy("top1", x);
  net.Accuracy("top5", x, 5);
  return net.net();
}

}  // namespace gf
