#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace gf {

// A mistake in the user's input (config, net, data, files). The message says what is wrong and
// where, what was found and expected, and what to do. Exit code 2.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& message) : std::runtime_error(message) {}
};

// Another rank has died, stopped or fallen out of step. Exit code 3.
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

// Throws UserError(StrCat(args...)).
template <typename... Args>
[[noreturn]] void ThrowUserError(const Args&... args) {
  throw UserError(StrCat(args...));
}

// Runs the body of a program. Turns an exception into one line on standard error and an exit code:
// 2 for UserError, 3 for CommError, 1 for any other.
int RunMain(int (*body)(int argc, char** argv), int argc, char** argv);

}  // namespace gf
