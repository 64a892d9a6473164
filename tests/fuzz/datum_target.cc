// Messages of Caffe's databases.
#include <vector>

#include "data/formats/datum.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const gf::Datum datum = gf::ParseDatum(data, size);
    if (datum.size > 0 && (datum.data < data || datum.data + datum.size > data + size)) {
      __builtin_trap();
    }
    if (datum.encoded) return 0;
    const gf::ImageSize image = gf::CheckRawDatum(datum);
    std::vector<uint8_t> pixels(image.pixels() * gf::RawFormat(datum).bytes());
    gf::ReadRawDatum(datum, pixels.data());
  } catch (const gf::SampleError&) {
  }
  return 0;
}
