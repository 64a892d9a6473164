#pragma once

#include "core/config/config.h"
#include "core/shape.h"

namespace gf {

// A job's net (ReadJobNet) for predictions elsewhere: the layers of phase TEST, whose inputs take
// images of `image` (C, H, W) whatever the net or the job leaves to the data, and none of which
// reads a file. Names of layers and parameters, and every bit of the scores, stay. Layers of phase
// TRAIN remain only if they name parameters, which may decide what shared ones are called. Inputs
// of labels hold what `labels` says. Throws UserError as a net of phase TEST does.
NetParameter PredictionNet(const NetSource& net, const Shape& image,
                           const LabelConfig& labels = LabelConfig());

}  // namespace gf
