#include "data/formats/tar_walk.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/error.h"
#include "core/folder.h"
#include "data/formats/record_source.h"
#include "data/formats/tar_index.h"
#include "data/image/image.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

constexpr size_t kMaxLabelBytes = 32;

// Puts files of the same key together.
class Walk {
 public:
  Walk(const InputFile& file, const std::function<void(const TarPair&)>& pair,
       const std::function<void(const std::string&)>& left_out, const TarLabels& labels)
      : file_(file), pair_(pair), left_out_(left_out), labels_(labels), reader_(&file) {}

  int64_t Run() {
    try {
      for (TarMember member; reader_.Next(&member);) Take(member);
    } catch (const UserError& error) {
      if (!left_out_) throw;
      left_out_(StrCat(error.what(), "; what follows in this shard is not read"));
    }
    ReportHalves();
    return ignored_;
  }

 private:
  // A sample of which a half may not have come yet.
  struct Half {
    TarPair pair;
    bool has_image = false, has_label = false;
  };

  void Damaged(int64_t offset, const std::string& what) {
    const std::string message = StrCat(file_.path(), ":", offset, ": ", what);
    if (!left_out_) throw UserError(message);
    left_out_(message);
  }

  void Take(const TarMember& member) {
    std::string_view text;
    TarRole role = TarRole::kOther;
    if (!SplitTarName(member.name, &text, &role)) return;
    if (role == TarRole::kOther) {
      ++ignored_;
      return;
    }
    const bool label = role == TarRole::kLabel;
    if (label && !labels_.in_shard) return;
    const std::string key(text);
    const auto found = open_.find(key);
    const bool again = found == open_.end() ? complete_.count(key) != 0
                       : label              ? found->second.has_label
                                            : found->second.has_image;
    if (again) {
      Damaged(member.header_offset, StrCat("a second ", label ? "label" : "image",
                                           " for the key \"", Printable(key), "\""));
      return;
    }
    Half& half = open_[key];
    if (label) {
      ReadLabels(member, &half.pair);
      half.pair.label = member;
      half.has_label = true;
    } else {
      half.pair.image = member;
      half.has_image = true;
    }
    if (half.has_image && (half.has_label || !labels_.in_shard)) {
      half.pair.key = key;
      const TarPair pair = half.pair;
      open_.erase(key);
      complete_.insert(key);
      Complete(pair);
    }
  }

  void Complete(const TarPair& pair) {
    if (pair.value < 0) return;
    if (pair.image.size > kMaxEncodedBytes) {
      Damaged(pair.image.header_offset,
              StrCat("\"", Printable(pair.image.name), "\" has ", pair.image.size,
                     " bytes, expected at most ", kMaxEncodedBytes));
      return;
    }
    pair_(pair);
  }

  // The value is -1 for labels that are none, when damage is passed over.
  void ReadLabels(const TarMember& member, TarPair* pair) {
    if (labels_.parser == nullptr) {
      pair->value = ReadLabel(member);
      return;
    }
    try {
      if (member.size > kMaxLabelsBytes) {
        ThrowUserError(member.size, " bytes, expected labels of at most ", kMaxLabelsBytes);
      }
      std::string text(member.size, '\0');
      text.resize(reader_.Peek(member.data_offset, &text[0], text.size()));
      pair->labels = labels_.parser->Parse(LabelWords(text));
    } catch (const UserError& error) {
      Damaged(member.header_offset, StrCat("\"", Printable(member.name), "\": ", error.what()));
      pair->value = -1;
    }
  }

  // -1 for a label that is none.
  int64_t ReadLabel(const TarMember& member) {
    char text[kMaxLabelBytes + 1] = {};
    const size_t bytes = std::min<size_t>(member.size, kMaxLabelBytes);
    const size_t got = reader_.Peek(member.data_offset, text, bytes);
    const auto label = ParseLabel({text, got});
    if (label && member.size <= static_cast<int64_t>(kMaxLabelBytes)) return *label;
    Damaged(member.header_offset,
            StrCat("\"", Printable(member.name), "\" holds \"", Printable(text),
                   "\", expected a class index 0 to ", kMaxClasses - 1,
                   HoldsSeveralLabels({text, got})
                       ? ": several labels: set labels { type: CLASSES }, or VALUES"
                       : ""));
    return -1;
  }

  void ReportHalves() {
    std::vector<const Half*> halves;
    for (const auto& entry : open_) halves.push_back(&entry.second);
    const auto member = [](const Half* half) -> const TarMember& {
      return half->has_image ? half->pair.image : half->pair.label;
    };
    std::sort(halves.begin(), halves.end(), [&](const Half* a, const Half* b) {
      return member(a).header_offset < member(b).header_offset;
    });
    for (const Half* half : halves) {
      Damaged(member(half).header_offset,
              StrCat("\"", Printable(member(half).name), "\" has no ",
                     half->has_image ? std::string(".cls with its label")
                                     : StrCat("image (", DescribeImageEndings(), ")"),
                     " under the same key in this shard"));
    }
  }

  const InputFile& file_;
  const std::function<void(const TarPair&)>& pair_;
  const std::function<void(const std::string&)>& left_out_;
  const TarLabels labels_;
  TarReader reader_;
  std::unordered_map<std::string, Half> open_;
  std::unordered_set<std::string> complete_;  // keys of samples that have both halves
  int64_t ignored_ = 0;
};

}  // namespace

int64_t WalkTarSamples(const InputFile& file, const std::function<void(const TarPair&)>& pair,
                       const std::function<void(const std::string&)>& left_out,
                       const TarLabels& labels) {
  return Walk(file, pair, left_out, labels).Run();
}

int64_t WriteTarIndex(const std::string& shard, const LabelConfig& labels) {
  const InputFile file(shard);
  const std::string path = TarIndexPath(shard);
  if (path == shard) ThrowUserError(shard, ": is an index file, expected a shard");
  LabelParser parser(labels, {});
  TarLabels source;
  if (labels.type() != LabelConfig::CLASS) source.parser = &parser;
  std::vector<TarPair> pairs;
  WalkTarSamples(
      file, [&](const TarPair& pair) { pairs.push_back(pair); }, nullptr, source);
  std::sort(pairs.begin(), pairs.end(), [](const TarPair& a, const TarPair& b) {
    return a.image.data_offset < b.image.data_offset;
  });
  if (pairs.empty()) return 0;
  TarIndexWriter index;
  for (const TarPair& pair : pairs) {
    index.AddFile(pair.image.name, pair.image.data_offset, pair.image.size);
    index.AddFile(pair.label.name, pair.label.data_offset, pair.label.size);
    if (source.parser == nullptr) {
      index.EndSample(pair.value);
    } else {
      index.EndSample();
    }
  }
  index.Write(path, file.size());
  std::string why;
  if (!ReadTarIndex(file, &why, source)) {  // names that the format cannot hold
    RemoveAll(path);
    ThrowUserError(shard, ": cannot have an index: ", why);
  }
  return static_cast<int64_t>(pairs.size());
}

}  // namespace gf
