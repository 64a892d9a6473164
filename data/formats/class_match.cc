#include "data/formats/class_match.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/readable.h"

namespace gf {
namespace {

constexpr int64_t kUnknown = -1, kAmbiguous = -2;

// A source whose labels are replaced.
class RelabeledSource : public RecordSource {
 public:
  RelabeledSource(std::unique_ptr<RecordSource> source, std::vector<int64_t> labels,
                  std::vector<std::string> names)
      : source_(std::move(source)), labels_(std::move(labels)), names_(std::move(names)) {}

  int64_t size() const override { return source_->size(); }
  void Read(int64_t i, Record* record) const override {
    source_->Read(i, record);
    record->label = Label(i);
  }
  void WillRead(int64_t i) const override { source_->WillRead(i); }
  LabelConfig::Type label_type() const override { return source_->label_type(); }
  int64_t Label(int64_t i) const override {
    return label_type() == LabelConfig::CLASS ? labels_[source_->Label(i)] : 0;
  }
  void Labels(int64_t i, std::vector<float>* labels) const override {
    source_->Labels(i, labels);
    for (float& label : *labels) label = static_cast<float>(labels_[static_cast<int64_t>(label)]);
    std::sort(labels->begin(), labels->end());
  }
  std::string Key(int64_t i) const override { return source_->Key(i); }
  std::string Where(int64_t i) const override { return source_->Where(i); }
  int64_t classes() const override { return static_cast<int64_t>(names_.size()); }
  std::vector<std::string> ClassNames() const override { return names_; }
  int64_t skipped() const override { return source_->skipped(); }
  std::string Describe() const override { return source_->Describe(); }

 private:
  const std::unique_ptr<RecordSource> source_;
  const std::vector<int64_t> labels_;  // by the source's own labels
  const std::vector<std::string> names_;
};

// "ring" for "1_ring": `gfdata convert` puts numbers before the names of folders, for their order.
std::string WithoutNumber(const std::string& name) {
  const size_t end = name.find_first_not_of("0123456789");
  const bool numbered = end != 0 && end != std::string::npos && name[end] == '_';
  return numbered ? name.substr(end + 1) : name;
}

using Numbers = std::unordered_map<std::string, int64_t>;

void Add(const std::string& name, size_t number, Numbers* numbers) {
  const auto added = numbers->emplace(name, static_cast<int64_t>(number));
  if (!added.second) added.first->second = kAmbiguous;
}

int64_t Find(const std::string& name, const Numbers& numbers) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? kUnknown : found->second;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return Excerpt(list);
}

// The number in `names` of each of a source's classes.
std::vector<int64_t> NumbersOf(const std::vector<std::string>& own,
                               const std::vector<std::string>& names) {
  Numbers full, bare;
  for (size_t i = 0; i < names.size(); ++i) {
    Add(names[i], i, &full);
    Add(WithoutNumber(names[i]), i, &bare);
  }
  std::vector<int64_t> labels;
  for (size_t i = 0; i < own.size(); ++i) {
    int64_t number = Find(own[i], full);
    if (number == kUnknown) number = Find(WithoutNumber(own[i]), bare);
    // Two classes of one name are told apart where they have the same number on both sides.
    if (number == kAmbiguous && i < names.size() && names[i] == own[i]) {
      number = static_cast<int64_t>(i);
    }
    labels.push_back(number);
  }
  return labels;
}

// Calls each(image, class) for the classes of all images.
template <typename Each>
void ForLabels(const RecordSource& source, const Each& each) {
  std::vector<float> labels;
  for (int64_t i = 0; i < source.size(); ++i) {
    source.Labels(i, &labels);
    for (const float label : labels) each(i, static_cast<int64_t>(label));
  }
}

// Refuses images of two classes that would become one, as those of "1_ring" and "3_ring".
void CheckDistinct(const RecordSource& source, const std::vector<int64_t>& labels,
                   const std::vector<std::string>& own, const std::vector<std::string>& names) {
  std::unordered_map<int64_t, int64_t> owner;  // own label by number
  ForLabels(source, [&](int64_t i, int64_t label) {
    const int64_t number = labels[label];
    if (number < 0) return;
    const int64_t first = owner.emplace(number, label).first->second;
    if (first == label) return;
    ThrowUserError(source.Where(i), ": \"", Printable(own[std::min(first, label)]), "\" and \"",
                   Printable(own[std::max(first, label)]), "\" would both become \"",
                   Printable(names[number]),
                   "\", a class that the net is trained on: use the same names on both sides");
  });
}

// Refuses images of classes without a number.
void CheckImages(const RecordSource& source, const std::vector<int64_t>& labels,
                 const std::vector<std::string>& own, size_t known) {
  constexpr size_t kListed = 10;
  std::vector<bool> seen(own.size());
  std::string list;
  size_t missing = 0;
  ForLabels(source, [&](int64_t i, int64_t label) {
    if (labels[label] >= 0 || seen[label]) return;
    seen[label] = true;
    if (missing++ >= kListed) return;
    list += StrCat(missing == 1 ? "" : ", ", "\"", Printable(own[label]), "\" (",
                   labels[label] == kAmbiguous ? "the name of two classes; " : "", source.Where(i),
                   ")");
  });
  if (missing == 0) return;
  ThrowUserError(Counted(missing, "class", "classes"), " not among the ", known,
                 " that the net is trained on: ", list, missing > kListed ? ", ..." : "",
                 "; classes are matched by the names of their folders or the lines of classes.txt: "
                 "use the same names on both sides, or leave these images out");
}

}  // namespace

std::unique_ptr<RecordSource> MatchClasses(std::unique_ptr<RecordSource> source,
                                           const std::vector<std::string>& names) {
  const std::vector<std::string> own = source->ClassNames();
  if (own.empty() || names.empty() || own == names) return source;
  if (source->label_type() == LabelConfig::VALUES) {
    ThrowUserError(source->Describe(), ": the values are called ", Listed(own),
                   ", but the net is trained on ", Listed(names),
                   ": give the same values in the same order, or remove classes.txt");
  }
  std::vector<int64_t> labels = NumbersOf(own, names);
  CheckImages(*source, labels, own, names.size());
  CheckDistinct(*source, labels, own, names);
  return std::make_unique<RelabeledSource>(std::move(source), std::move(labels), names);
}

}  // namespace gf
