#pragma once

#include <string>
#include <vector>

#include "models/blob_links.h"

namespace gf {

// Fusions of BatchNorms that use the statistics of the batch.
struct BatchNormFusions {
  bool sums = false;     // a convolution sums up its results for the BatchNorm after it
  bool pairs = false;    // two BatchNorms whose results are added are computed together
  bool pooling = false;  // a BatchNorm and the max pooling after it are computed together
};

// Layers that could have been fused with a batch norm but for this reason.
struct Unfused {
  std::string reason;               // "FUSION, since OBSTACLE"
  std::vector<std::string> layers;  // empty: all of the net
  // "reason: layer, layer, layer and 4 more"
  std::string Line() const;
};

// For phase TRAIN, after residual sums and ReLUs were merged into BatchNorms.
std::vector<Unfused> FuseBatchNorms(const BatchNormFusions& fusions, BlobLinks* graph);

}  // namespace gf
