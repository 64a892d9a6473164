// The shipped networks: sizes, and that each runs as a training net builds it.

#include <gtest/gtest.h>

#include "tests/models/net_for_test.h"

namespace gf {
namespace {

struct Shipped {
  const char* name;
  int64_t parameters;
  size_t tensors;
  int64_t classes;
};

class NetworksTest : public testing::TestWithParam<Shipped> {};

TEST_P(NetworksTest, HasItsParametersAndTensorsAndClasses) {
  const auto net = NewNet(ReadNet(StrCat("models/", GetParam().name, ".prototxt")), TestOptions());
  EXPECT_EQ(net->parameters()->layout().parameter_count(), GetParam().parameters);
  EXPECT_EQ(net->parameters()->layout().entries().size(), GetParam().tensors);
  EXPECT_EQ(net->classes(), GetParam().classes);
  EXPECT_EQ(net->name(), GetParam().name);
  EXPECT_LT(net->arena_bytes(), net->arena_bytes_without_reuse());
}

TEST_P(NetworksTest, PoolOrderIsTheReverseOfTheForwardOrder) {
  const auto net = NewNet(ReadNet(StrCat("models/", GetParam().name, ".prototxt")), TestOptions());
  std::vector<int> order;
  for (size_t k = net->ops().size(); k-- > 0;) {
    for (int entry : net->ops()[k].entries) order.push_back(entry);
  }
  ASSERT_EQ(order.size(), GetParam().tensors);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int>(i));
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, NetworksTest,
    testing::Values(
        Shipped{"lenet", 431080, 8, 10}, Shipped{"quickstart_net", 33946, 11, 10},
        Shipped{"alexnet", 60965224, 16, 1000}, Shipped{"alexnet_bn", 60967976, 26, 1000},
        Shipped{"alexnet_owt", 61100840, 16, 1000}, Shipped{"resnet18", 11689512, 62, 1000},
        Shipped{"resnet20_cifar", 272474, 65, 10}, Shipped{"resnet50", 25557032, 161, 1000},
        Shipped{"resnet50_blur", 25581224, 167, 1000}, Shipped{"resnet50_v2", 25549352, 153, 1000},
        Shipped{"googlenet", 13378280, 128, 1000}, Shipped{"airbench94", 1972792, 21, 10}),
    [](const testing::TestParamInfo<Shipped>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gf
