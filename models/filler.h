#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/net.pb.h"
#include "core/shape.h"

namespace gf {

// Initial values of a parameter in plain order, as Caffe's fillers define them: constant,
// uniform, gaussian, xavier, msra, positive_unitball, bilinear. Value i is a function of
// (seed, name, i). Throws UserError for an unknown type or unusable settings.
std::vector<float> Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed,
                        const std::string& name);

}  // namespace gf
