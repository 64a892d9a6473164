#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

namespace gf {

// The image files that the words of a command line name, one after the other: a file is itself, a
// folder stands for the images in it and below it (IsImageName, and .gif) in byte order (without
// hidden ones), and "-" for the lines of `input`.
class ImageList {
 public:
  // `input` outlives the object.
  ImageList(std::vector<std::string> words, std::istream* input);

  // The next file; false = there is none. For a folder that holds no images or cannot be read, and
  // for "-" if the input has no names, the word and, in `error`, why; otherwise `error` is empty.
  // Lines of `input` are read only when they are asked for.
  bool Next(std::string* file, std::string* error);

 private:
  bool NextLine(std::string* file, std::string* error);
  void OpenFolder(const std::string& folder);

  const std::vector<std::string> words_;
  std::istream* const input_;
  size_t next_word_ = 0;
  bool reads_input_ = false, input_has_names_ = false;
  std::string folder_;
  std::vector<std::string> files_;  // in folder_
  size_t next_file_ = 0;
};

}  // namespace gf
