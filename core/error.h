#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gf {

// A mistake in what the user gave us (config, net, data, files). The message says what,
// where, got and expected, and what to do. Exit code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
};

// Another rank is gone, stopped or out of step. Exit code 3.
class CommError : public std::runtime_error {
 public:
  explicit CommError(const std::string& message) : std::runtime_error(message) {}
};

// Concatenates its arguments as an ostream would print them.
template <typename... Args>
std::string StrCat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

// throw UserError(StrCat(args...))
template <typename... Args>
[[noreturn]] void ThrowUserError(const Args&... args) {
  throw UserError(StrCat(args...));
}

// Runs a program's body and turns its exceptions into one line on standard error and the
// exit code: UserError 2, CommError 3, anything else 1.
int RunMain(int (*body)(int argc, char** argv), int argc, char** argv);

}  // namespace gf
