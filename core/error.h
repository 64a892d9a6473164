#pragma once

#include <stdexcept>
#include <string>

#include "core/str_cat.h"

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

// Throws UserError(StrCat(args...)).
template <typename... Args>
[[noreturn]] void ThrowUserError(const Args&... args) {
  throw UserError(StrCat(args...));
}

// What a program tells the user about an exception that ends it.
struct Failure {
  std::string kind;  // "error", "communication error", "internal error"
  std::string message;
  int exit_code = 1;
};

// UserError and a lack of memory: exit code 2. CommError: 3. Anything else is a bug of ours: 1.
Failure Describe(const std::exception& error);

// Prints "program: kind: message" to standard error. Touches no other stream, so that a process
// whose other threads hang can call it.
void PrintError(const std::string& kind, const std::string& message);
// Prints "program: message": a remark that ends nothing.
void PrintRemark(const std::string& message);

// Prints "program: warning: message", unless glog's minloglevel is above WARNING.
void PrintWarningText(const std::string& message);
template <typename... Args>
void PrintWarning(const Args&... args) {
  PrintWarningText(StrCat(args...));
}

// Runs a program's body. An exception that leaves the body becomes one line on standard error and
// an exit code: see Describe. So does standard output that could not be written. Interrupted
// (core/interruption.h) ends the process by its signal and prints nothing.
int RunMain(int (*body)(int argc, char** argv), int argc, char** argv);

}  // namespace gf
