#pragma once

#include <string>

namespace gf {

// A folder that appears under its name only when it is complete: it is filled under a
// temporary name beside it.
class OutputFolder {
 public:
  // Throws UserError if `path` cannot be written, or holds something and not `force`.
  OutputFolder(const std::string& path, bool force);
  // Removes what was written, unless Finish was called.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write now.
  const std::string& temporary() const { return temporary_; }
  // Moves the folder to its name. What was there (force) is kept as "<path>.old"; returns
  // that name, or nothing if nothing was there.
  std::string Finish();

 private:
  std::string path_, temporary_;
  bool finished_ = false;
};

}  // namespace gf
