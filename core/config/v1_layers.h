#pragma once

#include <string>

#include "core/config/net.pb.h"

namespace gf {

// The LayerParameter's `type` for a type of Caffe's V1 format, "SoftmaxWithLoss" for SOFTMAX_LOSS;
// "" for NONE.
std::string TypeOfV1(V1LayerParameter::LayerType type);

// A layer of the V1 format as a LayerParameter; takes the weights out of `old`. blobs_lr,
// weight_decay, the names in `param` and blob_share_mode become `param { }`; blocks keep their
// names.
LayerParameter UpgradeV1Layer(V1LayerParameter* old);

}  // namespace gf
