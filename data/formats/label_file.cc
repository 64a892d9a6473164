#include "data/formats/label_file.h"

#include <strings.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/printable.h"
#include "core/readable.h"
#include "data/formats/image_labels.h"
#include "data/formats/key_index.h"
#include "data/formats/text_lines.h"

namespace gf {
namespace {

// The labels of a file, and the images of a source that have some.
struct FileLabels {
  LabelTable table;
  std::vector<int64_t> rows;    // in the table, of each image that has labels
  std::vector<int64_t> images;  // the numbers of these images in the source
  int64_t skipped = 0;          // images without a line
  int64_t classes = 0;
  std::vector<std::string> names;
};

class LabeledSource : public RecordSource {
 public:
  LabeledSource(std::unique_ptr<RecordSource> source, const LabelConfig& config, FileLabels labels)
      : source_(std::move(source)), config_(config), labels_(std::move(labels)) {}

  int64_t size() const override { return static_cast<int64_t>(labels_.images.size()); }
  void Read(int64_t i, Record* record) const override {
    source_->Read(labels_.images[i], record);
    record->label = Label(i);
  }
  void WillRead(int64_t i) const override { source_->WillRead(labels_.images[i]); }
  LabelConfig::Type label_type() const override { return config_.type(); }
  int64_t Label(int64_t i) const override {
    if (config_.type() != LabelConfig::CLASS) return 0;
    std::vector<float> label;
    Labels(i, &label);
    return static_cast<int64_t>(label[0]);
  }
  void Labels(int64_t i, std::vector<float>* labels) const override {
    labels_.table.Get(labels_.rows[i], labels);
  }
  std::string Key(int64_t i) const override { return source_->Key(labels_.images[i]); }
  std::string Where(int64_t i) const override { return source_->Where(labels_.images[i]); }
  int64_t classes() const override { return labels_.classes; }
  std::vector<std::string> ClassNames() const override { return labels_.names; }
  int64_t skipped() const override { return source_->skipped() + labels_.skipped; }
  std::string Describe() const override {
    const bool values = config_.type() == LabelConfig::VALUES;
    return StrCat(source_->Describe(), "; ", Counted(size(), "image"), " in ", config_.file(), ", ",
                  values ? Counted(classes(), "value") : Counted(classes(), "class", "classes"));
  }

 private:
  const std::unique_ptr<RecordSource> source_;
  const LabelConfig config_;
  const FileLabels labels_;
};

// The names that may stand for classes, and that values have.
std::vector<std::string> NamesFor(const RecordSource& source, const SourceOptions& options) {
  std::vector<std::string> names = source.ClassNames();
  int64_t unknown = 0;
  if (names.empty()) names = ReadClassNames(options.labels.file(), &unknown);
  return names.empty() ? options.net_classes : names;
}

class LabelFileReader {
 public:
  LabelFileReader(const RecordSource& source, const SourceOptions& options)
      : source_(source),
        options_(options),
        names_(NamesFor(source, options)),
        index_(source),
        parser_(options.labels, names_),
        file_(options.labels.file()),
        lines_(&file_),
        rows_(source.size(), -1) {}

  FileLabels Read() {
    for (std::string line; lines_.Next(&line);) {
      try {
        TakeLine(line);
      } catch (const UserError& error) {
        ThrowUserError(lines_.where(), ": ", error.what());
      }
    }
    if (unknown_ > 0) {
      PrintWarning(file_.path(), ": ", Counted(unknown_, "line"),
                   " without an image, the first is ", first_unknown_);
    }
    Collect();
    labels_.names = names_;
    labels_.classes = parser_.classes();
    const auto named = static_cast<int64_t>(names_.size());
    if (options_.labels.type() != LabelConfig::VALUES) {
      labels_.classes = std::max(labels_.classes, named);
    } else if (named > 0 && named != labels_.classes) {
      ThrowUserError(file_.path(), ": ", Counted(labels_.classes, "value"), " per image, but ",
                     named, " names of values: give a name for each, one per line of classes.txt");
    }
    return std::move(labels_);
  }

 private:
  // Errors are without the place.
  void TakeLine(const std::string& line) {
    const size_t begin = line.find_first_not_of(kLabelSeparators);
    if (begin == std::string::npos || line[begin] == '#') return;
    std::vector<std::string> words = LabelWords(line);
    std::string key = words[0];
    const bool first = !std::exchange(begun_, true);
    if (first && strcasecmp(key.c_str(), "key") == 0) return;
    words.erase(words.begin());
    int64_t image = index_.Find(key);
    const size_t end = line.find_first_of(",;\t", begin);
    if (image < 0 && end != std::string::npos && line[begin] != '"') {
      // A key with blanks, as programs write it that quote only what holds a separator.
      const size_t last = line.find_last_not_of(kLabelSeparators, end);
      key = line.substr(begin, last + 1 - begin);
      image = index_.Find(key);
      if (image >= 0) words = LabelWords(line.substr(end));
    }
    if (image < 0) return TakeUnknown(key);
    if (rows_[image] >= 0) {
      ThrowUserError("a second line for the image \"", Printable(source_.Key(image)),
                     "\", the first is line ", numbers_[rows_[image]], ": remove one of them");
    }
    labels_.table.Add(parser_.Parse(words));
    rows_[image] = static_cast<int64_t>(numbers_.size());
    numbers_.push_back(lines_.number());
  }

  void TakeUnknown(const std::string& key) {
    const std::string what = StrCat("\"", Excerpt(key), "\"");
    if (!options_.skip_damaged) {
      ThrowUserError(what, " is no image of ", options_.path,
                     ", expected the key of one, such as \"", Printable(source_.Key(0)),
                     "\": correct or remove the line");
    }
    if (unknown_++ == 0) first_unknown_ = StrCat(lines_.where(), ": ", what);
  }

  // Finds the images that have labels.
  void Collect() {
    int64_t missing = 0, first = -1;
    for (int64_t i = 0; i < source_.size(); ++i) {
      if (rows_[i] >= 0) {
        labels_.images.push_back(i);
        labels_.rows.push_back(rows_[i]);
      } else if (missing++ == 0) {
        first = i;
      }
    }
    if (missing == 0) return;
    const std::string what =
        StrCat(lines_.where(), ": the file ends without a line for ", Counted(missing, "image"),
               ", the first is \"", Printable(source_.Key(first)), "\" (", source_.Where(first),
               "), expected a line for each of ", source_.size());
    if (!options_.skip_damaged || labels_.images.empty()) {
      ThrowUserError(what, ": add lines, or leave these images out with on_error: SKIP");
    }
    PrintWarning("left out: ", what);
    labels_.skipped = missing;
  }

  const RecordSource& source_;
  const SourceOptions& options_;
  const std::vector<std::string> names_;
  const KeyIndex index_;
  LabelParser parser_;
  const InputFile file_;
  TextLines lines_;
  std::vector<int64_t> rows_;     // by image; -1 = none yet
  std::vector<int64_t> numbers_;  // of the lines, by row
  bool begun_ = false;
  int64_t unknown_ = 0;
  std::string first_unknown_;
  FileLabels labels_;
};

}  // namespace

std::unique_ptr<RecordSource> AttachLabels(std::unique_ptr<RecordSource> source,
                                           const SourceOptions& options) {
  FileLabels labels = LabelFileReader(*source, options).Read();
  return std::make_unique<LabeledSource>(std::move(source), options.labels, std::move(labels));
}

}  // namespace gf
