// Image files: header, whole image, and a window at some scale.
#include <algorithm>
#include <vector>

#include "data/image/image.h"
#include "data/image/render.h"
#include "tests/fuzz/fuzz.h"

namespace gf {
namespace {

constexpr int64_t kMostPixels = 1 << 18;

// Renders a window that depends on the input.
class Window : public RowSink {
 public:
  explicit Window(uint32_t choice) : choice_(choice) {}

  DecodeRequest Begin(ImageSize size, bool scalable) override {
    View view = WholeView(size, {7, 5}, static_cast<DataConfig::Filter>(choice_ % 3));
    view.x.begin = choice_ / 8 % size.width;
    view.x.scale = (size.width - view.x.begin) / view.x.outputs;
    view.mirrored = choice_ & 1;
    view.exact = choice_ & 4;
    int denominator = 1;
    if (scalable && !view.exact) {
      denominator = view.LargestReduction();
      view = view.Reduced(denominator);
    }
    const int channels = choice_ & 2 ? 1 : 3;
    out_.resize(view.size.pixels() * channels);
    DecodeRequest request = renderer_.Start(view, {PixelType::kUINT8, channels}, out_.data());
    request.denominator = denominator;
    return request;
  }
  void Row(const uint8_t* row) override { renderer_.Add(row); }

 private:
  const uint32_t choice_;
  Renderer renderer_;
  std::vector<uint8_t> out_;
};

void Read(const uint8_t* data, size_t size) {
  if (ProbeImage(data, size).size.pixels() > kMostPixels) return;
  uint32_t choice = 0;
  for (size_t i = 0; i < size; ++i) choice = choice * 31 + data[i];
  // What no conversion leads to is a SampleError: the window below is decoded in any case.
  static constexpr PixelType kTypes[] = {PixelType::kUINT8, PixelType::kUINT16, PixelType::kFP32};
  const PixelFormat format = {kTypes[choice / 16 % 3], 1 + static_cast<int>(choice / 64 % 4)};
  try {
    std::vector<uint8_t> pixels;
    DecodeImage(data, size, format, [&](ImageSize image) {
      pixels.resize(image.pixels() * format.bytes());
      return pixels.data();
    });
  } catch (const SampleError&) {
  }
  Window window(choice);
  DecodeRows(data, size, &window);
}

}  // namespace
}  // namespace gf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    gf::Read(data, size);
  } catch (const gf::UserError&) {  // SampleError, and that imgcodecs is not installed
  }
  return 0;
}
