#pragma once

namespace gf {

// Drops all that the calling thread prints to std::cerr during the object's life; the output of
// other threads goes on. For libraries that print errors besides returning them.
class QuietErrors {
 public:
  QuietErrors();
  ~QuietErrors();
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;
};

}  // namespace gf
