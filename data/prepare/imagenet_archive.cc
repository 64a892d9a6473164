#include "data/prepare/imagenet_archive.h"

#include <algorithm>

#include "core/error.h"
#include "data/formats/tar_reader.h"
#include "data/image/image.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The synset of a tar in the training archive.
std::string SynsetOf(const InputFile& archive, const TarMember& member) {
  const std::string name = BaseName(member.name);
  const std::string synset = name.substr(0, name.find('.'));
  if (!HasEnding(name, ".tar") || !IsSynset(synset)) {
    ThrowUserError(archive.path(), ":", member.header_offset, ": \"", Printable(member.name),
                   "\", expected a tar for each synset (n01440764.tar); is this "
                   "ILSVRC2012_img_train.tar?");
  }
  return synset;
}

void AddImage(const InputFile& archive, const TarMember& member, int64_t label,
              ArchiveImages* images) {
  if (member.size > kMaxEncodedBytes) {
    ThrowUserError(archive.path(), ":", member.header_offset, ": \"", Printable(member.name),
                   "\" has ", member.size, " bytes, expected at most ", kMaxEncodedBytes);
  }
  images->Add(member.name, member.data_offset, member.size, label);
}

}  // namespace

void ArchiveImages::Add(const std::string& path, int64_t offset, int64_t bytes, int64_t label) {
  std::string name = BaseName(path);
  name = name.substr(0, name.rfind('.'));
  entries.push_back({offset, bytes, names.size(), static_cast<uint32_t>(name.size()),
                     static_cast<int32_t>(label)});
  names += name;
}

Synsets SynsetsOfArchive(const InputFile& archive) {
  std::vector<std::string> names;
  TarReader reader(&archive);
  for (TarMember member; reader.Next(&member);) names.push_back(SynsetOf(archive, member));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return Synsets::FromNames(std::move(names));
}

ArchiveImages ListTraining(const InputFile& archive, const Synsets& synsets) {
  ArchiveImages images;
  TarReader outer(&archive);
  for (TarMember tar; outer.Next(&tar);) {
    const int64_t label = synsets.Find(SynsetOf(archive, tar));
    if (label < 0) {
      ThrowUserError(archive.path(), ":", tar.header_offset, ": \"", Printable(tar.name),
                     "\" is none of the ", synsets.size(), " synsets of the list");
    }
    TarReader inner(&archive, tar.data_offset, tar.data_offset + tar.size);
    for (TarMember member; inner.Next(&member);) {
      if (IsImageName(member.name)) AddImage(archive, member, label, &images);
    }
  }
  if (images.entries.empty()) ThrowUserError(archive.path(), ": 0 images in the tars in it");
  return images;
}

ArchiveImages ListValidation(const InputFile& archive) {
  ArchiveImages images;
  TarReader reader(&archive);
  for (TarMember member; reader.Next(&member);) {
    if (IsImageName(member.name)) AddImage(archive, member, -1, &images);
  }
  if (images.entries.empty()) {
    ThrowUserError(archive.path(), ": 0 images; is this ILSVRC2012_img_val.tar?");
  }
  const auto name = [&](const ArchiveImages::Entry& entry) {
    return std::string_view(images.names).substr(entry.name, entry.name_bytes);
  };
  std::sort(images.entries.begin(), images.entries.end(),
            [&](const auto& a, const auto& b) { return name(a) < name(b); });
  return images;
}

}  // namespace gf
