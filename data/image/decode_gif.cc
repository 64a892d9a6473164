#include <gif_lib.h>

#include <algorithm>
#include <cstring>

#include "data/image/byte_buffer.h"
#include "data/image/codec.h"

namespace gf {
namespace {

struct Input {
  const uint8_t* data;
  size_t left;
};

int ReadInput(GifFileType* gif, GifByteType* to, int bytes) {
  auto* input = static_cast<Input*>(gif->UserData);
  const size_t count = std::min(input->left, static_cast<size_t>(bytes));
  std::memcpy(to, input->data, count);
  input->data += count;
  input->left -= count;
  return static_cast<int>(count);
}

// Reads the first frame of a GIF in memory.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : input_{data, size} {
    int error = 0;
    gif_ = DGifOpen(&input_, ReadInput, &error);
    if (!gif_) Fail(error);
    try {
      CheckImageSize("GIF", gif_->SHeight, gif_->SWidth);
    } catch (...) {
      DGifCloseFile(gif_, nullptr);
      throw;
    }
  }
  ~Reader() { DGifCloseFile(gif_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  ImageSize size() const { return {gif_->SHeight, gif_->SWidth}; }

  // Writes RGB pixels; black where the frame does not cover the picture.
  void ReadPixels(uint8_t* to) {
    FindFrame();
    const GifImageDesc& frame = gif_->Image;
    const ColorMapObject* colors = frame.ColorMap ? frame.ColorMap : gif_->SColorMap;
    if (!colors) throw SampleError("GIF: no color table");
    if (frame.Left < 0 || frame.Top < 0 || frame.Width < 1 || frame.Height < 1 ||
        frame.Width > gif_->SWidth - frame.Left || frame.Height > gif_->SHeight - frame.Top) {
      throw SampleError("GIF: the frame lies outside the picture");
    }
    std::memset(to, 0, size().pixels() * 3);
    uint8_t* const line = line_.Reserve(frame.Width);
    // Interlaced rows come in four passes.
    static constexpr int kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
    for (int pass = frame.Interlace ? 0 : 3; pass < 4; ++pass) {
      const int first = frame.Interlace ? kFirst[pass] : 0;
      const int step = frame.Interlace ? kStep[pass] : 1;
      for (int y = first; y < frame.Height; y += step) {
        if (DGifGetLine(gif_, line, frame.Width) != GIF_OK) Fail(gif_->Error);
        uint8_t* pixel = to + (int64_t{frame.Top + y} * gif_->SWidth + frame.Left) * 3;
        for (int x = 0; x < frame.Width; ++x, pixel += 3) {
          if (line[x] >= colors->ColorCount) throw SampleError("GIF: a color outside its table");
          const GifColorType& color = colors->Colors[line[x]];
          pixel[0] = color.Red;
          pixel[1] = color.Green;
          pixel[2] = color.Blue;
        }
      }
    }
  }

 private:
  [[noreturn]] static void Fail(int error) {
    const char* what = GifErrorString(error);
    throw SampleError(StrCat("GIF: ", what ? what : "damaged"));
  }

  void FindFrame() {
    for (;;) {
      GifRecordType type;
      if (DGifGetRecordType(gif_, &type) != GIF_OK) Fail(gif_->Error);
      if (type == IMAGE_DESC_RECORD_TYPE) {
        if (DGifGetImageDesc(gif_) != GIF_OK) Fail(gif_->Error);
        return;
      }
      if (type != EXTENSION_RECORD_TYPE) throw SampleError("GIF: no frame");
      int code;
      GifByteType* block = nullptr;
      if (DGifGetExtension(gif_, &code, &block) != GIF_OK) Fail(gif_->Error);
      while (block) {
        if (DGifGetExtensionNext(gif_, &block) != GIF_OK) Fail(gif_->Error);
      }
    }
  }

  Input input_;
  GifFileType* gif_ = nullptr;
  ByteBuffer line_;
};

bool Recognizes(const uint8_t* data, size_t size) { return HasBytes(data, size, 0, "GIF8"); }

ImageInfo Probe(const uint8_t* data, size_t size) {
  return {"GIF", Reader(data, size).size(), 3, PixelType::kUINT8, "", false};
}

void Decode(const uint8_t* data, size_t size, RowSink* sink) {
  Reader reader(data, size);
  thread_local ByteBuffer buffer;
  uint8_t* pixels = buffer.Reserve(reader.size().pixels() * 3);
  reader.ReadPixels(pixels);
  SendRows(pixels, reader.size(), {PixelType::kUINT8, 3}, sink);
}

}  // namespace

const Codec& GifCodec() {
  static const Codec* codec = new Codec{"GIF", Recognizes, Probe, Decode};
  return *codec;
}

}  // namespace gf
