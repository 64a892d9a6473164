#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/net.pb.h"
#include "core/shape.h"

namespace gf {

// Explains why a filler cannot fill a parameter of this shape; empty if it can.
std::string FillerMistake(const FillerParameter& filler, const Shape& shape);

// Writes the initial values of a parameter in plain order (shape.count() values), as Caffe's
// fillers define them: constant, uniform, gaussian, xavier, msra, positive_unitball, bilinear; and
// two more, binomial and dirac (FillerParameter).
// Value i is a function of (seed, name, i). Throws UserError "name: mistake"
// (FillerMistake).
void Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed, const std::string& name,
          float* values);

// Returns the same values in a new vector.
std::vector<float> Fill(const FillerParameter& filler, const Shape& shape, uint64_t seed,
                        const std::string& name);

}  // namespace gf
