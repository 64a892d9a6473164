#pragma once

#include <cstdio>
#include <string>

namespace gf {

// Whether a stream of this process ends at a terminal. mpirun gives its processes a terminal of
// their own even when its output goes to a file, so there its output decides.
bool IsTerminal(FILE* out);

// A line of progress: on a terminal it is rewritten in place, in a file each call is a line.
class Console {
 public:
  explicit Console(FILE* out);
  // Leaves the last line of progress on the screen.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // A line that may be overwritten by the next one.
  void Progress(const std::string& line);
  // A line that stays.
  void Line(const std::string& line);

 private:
  FILE* out_;
  bool terminal_;
  size_t pending_ = 0;  // columns of the line of progress on the screen
};

}  // namespace gf
