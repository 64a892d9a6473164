// Index files, beside a shard of a few samples.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "data/formats/record_source.h"
#include "data/formats/tar_index.h"
#include "data/formats/tar_writer.h"
#include "tests/fuzz/fuzz.h"

namespace gf {
namespace {

// The shard to which the corpus' indexes belong; the path of the index.
std::string MakeShard() {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string base = StrCat(folder ? folder : "/tmp", "/fuzz-", getpid());
  TarWriter tar(base + ".tar");
  for (int i = 0; i < 4; ++i) {
    const std::string image(100 + i, 'x'), label = std::to_string(i);
    tar.Add(StrCat("s", i, ".jpg"), image.data(), image.size());
    tar.Add(StrCat("s", i, ".cls"), label.data(), label.size());
  }
  tar.Close();
  return base + ".idx";
}

}  // namespace
}  // namespace gf

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string index = gf::MakeShard();
  static const std::string shard = index.substr(0, index.size() - 4) + ".tar";
  std::ofstream(index, std::ios::binary).write(reinterpret_cast<const char*>(data), size);
  const gf::InputFile file(shard);
  std::string why;
  const auto read = gf::ReadTarIndex(file, &why);
  if (!read) return 0;
  for (const gf::TarSample& sample : read->samples) {
    if (sample.offset < 0 || sample.bytes < 0 || sample.offset + sample.bytes > file.size() ||
        sample.label < 0 || sample.key.empty()) {
      __builtin_trap();
    }
  }
  return 0;
}
