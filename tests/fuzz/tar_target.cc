// Tars: the walk over their headers, and a source of samples.
#include <glog/logging.h>

#include "data/formats/record_source.h"
#include "data/formats/tar_reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static gf::MemoryFile file;
  FLAGS_minloglevel = google::GLOG_ERROR;  // no warnings about samples that are left out
  file.Set(data, size);
  try {
    const gf::InputFile input(file.path());
    gf::TarReader reader(&input);
    for (gf::TarMember member; reader.Next(&member);) {
      if (member.data_offset < 0 || member.size < 0 ||
          member.data_offset + member.size > input.size()) {
        __builtin_trap();
      }
    }
  } catch (const gf::UserError&) {
  }
  try {
    const auto source = gf::OpenSource("TAR", {file.path(), true});
    gf::Record record;
    for (int64_t i = 0; i < source->size(); ++i) {
      source->Read(i, &record);
      if (source->Label(i) >= source->classes() || source->Where(i).empty()) __builtin_trap();
    }
  } catch (const gf::UserError&) {
  }
  return 0;
}
