#include "data/prepare/imagenet_lists.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

constexpr int64_t kMaxListBytes = 256 << 20;

struct ListLine {
  int64_t number;  // in the file, from 1
  std::string word, rest;
};

// The lines of a file that hold anything, each as its first word and what follows.
std::vector<ListLine> ReadList(const std::string& path) {
  std::istringstream text(ReadSmallFile(path, kMaxListBytes));
  std::vector<ListLine> lines;
  int64_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line);
    ListLine parsed{number, "", ""};
    words >> parsed.word;
    std::getline(words >> std::ws, parsed.rest);
    while (!parsed.rest.empty() && std::isspace(static_cast<unsigned char>(parsed.rest.back()))) {
      parsed.rest.pop_back();
    }
    if (!parsed.word.empty()) lines.push_back(parsed);
  }
  if (lines.empty()) ThrowUserError(path, ": the list is empty");
  return lines;
}

template <typename... Args>
[[noreturn]] void Fail(const std::string& path, const ListLine& line, const Args&... what) {
  ThrowUserError(path, ":", line.number, ": ", what...);
}

// -1 for what is no number.
int64_t ParseNumber(const std::string& text) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? value : -1;
}

std::string WithoutEnding(const std::string& name) {
  const std::string base = name.substr(name.rfind('/') + 1);
  return base.substr(0, base.find('.'));
}

int64_t ClassOf(const std::string& path, const ListLine& line, const std::string& synset,
                const Synsets& synsets) {
  const int64_t label = synsets.Find(synset);
  if (label < 0) Fail(path, line, "\"", Printable(synset), "\" is none of the synsets");
  return label;
}

// The class of each of the development kit's ids.
std::map<int64_t, int64_t> ReadIdMap(const std::string& path, const Synsets& synsets) {
  std::map<int64_t, int64_t> classes;
  for (const ListLine& line : ReadList(path)) {
    std::istringstream rest(line.rest);
    std::string id;
    rest >> id;
    if (ParseNumber(id) < 1) Fail(path, line, "expected \"<synset> <id>\", ids from 1 on");
    if (!classes.emplace(ParseNumber(id), ClassOf(path, line, line.word, synsets)).second) {
      Fail(path, line, "the id ", id, " comes twice");
    }
  }
  return classes;
}

}  // namespace

bool IsSynset(const std::string& text) {
  return text.size() == 9 && text[0] == 'n' &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Synsets Synsets::FromFile(const std::string& path) {
  Synsets synsets;
  for (const ListLine& line : ReadList(path)) {
    if (!IsSynset(line.word)) {
      Fail(path, line, "\"", Printable(line.word), "\", expected a synset such as n01440764");
    }
    if (!synsets.numbers_.emplace(line.word, synsets.size()).second) {
      Fail(path, line, line.word, " comes twice");
    }
    synsets.names_.push_back(line.word);
    std::string rest = line.rest;
    if (rest.rfind(": ", 0) == 0) rest = rest.substr(2);
    synsets.descriptions_.push_back(rest.empty() ? line.word : line.word + " " + rest);
  }
  return synsets;
}

Synsets Synsets::FromNames(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  Synsets synsets;
  for (size_t i = 0; i < names.size(); ++i) {
    synsets.numbers_.emplace(names[i], static_cast<int64_t>(i));
  }
  synsets.names_ = synsets.descriptions_ = std::move(names);
  return synsets;
}

int64_t Synsets::Find(const std::string& synset) const {
  const auto found = numbers_.find(synset);
  return found == numbers_.end() ? -1 : found->second;
}

std::vector<int64_t> ReadValidationLabels(const std::string& path, const std::string& id_map,
                                          const Synsets& synsets,
                                          const std::vector<std::string>& images) {
  const std::vector<ListLine> lines = ReadList(path);
  if (lines.size() != images.size()) {
    ThrowUserError(path, ": ", lines.size(), " lines, expected one for each of the ", images.size(),
                   " validation images");
  }
  std::vector<int64_t> labels(images.size(), -1);
  const bool by_synset = IsSynset(lines[0].word);
  const bool by_name = !by_synset && !lines[0].rest.empty();
  std::map<int64_t, int64_t> ids;
  if (!by_synset && !by_name) {
    if (id_map.empty()) {
      ThrowUserError(path,
                     ": a number per line is the development kit's id, which is not the "
                     "class; give its list of synsets and ids (map_clsloc.txt) with --id_map");
    }
    ids = ReadIdMap(id_map, synsets);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    const ListLine& line = lines[i];
    size_t image = i;
    int64_t label = -1;
    if (by_synset) {
      label = ClassOf(path, line, line.word, synsets);
    } else if (by_name) {
      const std::string name = WithoutEnding(line.word);
      const auto found = std::lower_bound(images.begin(), images.end(), name);
      if (found == images.end() || *found != name) {
        Fail(path, line, "no validation image is called \"", Printable(name), "\"");
      }
      image = found - images.begin();
      label = ParseNumber(line.rest);
      if (label < 0 || label >= synsets.size()) {
        Fail(path, line, "class \"", Printable(line.rest), "\", expected 0 to ",
             synsets.size() - 1);
      }
    } else {
      const auto found = ids.find(ParseNumber(line.word));
      if (found == ids.end()) {
        Fail(path, line, "the id \"", Printable(line.word), "\" is not in ", id_map);
      }
      label = found->second;
    }
    if (labels[image] >= 0) Fail(path, line, "a second class for ", images[image]);
    labels[image] = label;
  }
  return labels;
}

}  // namespace gf
