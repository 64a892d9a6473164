#include "core/error.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "core/file_descriptor.h"
#include "core/interruption.h"
#include "core/printable.h"

namespace gf {
namespace {

// A file that is opened later must not become the output of a program whose caller has closed it.
void OpenStandardStreams() {
  int fd = open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = dup(fd);
  if (fd >= 0) close(fd);
}

// Throws if standard output could not be written, e.g. by `program >file` on a full disk.
void CheckOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (!HasReader(STDOUT_FILENO)) return;  // it has seen enough, or Ctrl-C has ended it
  ThrowUserError("cannot write to standard output: ",
                 errno != 0 ? std::strerror(errno) : "an earlier write failed",
                 ": free some space, or send it elsewhere");
}

// Messages repeat names out of files, which may hold anything. Of an endless one, the beginning
// says where, and the end what to do.
std::string FitForTerminal(const std::string& message) {
  constexpr size_t kMost = 8000, kEnd = 500;
  if (message.size() <= kMost) return PrintableLines(message);
  return StrCat(PrintableLines(message.substr(0, kMost - kEnd)), " ... (", message.size() - kMost,
                " characters) ... ", PrintableLines(message.substr(message.size() - kEnd)));
}

}  // namespace

Failure Describe(const std::exception& error) {
  if (dynamic_cast<const UserError*>(&error) != nullptr) return {"error", error.what(), 2};
  if (dynamic_cast<const CommError*>(&error) != nullptr) {
    return {"communication error", error.what(), 3};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {"error", "out of memory: lower batch_size, or run fewer ranks on this host", 2};
  }
  const auto* const system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return {"error",
            "cannot start a thread: too little memory, or too many threads (ulimit -v, ulimit -u); "
            "set threads and train_data.workers to fewer, or run fewer ranks on this host",
            2};
  }
  return {"internal error", error.what(), 1};
}

void PrintError(const std::string& kind, const std::string& message) {
  PrintRemark(kind + ": " + message);
}

void PrintRemark(const std::string& message) {
  // In one write, so that mpirun does not mix the lines of ranks. fprintf writes long lines in
  // pieces since glibc 2.37.
  const std::string line =
      StrCat(program_invocation_short_name, ": ", FitForTerminal(message), "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void PrintWarningText(const std::string& message) {
  if (FLAGS_minloglevel <= google::GLOG_WARNING) PrintRemark("warning: " + message);
}

int RunMain(int (*body)(int, char**), int argc, char** argv) {
  // A file that grows beyond `ulimit -f` is an error of its writer, not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  OpenStandardStreams();
  try {
    const int code = body(argc, argv);
    if (code == 0) CheckOutput();
    return code;
  } catch (const std::exception& error) {
    const Failure failure = Describe(error);
    std::fflush(stdout);
    PrintError(failure.kind, failure.message);
    return failure.exit_code;
  } catch (const Interrupted& interrupted) {
    std::fflush(stdout);
    std::signal(interrupted.signal, SIG_DFL);
    std::raise(interrupted.signal);
    return 128 + interrupted.signal;
  }
}

}  // namespace gf
