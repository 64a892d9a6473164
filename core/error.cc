#include "core/error.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

namespace gf {

Failure Describe(const std::exception& error) {
  if (dynamic_cast<const UserError*>(&error) != nullptr) return {"error", error.what(), 2};
  if (dynamic_cast<const CommError*>(&error) != nullptr) {
    return {"communication error", error.what(), 3};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {"error", "out of memory: lower batch_size, or run fewer ranks on this host", 2};
  }
  return {"internal error", error.what(), 1};
}

void PrintError(const std::string& kind, const std::string& message) {
  PrintRemark(kind + ": " + message);
}

void PrintRemark(const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message.c_str());
}

int RunMain(int (*body)(int, char**), int argc, char** argv) {
  // A file that grows beyond `ulimit -f` is an error of its writer, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return body(argc, argv);
  } catch (const std::exception& error) {
    const Failure failure = Describe(error);
    std::fflush(stdout);
    PrintError(failure.kind, failure.message);
    return failure.exit_code;
  }
}

}  // namespace gf
