// LMDBs: the walk over their pages, and the records of a source.
#include <glog/logging.h>

#include "data/formats/lmdb_file.h"
#include "data/formats/record_source.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static gf::MemoryFile file;
  FLAGS_minloglevel = google::GLOG_ERROR;  // no warnings about records that are left out
  file.Set(data, size);
  try {
    const gf::InputFile input(file.path());
    size_t keys = 0;
    gf::LmdbFile(&input).ForEach([&](const gf::LmdbRecord& record) {
      if (record.offset < 0 || record.offset + int64_t{record.bytes} > input.size()) {
        __builtin_trap();
      }
      // A small file must not hold large keys by pointing to one of them again and again.
      keys += record.key.size();
      if (keys > size) __builtin_trap();
    });
  } catch (const gf::UserError&) {
  }
  try {
    const auto source = gf::OpenSource("LMDB", {file.path(), true});
    gf::Record record;
    for (int64_t i = 0; i < source->size(); ++i) {
      try {
        source->Read(i, &record);
      } catch (const gf::SampleError&) {
      }
      if (source->Label(i) >= source->classes() || source->Where(i).empty()) __builtin_trap();
    }
  } catch (const gf::UserError&) {
  }
  return 0;
}
