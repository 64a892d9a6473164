#include "core/survivor.h"

#include <dirent.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

// Numbers of this process's open files.
std::vector<int> OpenFiles() {
  std::vector<int> files;
  if (DIR* const folder = opendir("/proc/self/fd")) {
    while (const dirent* const entry = readdir(folder)) {
      const int file = std::atoi(entry->d_name);
      if (entry->d_name[0] != '.' && file != dirfd(folder)) files.push_back(file);
    }
    closedir(folder);
    return files;
  }
  constexpr long kMost = 65536;
  for (int file = 0; file < std::min(sysconf(_SC_OPEN_MAX), kMost); ++file) files.push_back(file);
  return files;
}

// The other ends of this process's connections must learn of its end.
void CloseConnections(int but) {
  for (const int file : OpenFiles()) {
    struct stat status;
    if (file <= STDERR_FILENO || file == but || fstat(file, &status) != 0) continue;
    if (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode)) close(file);
  }
}

// Waits at the line's end, `patience_s` seconds at most (-1: for ever). Returns false if the copy
// is dismissed.
bool Wait(int line, double patience_s, Survivor::Reason* reason) {
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  for (;;) {
    const std::chrono::duration<double, std::milli> left = end - Clock::now();
    const double milliseconds = patience_s < 0 ? -1 : std::clamp(left.count() + 1, 0.0, 1e9);
    pollfd event = {line, POLLIN, 0};
    const int ready = poll(&event, 1, static_cast<int>(milliseconds));
    if (ready < 0 && errno == EINTR) continue;
    *reason = Survivor::Reason::kDeadline;
    if (ready <= 0) return true;
    char word;
    *reason = Survivor::Reason::kOrphaned;
    return read(line, &word, 1) != 1;
  }
}

void SpeakTo(int file) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(file, stream);
}

[[noreturn]] void Live(int line, double patience_s, const Survivor::Body& body, int speaks_to) {
  setsid();
  if (speaks_to >= 0) SpeakTo(speaks_to);
  CloseConnections(line);
  using Reason = Survivor::Reason;
  Reason reason;
  int code = 0;
  try {
    while (Wait(line, patience_s, &reason) && body(reason) && reason == Reason::kDeadline) {
      patience_s = -1;
    }
  } catch (const std::exception&) {
    code = 1;
  }
  _exit(code);
}

// Blocks all signals of this thread while it lives.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Survivor::Survivor(double patience_s, const Body& body, int speaks_to) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  {
    const NoSignals none;
    process_ = fork();
    if (process_ == 0) {
      for (const int signal :
           {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGCONT, SIGUSR1, SIGUSR2, SIGALRM}) {
        std::signal(signal, SIG_IGN);
      }
    }
  }
  if (process_ == 0) {
    close(ends[1]);
    Live(ends[0], patience_s, body, speaks_to);
  }
  const int error = errno;
  close(ends[0]);
  line_ = ends[1];
  if (process_ < 0) {
    LetGo();
    throw std::system_error(error, std::generic_category(), "fork");
  }
}

void Survivor::Dismiss() {
  if (process_ < 0) return;
  const char word = 'd';
  send(line_, &word, 1, MSG_NOSIGNAL);  // fails if the copy has ended
  LetGo();
  constexpr std::chrono::seconds kLongest(30);
  constexpr std::chrono::milliseconds kNap(1);
  const auto end = Clock::now() + kLongest;
  while (waitpid(process_, nullptr, WNOHANG) == 0 && Clock::now() < end) {
    std::this_thread::sleep_for(kNap);
  }
  process_ = -1;
}

void Survivor::Act() {
  LetGo();
  process_ = -1;
}

void Survivor::LetGo() {
  if (line_ >= 0) close(std::exchange(line_, -1));
}

}  // namespace gf
