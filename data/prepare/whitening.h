#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"
#include "core/shape.h"
#include "data/prepare/verify.h"

namespace gf {

struct WhiteningOptions {
  // Where images come from and how they are prepared: train_data of a job.
  DataConfig data;
  int kernel = 2;  // height and width of the filters in pixels
  // The first ones of the data set, in its own order; all, if it has fewer.
  int64_t images = 5000;
  double epsilon = 5e-4;  // added to eigenvalues; more than 0
};

// The filters of a convolution whose outputs on small patches of images are uncorrelated and have
// nearly equal mean squares, in both signs (Jordan, 2404.00498).
//
// A patch p has the d = C k^2 normalized numbers of k x k pixels, in the order C, H, W. With the
// eigenvalues a and the unit eigenvectors v of the mean of p p^T, from which no mean is subtracted,
// filter i is v_i / sqrt(a_i + epsilon), where a descends, and filter d + i is its negative. So the
// mean of the squared output of filter i is 1 / (1 + epsilon / a_i).
struct Whitening {
  int64_t images = 0, patches = 0;  // that were measured
  std::vector<double> eigenvalues;  // [d], descending
  Shape shape;                      // of the filters: 2 d, C, k, k
  std::vector<float> filters;
};

// Takes the patches at all places of the images as they enter a net in evaluation: without random
// parts. Images are decoded by data.workers threads; the result has the same bits on every run.
// Throws UserError if the options are out of range, the filters are larger than the images or have
// more than 1,024 numbers, or the data set cannot be read.
Whitening WhitenPatches(const WhiteningOptions& options, const SampleProgress& progress);

}  // namespace gf
