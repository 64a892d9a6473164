#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/file.h"
#include "data/prepare/imagenet_lists.h"

namespace gf {

// Images in an archive, in the archive's order. Names lie in one text: a million strings would
// cost far more.
struct ArchiveImages {
  struct Entry {
    int64_t offset, bytes;
    uint64_t name;
    uint32_t name_bytes;
    int32_t label;
  };
  std::vector<Entry> entries;
  std::string names;

  // Without folder and ending.
  std::string Name(int64_t i) const { return names.substr(entries[i].name, entries[i].name_bytes); }
  void Add(const std::string& path, int64_t offset, int64_t bytes, int64_t label);
};

// The synsets of the training archive, sorted: its tars are called "n01440764.tar".
Synsets SynsetsOfArchive(const InputFile& archive);

// The training images, labeled by the tar that they lie in. Throws UserError for tars that are no
// synsets, damaged ones and images of absurd size.
ArchiveImages ListTraining(const InputFile& archive, const Synsets& synsets);

// The validation images in the order of their names, without labels.
ArchiveImages ListValidation(const InputFile& archive);

}  // namespace gf
