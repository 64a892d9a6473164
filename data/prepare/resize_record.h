#pragma once

#include <string>

#include "data/formats/record_source.h"
#include "data/formats/record_writer.h"
#include "data/image/image.h"
#include "data/image/render.h"

namespace gf {

// What --resize asks for; at most one of the two.
struct ResizeTo {
  // Larger images get this shorter side and keep their aspect ratio; 0 = none do.
  int shorter = 0;
  // All images get exactly this size; 0x0 = they do not.
  ImageSize both;

  bool Nothing() const { return shorter == 0 && both.pixels() == 0; }
  // The size that an image of this size gets.
  ImageSize Of(ImageSize size) const;
  // As on the command line: "0", "256", "240x320" (height x width).
  std::string ToString() const;
};

// Reads that form. Throws UserError unless sides are 1 to 65500 pixels, or the text is "0".
ResizeTo ParseResize(const std::string& text);

// An encoded image resized through Lanczos' filter, as EncodePixels writes its pixels; its own
// bytes if it has that size already. It is decoded in any case, so that damage is found: throws
// SampleError. Throws UserError for pixels that EncodePixels refuses.
EncodedImage ResizeRecord(const Record& record, const ResizeTo& to, int quality,
                          Renderer* renderer);

}  // namespace gf
