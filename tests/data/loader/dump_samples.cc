// dump_samples SETTINGS: writes the pixels of a data set's samples in order, as evaluation sees
// them, to the standard output: for each a line "label height width channels" and the bytes.
// SETTINGS is a DataConfig in prototxt.
#include <google/protobuf/text_format.h>

#include <cstdio>

#include "core/error.h"
#include "data/loader/sample_reader.h"

namespace gf {
namespace {

int Main(int argc, char** argv) {
  DataConfig config;
  if (argc != 2 || !google::protobuf::TextFormat::ParseFromString(argv[1], &config)) {
    ThrowUserError("usage: dump_samples SETTINGS");
  }
  const SampleReader reader(config, 1, /*random=*/false, 0, {});
  if (reader.normalization().type() != DType::kUINT8) {
    ThrowUserError("mean_file: dump_samples writes bytes; leave it out");
  }
  SampleScratch scratch;
  std::vector<uint8_t> pixels(reader.image_bytes());
  for (int64_t i = 0; i < reader.source().size(); ++i) {
    int64_t label = 0;
    if (!reader.Read({0, i}, pixels.data(), &label, &scratch)) continue;
    std::printf("%lld %d %d %d\n", static_cast<long long>(label), reader.image_size().height,
                reader.image_size().width, reader.channels());
    std::fwrite(pixels.data(), 1, pixels.size(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
