// What torchvision_policy_test.py and mix_draws_test.py compare with PyTorch.
//
// run_operations apply: for each line "NAME MAGNITUDE HEIGHT WIDTH CHANNELS" and the pixels after
// it on the standard input, writes the pixels after the operation. run_operations draw SETTINGS
// HEIGHT WIDTH COUNT: prints COUNT operations "NAME MAGNITUDE", a line per image. SETTINGS is a
// PolicyConfig in prototxt. run_operations erase SETTINGS HEIGHT WIDTH COUNT: prints COUNT
// rectangles "TOP LEFT HEIGHT WIDTH". SETTINGS is an ErasingConfig. run_operations mix SETTINGS
// HEIGHT WIDTH COUNT: prints COUNT mixes "TOP LEFT HEIGHT WIDTH PIXEL_SHARE LABEL_SHARE". SETTINGS
// is a MixConfig.
#include <google/protobuf/text_format.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/augment/mix.h"
#include "data/augment/policy.h"

namespace gf {
namespace {

PixelOperationKind KindOf(const std::string& name) {
  for (int kind = 0; kind < kPixelOperationKinds; ++kind) {
    const auto found = static_cast<PixelOperationKind>(kind);
    if (name == Name(found)) return found;
  }
  ThrowUserError("no operation ", name);
}

void Apply() {
  std::string name;
  double magnitude = 0;
  ImageSize size;
  int channels = 0;
  ByteBuffer scratch;
  while (std::cin >> name >> magnitude >> size.height >> size.width >> channels) {
    std::cin.get();
    std::vector<char> pixels(size.pixels() * channels);
    std::cin.read(pixels.data(), static_cast<std::streamsize>(pixels.size()));
    ApplyPixelOperation({KindOf(name), magnitude}, size, channels,
                        reinterpret_cast<uint8_t*>(pixels.data()), &scratch);
    std::fwrite(pixels.data(), 1, pixels.size(), stdout);
  }
}

template <typename Config>
Config Parsed(const std::string& settings) {
  Config config;
  if (!google::protobuf::TextFormat::ParseFromString(settings, &config)) {
    ThrowUserError("cannot parse ", settings);
  }
  return config;
}

int Main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "apply") {
    Apply();
    return 0;
  }
  if (arguments.size() != 5) ThrowUserError("usage: see run_operations.cc");
  const ImageSize size = {std::stoi(arguments[2]), std::stoi(arguments[3])};
  for (int i = 0; i < std::stoi(arguments[4]); ++i) {
    Random random(1, StreamId(RandomUse::kAugment, 0, i));
    if (arguments[0] == "erase") {
      const ImageWindow w = DrawErased(Parsed<ErasingConfig>(arguments[1]), size, &random);
      std::printf("%d %d %d %d\n", w.top, w.left, w.height, w.width);
      continue;
    }
    if (arguments[0] == "mix") {
      const BatchMix m = DrawMix(Parsed<MixConfig>(arguments[1]), size, random);
      std::printf("%d %d %d %d %.9g %.9g\n", m.top, m.left, m.height, m.width, m.pixel_share,
                  m.label_share);
      continue;
    }
    for (const PixelOperation& o :
         DrawOperations(Parsed<PolicyConfig>(arguments[1]), size, &random)) {
      std::printf("%s %.17g ", Name(o.kind), o.magnitude);
    }
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
