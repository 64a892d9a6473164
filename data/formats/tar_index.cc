#include "data/formats/tar_index.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_set>

#include "core/error.h"
#include "core/folder.h"
#include "core/output_file.h"
#include "data/formats/record_source.h"
#include "data/formats/tar_reader.h"
#include "data/image/image.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

constexpr int64_t kMaxIndexBytes = int64_t{1} << 32;
constexpr size_t kMaxLabelBytes = 32;
constexpr int64_t kHeader = 512;

bool Equals(std::string_view text, const char* ending) {
  return text.size() == std::strlen(ending) && strncasecmp(text.data(), ending, text.size()) == 0;
}

// Takes the first word of `line`; empty at its end.
std::string_view Word(std::string_view* line) {
  const size_t begin = std::min(line->find_first_not_of(' '), line->size());
  const size_t end = std::min(line->find(' ', begin), line->size());
  const std::string_view word = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return word;
}

std::string_view Line(std::string_view* text) {
  const size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

// Whether the word is a number 0, 1, ...
bool Number(std::string_view word, int64_t* value) {
  const auto result = std::from_chars(word.data(), word.data() + word.size(), *value);
  return result.ec == std::errc() && result.ptr == word.data() + word.size() && *value >= 0;
}

// A sample's line. Throws UserError saying what is wrong.
class SampleLine {
 public:
  // needs_label: a line without a .cls file is a mistake.
  SampleLine(std::string_view line, const InputFile& shard, bool needs_label) {
    while (!line.empty()) {
      const std::string_view ending = Word(&line);
      if (ending.empty()) break;
      const std::string_view offset = Word(&line), bytes = Word(&line), name = Word(&line);
      AddFile(offset, bytes, name, shard);
    }
    if (!image_ || (needs_label && !label_)) {
      ThrowUserError("a sample without an image or without a label");
    }
  }

  const TarSample& sample() const { return sample_; }
  std::string_view image_name() const { return image_name_; }
  int64_t label_offset() const { return label_offset_; }
  int64_t label_bytes() const { return label_bytes_; }

 private:
  void AddFile(std::string_view offset_word, std::string_view bytes_word, std::string_view name,
               const InputFile& shard) {
    int64_t offset = 0, bytes = 0;
    if (name.empty() || !Number(offset_word, &offset) || !Number(bytes_word, &bytes)) {
      ThrowUserError("expected \"<ending> <offset> <size> <name>\" for each file of a sample");
    }
    if (offset < kHeader || offset > shard.size() || bytes > shard.size() - offset) {
      ThrowUserError("a file at ", offset, " with ", bytes, " bytes in a shard of ", shard.size());
    }
    std::string_view key;
    TarRole role = TarRole::kOther;
    if (!SplitTarName(name, &key, &role) || role == TarRole::kOther) return;
    bool& seen = role == TarRole::kImage ? image_ : label_;
    if (seen || ((image_ || label_) && key != sample_.key)) {
      ThrowUserError("a sample with two images or labels");
    }
    seen = true;
    sample_.key = key;
    if (role == TarRole::kLabel) {
      label_offset_ = offset;
      label_bytes_ = bytes;
    } else {
      sample_.offset = offset;
      sample_.bytes = bytes;
      image_name_ = name;
    }
  }

  TarSample sample_;
  std::string_view image_name_;
  bool image_ = false, label_ = false;
  int64_t label_offset_ = 0, label_bytes_ = 0;
};

// The line "labels ..." gives all labels; without it they are read from the shard.
bool ParseLabels(std::string_view line, const InputFile& shard, TarIndex* index) {
  if (Word(&line) != "labels") return false;
  int64_t bytes = 0;
  if (!Number(Word(&line), &bytes) || bytes != shard.size()) {
    ThrowUserError("it was made for a shard of ", bytes, " bytes and this one has ", shard.size());
  }
  for (TarSample& sample : index->samples) {
    if (!Number(Word(&line), &sample.label) || sample.label >= kMaxClasses) {
      ThrowUserError("the labels are damaged");
    }
  }
  return true;
}

void ReadLabel(const SampleLine& line, const InputFile& shard, TarSample* sample) {
  char text[kMaxLabelBytes];
  const size_t bytes = std::min<int64_t>(line.label_bytes(), kMaxLabelBytes);
  const size_t got = shard.ReadAt(line.label_offset(), text, bytes);
  const auto label = ParseLabel({text, got});
  if (!label || line.label_bytes() > static_cast<int64_t>(kMaxLabelBytes)) {
    ThrowUserError("the label of \"", Printable(std::string(sample->key)), "\" is none");
  }
  sample->label = *label;
}

// The same for a .cls file with any number of labels.
void ReadLabels(const SampleLine& line, const InputFile& shard, LabelParser* parser,
                TarSample* sample) {
  if (line.label_bytes() > kMaxLabelsBytes) ThrowUserError("a .cls file of absurd size");
  std::string text(line.label_bytes(), '\0');
  text.resize(shard.ReadAt(line.label_offset(), &text[0], text.size()));
  sample->labels = parser->Parse(LabelWords(text));
}

// Whether the headers from `begin` on are those of the file of this name with its data at `offset`.
bool IsHeaderOf(const InputFile& shard, int64_t begin, std::string_view name, int64_t offset) {
  char magic[5];
  if (shard.ReadAt(begin + 257, magic, 5) != 5 || std::memcmp(magic, "ustar", 5) != 0) return false;
  try {
    TarReader reader(&shard, begin, shard.size());
    TarMember member;
    return reader.Next(&member) && member.data_offset == offset && member.name == name;
  } catch (const UserError&) {
    return false;
  }
}

// Whether the shard has a file of this name there.
void CheckHeader(const SampleLine& line, const InputFile& shard) {
  // Extension headers (pax, GNU's long names) and what is in them come before a file's own header.
  constexpr int64_t kMaxHeaders = 64 * kHeader;
  const int64_t offset = line.sample().offset;
  for (int64_t back = kHeader; back <= std::min(offset, kMaxHeaders); back += kHeader) {
    if (IsHeaderOf(shard, offset - back, line.image_name(), offset)) return;
  }
  ThrowUserError("the shard has no \"", Printable(std::string(line.image_name())), "\" at ",
                 offset);
}

// Refuses two samples of one key, as a walk over the shard does.
void CheckKeys(const TarIndex& index) {
  std::unordered_set<std::string_view> keys;
  keys.reserve(index.samples.size());
  for (const TarSample& sample : index.samples) {
    if (!keys.insert(sample.key).second) {
      ThrowUserError("two samples with the key \"", Printable(std::string(sample.key)), "\"");
    }
  }
}

TarIndex Parse(const InputFile& shard, const std::string& path, const TarLabels& labels) {
  TarIndex index;
  index.text = ReadSmallFile(path, kMaxIndexBytes);
  std::string_view text = index.text;
  std::string_view first = Line(&text);
  int64_t count = 0;
  if (Word(&first) != "v1.2" || !Number(Word(&first), &count)) {
    ThrowUserError("expected a first line \"v1.2 <samples>\"");
  }
  // Each line has more than ten bytes.
  if (count > static_cast<int64_t>(index.text.size() / 10)) {
    ThrowUserError("fewer than the ", count, " samples that it announces");
  }
  index.samples.reserve(count);
  const std::string_view lines = text;
  for (int64_t i = 0; i < count; ++i) {
    const SampleLine line(Line(&text), shard, labels.in_shard);
    if (line.sample().bytes > kMaxEncodedBytes) ThrowUserError("an image of absurd size");
    if (i == 0 || i + 1 == count) CheckHeader(line, shard);
    index.samples.push_back(line.sample());
    if (labels.parser != nullptr) ReadLabels(line, shard, labels.parser, &index.samples.back());
  }
  if (labels.parser == nullptr && labels.in_shard && !ParseLabels(Line(&text), shard, &index)) {
    text = lines;
    for (TarSample& sample : index.samples) {
      ReadLabel(SampleLine(Line(&text), shard, true), shard, &sample);
    }
  }
  CheckKeys(index);
  std::sort(index.samples.begin(), index.samples.end(),
            [](const TarSample& a, const TarSample& b) { return a.offset < b.offset; });
  return index;
}

}  // namespace

std::string TarIndexPath(const std::string& shard) {
  const size_t slash = shard.rfind('/');
  const size_t dot = shard.rfind('.');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  return shard.substr(0, has_ending ? dot : shard.size()) + ".idx";
}

std::optional<TarIndex> ReadTarIndex(const InputFile& shard, std::string* why,
                                     const TarLabels& labels) {
  why->clear();
  const std::string path = TarIndexPath(shard.path());
  if (path == shard.path() || !IsFile(path)) return std::nullopt;
  try {
    return Parse(shard, path, labels);
  } catch (const UserError& error) {
    *why = StrCat(path, ": ", error.what());
    return std::nullopt;
  }
}

void TarIndexWriter::AddFile(const std::string& name, int64_t offset, int64_t bytes) {
  if (in_sample_) lines_ += ' ';
  const size_t dot = name.find('.', name.rfind('/') + 1);
  lines_ += StrCat(name.substr(dot + 1), " ", offset, " ", bytes, " ", name);
  in_sample_ = true;
}

void TarIndexWriter::EndSample(int64_t label) {
  lines_ += '\n';
  labels_ += StrCat(" ", label);
  in_sample_ = false;
  ++samples_;
}

void TarIndexWriter::EndSample() {
  EndSample(0);
  has_labels_ = false;
}

void TarIndexWriter::Write(const std::string& path, int64_t shard_bytes) {
  ReplaceFile(path, [&](OutputFile* file) {
    file->Write(StrCat("v1.2 ", samples_, "\n"));
    file->Write(lines_);
    if (has_labels_) file->Write(StrCat("labels ", shard_bytes, labels_, "\n"));
  });
}

std::optional<int64_t> ParseLabel(std::string_view text) {
  const char* const kBlanks = " \t\r\n\v\f";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const size_t end = text.find_last_not_of(kBlanks) + 1;
  if (begin >= end) return std::nullopt;
  text = text.substr(begin, end - begin);
  if (text[0] == '+') text.remove_prefix(1);
  int64_t value = 0;
  if (!Number(text, &value) || value >= kMaxClasses) return std::nullopt;
  return value;
}

bool SplitTarName(std::string_view name, std::string_view* key, TarRole* role) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return false;
  *key = name.substr(0, dot);
  const std::string_view ending = name.substr(dot + 1);
  *role = IsImageEnding(ending)   ? TarRole::kImage
          : Equals(ending, "cls") ? TarRole::kLabel
                                  : TarRole::kOther;
  return true;
}

}  // namespace gf
