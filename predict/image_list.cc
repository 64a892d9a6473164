#include "predict/image_list.h"

#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "data/image/image_names.h"

namespace gf {

ImageList::ImageList(std::vector<std::string> words, std::istream* input)
    : words_(std::move(words)), input_(input) {}

bool ImageList::Next(std::string* file, std::string* error) {
  error->clear();
  for (;;) {
    if (next_file_ < files_.size()) {
      *file = folder_ + files_[next_file_++];
      return true;
    }
    if (reads_input_) {
      if (NextLine(file, error)) return true;
      reads_input_ = false;
      if (!input_has_names_) {
        *file = "-";
        *error = "standard input names no files, expected one name per line";
        return true;
      }
    }
    if (next_word_ == words_.size()) return false;
    const std::string& word = words_[next_word_++];
    if (word == "-") {
      reads_input_ = true;
    } else if (IsFolder(word)) {
      try {
        OpenFolder(word);
      } catch (const UserError& thrown) {
        *file = word;
        *error = thrown.what();
        return true;
      }
    } else {
      *file = word;
      return true;
    }
  }
}

bool ImageList::NextLine(std::string* file, std::string* error) {
  for (std::string line; std::getline(*input_, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    input_has_names_ = true;
    const bool has_nul = line.find('\0') != std::string::npos;
    *file = std::move(line);
    if (has_nul) {
      *error = "the name has a NUL byte, expected one name per line: leave out find's -print0";
    }
    return true;
  }
  return false;
}

void ImageList::OpenFolder(const std::string& folder) {
  folder_ = folder.back() == '/' ? folder : folder + "/";
  files_.clear();
  next_file_ = 0;
  for (std::string& file : ListFilesBelow(folder)) {
    const bool hidden = file[0] == '.' || file.find("/.") != std::string::npos;
    if (!hidden && (IsImageName(file) || HasEnding(file, ".gif"))) {
      files_.push_back(std::move(file));
    }
  }
  if (files_.empty()) {
    ThrowUserError(folder, ": 0 images (", DescribeImageEndings(),
                   ", or .gif) in the folder and below it");
  }
}

}  // namespace gf
