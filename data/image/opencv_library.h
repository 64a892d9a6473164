#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/image/image.h"

namespace gf {

// Note [OpenCV's imgcodecs]
// Nothing of OpenCV is linked: its core brings some twenty libraries along, which each start of a
// program would load. imgcodecs is loaded when the first image needs it, and found by name in any
// OpenCV 4, whose cv::Mat has one layout. OpenCV 5 has another one and is not looked for.

// Receives an image that imgcodecs has decoded: rows without gaps, the order of channels is
// OpenCV's (gray; gray, alpha; blue, green, red; blue, green, red, alpha). `pixels` can be changed
// and lives during the call.
using UseOpenCvImage =
    std::function<void(uint8_t* pixels, ImageSize size, const PixelFormat& format)>;

// Decodes an image file with imgcodecs. Neither orientation nor a color profile is applied.
// `format` names the file's format in messages; `needs_path`: imgcodecs reads it from a path only
// (it would write a file to /tmp itself). Safe to call from several threads. Throws SampleError
// "WebP: what" for a file that cannot be decoded or holds other types than PixelType has,
// std::bad_alloc, and UserError, which ends a job whatever its on_error says, where imgcodecs is
// absent or its settings are wrong.
void DecodeWithOpenCv(const std::string& format, bool needs_path, const uint8_t* data, size_t size,
                      const UseOpenCvImage& use);

// The names of imgcodecs in all versions of OpenCV 4, the newest first.
std::vector<std::string> ImgcodecsNames();

// Loads the first library of `names` that there is; it stays loaded. Returns its handle for dlsym.
// Throws UserError, for a file of this format, if there is none.
void* LoadImgcodecs(const std::string& format, const std::vector<std::string>& names);

}  // namespace gf
