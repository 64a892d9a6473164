#include "tools/gfbench/product_limit.h"

#include <algorithm>
#include <chrono>

#include "core/config/config.h"
#include "core/error.h"
#include "models/net.h"
#include "tools/gfbench/synthetic.h"

namespace gf {
namespace {

constexpr double kLongest_s = 0.05;
constexpr int kCalls = 5, kLargest = 8192;

// An evaluation net that multiplies two n x n matrices.
NetSource ProductNet(int n) {
  return ParseNet(
      StrCat("layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [", n, ", ", n,
             ", 1, 1] } } }"
             "layer { name: 'y' type: 'InnerProduct' bottom: 'x' top: 'y' "
             "inner_product_param { num_output: ",
             n, " bias_term: false weight_filler { type: 'xavier' } } }"),
      "a product of matrices");
}

}  // namespace

double ProductLimit(DType compute, Device* device) {
  double best = 0;
  for (int n = 1024; n <= kLargest; n *= 2) {
    NetOptions options;
    options.phase = TEST;
    options.compute = compute;
    Net net(ProductNet(n), options, device);
    net.InitParameters();
    const Batch batch = SyntheticBatch(net);
    net.Forward(batch);
    net.EnableTimes();
    double seconds = 1e9;
    for (int i = 0; i < kCalls; ++i) {
      net.ResetTimes();
      net.Forward(batch);
      for (const NetOp& op : net.ops()) {
        if (op.type == "InnerProduct") seconds = std::min(seconds, op.forward_seconds);
      }
    }
    best = std::max(best, 2.0 * n * n * n / seconds);
    if (seconds * 8 > kLongest_s) break;
  }
  return best;
}

}  // namespace gf
