#pragma once

#include "models/blob_links.h"

namespace gf {

// Fusions of BatchNorms that use the statistics of the batch.
struct BatchNormFusions {
  bool sums = false;     // a convolution sums up its results for the BatchNorm after it
  bool pairs = false;    // two BatchNorms whose results are added are computed together
  bool pooling = false;  // a BatchNorm and the max pooling after it are computed together
};

// For phase TRAIN, after residual sums and ReLUs were merged into BatchNorms.
void FuseBatchNorms(const BatchNormFusions& fusions, BlobLinks* graph);

}  // namespace gf
