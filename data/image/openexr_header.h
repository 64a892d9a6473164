#pragma once

#include <cstddef>
#include <cstdint>

namespace gf {

// Checks the header of an OpenEXR file, since OpenEXR allocates what lengths in it say before it
// reads on: attributes lie within the file and are as long as their types, and buffers for image,
// tiles and lines are not too large. Throws SampleError.
// https://openexr.com/en/latest/OpenEXRFileLayout.html
void CheckOpenExrHeader(const uint8_t* data, size_t size);

}  // namespace gf
