// Lists of image files, as Caffe's ImageData reads them: a line "path label" per image.

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/image_labels.h"
#include "data/formats/key_index.h"
#include "data/formats/record_source.h"
#include "data/formats/text_lines.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

struct ListLine {
  std::string path;  // empty: the line says nothing
  bool quoted = false;
  std::vector<std::string> labels;
};

std::string_view WithoutSeparatorsAtEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kLabelSeparators) + 1);  // npos + 1 = 0
}

// A path may hold blanks: it ends before the last word (one_label, as in Caffe) or before the
// numbers at the end of the line. A path in double quotes may hold anything.
ListLine ParseLine(std::string_view text, bool one_label) {
  ListLine line;
  text.remove_prefix(std::min(text.find_first_not_of(kLabelSeparators), text.size()));
  if (text.empty() || text[0] == '#') return line;
  if (text[0] == '"') {
    line.path = TakeQuoted(&text);
    line.quoted = true;
    if (line.path.empty()) ThrowUserError("an empty path, expected an image file: correct it");
    line.labels = LabelWords(text);
    return line;
  }
  text = WithoutSeparatorsAtEnd(text);
  while (!one_label || line.labels.empty()) {
    const size_t cut = text.find_last_of(kLabelSeparators);
    if (cut == std::string_view::npos) break;
    const std::string_view word = text.substr(cut + 1);
    if (!one_label && !IsNumberWord(word)) break;
    line.labels.emplace_back(word);
    text = WithoutSeparatorsAtEnd(text.substr(0, cut));
  }
  std::reverse(line.labels.begin(), line.labels.end());
  line.path = std::string(text);
  return line;
}

// Whether a path that is no image's ends in a number: in truth a label.
bool EndsInLabel(const std::string& path) {
  const size_t cut = path.find_last_of(kLabelSeparators);
  return !IsImageName(path) && cut != std::string::npos && IsNumberWord(path.substr(cut + 1));
}

// A path of a list whose folder is `folder`.
std::string Resolved(const std::string& folder, const std::string& path) {
  return path[0] == '/' ? path : folder + "/" + path;
}

bool NamesAnImage(const std::string& list) {
  const InputFile file(list);
  TextLines lines(&file);
  for (std::string text; lines.Next(&text);) {
    for (const bool one_label : {true, false}) {
      const ListLine line = ParseLine(text, one_label);
      if (!line.path.empty() && IsFile(Resolved(ParentFolder(list), line.path))) return true;
    }
    if (!ParseLine(text, true).path.empty()) return false;
  }
  return false;
}

class ListSource : public RecordSource {
 public:
  static bool Recognizes(const std::string& path) {
    if (!IsFile(path)) return false;
    for (const char* ending : {".txt", ".csv", ".tsv", ".list"}) {
      if (!HasEnding(path, ending)) continue;
      try {
        return NamesAnImage(path);
      } catch (const UserError&) {
        return false;
      }
    }
    return false;
  }

  explicit ListSource(const SourceOptions& options)
      : list_(options.path),
        folder_(options.root_folder.empty() ? ParentFolder(options.path) : options.root_folder),
        has_root_(!options.root_folder.empty()),
        // Labels of a file come later.
        type_(options.labels.file().empty() ? options.labels.type() : LabelConfig::CLASS),
        has_labels_(options.labels.file().empty()) {
    if (!IsFolder(folder_)) {
      ThrowUserError("root_folder: ", folder_, " is not a folder, expected the folder where the ",
                     "paths of ", list_, " start: correct root_folder");
    }
    LabelParser parser(options.labels, {});
    const InputFile file(list_);
    TextLines lines(&file);
    for (std::string line; lines.Next(&line);) {
      try {
        AddLine(line, lines.number(), &parser);
      } catch (const UserError& error) {
        const std::string what = StrCat(lines.where(), ": ", error.what());
        if (!options.skip_damaged) throw UserError(what);
        ++skipped_;
        PrintWarning("left out: ", what);
      }
    }
    text_offsets_.push_back(text_.size());
    classes_ = has_labels_ ? parser.classes() : 0;
    names_ = ReadClassNames(list_, &classes_);
    if (has_labels_) FindRepeatedKeys();
    KeyIndex{*this};  // refuses a key twice
  }

  int64_t size() const override { return static_cast<int64_t>(lines_.size()); }
  LabelConfig::Type label_type() const override { return type_; }
  int64_t Label(int64_t i) const override {
    if (type_ != LabelConfig::CLASS || !has_labels_) return 0;
    std::vector<float> label;
    table_.Get(i, &label);
    return static_cast<int64_t>(label[0]);
  }
  void Labels(int64_t i, std::vector<float>* labels) const override {
    if (has_labels_) return table_.Get(i, labels);
    labels->assign(1, 0.f);
  }
  std::string Key(int64_t i) const override {
    const std::string key = PathWithoutEnding(i);
    return repeated_.count(i) == 0 ? key : StrCat(key, "#", lines_[i]);
  }
  std::string Where(int64_t i) const override {
    return StrCat(list_, ":", lines_[i], ":", Printable(Path(i)));
  }
  int64_t classes() const override { return classes_; }
  std::vector<std::string> ClassNames() const override { return names_; }
  int64_t skipped() const override { return skipped_; }
  std::string Describe() const override {
    const bool values = type_ == LabelConfig::VALUES;
    return StrCat("LIST, ", Counted(size(), "image"), ", ",
                  values ? Counted(classes_, "value") : Counted(classes_, "class", "classes"));
  }

  void Read(int64_t i, Record* record) const override {
    ReadImageFile(Resolved(folder_, Path(i)), record);
    record->label = Label(i);
  }

 private:
  std::string Path(int64_t i) const {
    return text_.substr(text_offsets_[i], text_offsets_[i + 1] - text_offsets_[i]);
  }

  // Errors are without the place.
  void AddLine(const std::string& text, int64_t number, LabelParser* parser) {
    const bool one_label = has_labels_ && type_ == LabelConfig::CLASS;
    ListLine line = ParseLine(text, one_label);
    if (line.path.empty()) return;
    if (one_label && !line.quoted && EndsInLabel(line.path)) {
      ThrowUserError(
          "several labels, expected \"path label\": set labels { type: CLASSES } or "
          "VALUES, or put a path that ends in a number into double quotes");
    }
    if (has_labels_) table_.Add(parser->Parse(line.labels));
    if (StartsWith(line.path, "./")) line.path.erase(0, 2);
    if (has_root_ && line.path[0] == '/') {
      // The first such path that names a file decides for the following ones.
      if (!slash_is_root_ && IsFile(folder_ + line.path)) slash_is_root_ = true;
      if (!slash_is_root_ && IsFile(line.path)) slash_is_root_ = false;
      const size_t name = line.path.find_first_not_of('/');
      if (slash_is_root_.value_or(false) && name != std::string::npos) line.path.erase(0, name);
    }
    text_offsets_.push_back(text_.size());
    text_ += line.path;
    lines_.push_back(number);
  }

  std::string PathWithoutEnding(int64_t i) const {
    const std::string path = Path(i);
    const size_t slash = path.rfind('/') + 1, dot = path.rfind('.');  // npos + 1 = 0
    const bool has_ending = dot != std::string::npos && dot > slash;
    return path.substr(0, has_ending ? dot : path.size());
  }

  // Lists repeat lines to make images more frequent.
  void FindRepeatedKeys() {
    std::vector<std::pair<size_t, int64_t>> hashes;
    for (int64_t i = 0; i < size(); ++i) {
      hashes.emplace_back(std::hash<std::string>()(PathWithoutEnding(i)), i);
    }
    std::sort(hashes.begin(), hashes.end());
    for (size_t k = 1; k < hashes.size(); ++k) {
      if (hashes[k].first == hashes[k - 1].first) repeated_.insert(hashes[k].second);
    }
  }

  const std::string list_, folder_;
  const bool has_root_;
  // Whether a slash at the start of a path stands for root_folder, as in Caffe, and not for the
  // root of the file system.
  std::optional<bool> slash_is_root_;
  const LabelConfig::Type type_;
  const bool has_labels_;
  LabelTable table_;
  std::vector<int64_t> lines_;            // numbers of the images' lines
  std::unordered_set<int64_t> repeated_;  // images whose key has the line's number
  // All paths in one text.
  std::string text_;
  std::vector<uint64_t> text_offsets_;
  int64_t classes_ = 0, skipped_ = 0;
  std::vector<std::string> names_;
};

GF_REGISTER(SourceFormatRegistry, "LIST", SourceFormatOf<ListSource>);

}  // namespace
}  // namespace gf
