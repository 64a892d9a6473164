#pragma once

#include "core/config/net.pb.h"

namespace gf {

// torchvision's resnet18 and resnet50 (v1.5: the 3x3 convolution of a bottleneck has the stride),
// with torchvision's parameter names.
NetParameter ResNet18();
NetParameter ResNet50();

// ResNet-50 with a fixed binomial filter before each convolution of a block that has a stride.
NetParameter ResNet50Blur();

// ResNet-50 with full pre-activation (He et al., "Identity mappings in deep residual networks",
// arXiv 1603.05027) and projections without batch normalization: 153 tensors.
NetParameter ResNet50V2();

// ResNet-20 of He et al., "Deep residual learning" (arXiv 1512.03385), section 4.2, for 32x32
// images and ten classes. Shortcuts that change the shape are projections (option B of the paper).
NetParameter ResNet20Cifar();

// GoogLeNet (Szegedy et al., arXiv 1409.4842) with the layer names of Caffe's public model, and
// both auxiliary losses in both phases.
NetParameter GoogLeNet();

}  // namespace gf
