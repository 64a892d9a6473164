#include "comm/failure/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

#include "comm/failure/stopped_ranks.h"
#include "core/error.h"
#include "core/survivor.h"

namespace gf {
namespace {

struct Process {
  std::string name;
  pid_t parent = 0;
};

// From /proc/<pid>/stat: "4711 (name) S 4710 ...", where the name may hold anything.
Process ReadProcess(pid_t pid) {
  std::ifstream file(StrCat("/proc/", pid, "/stat"), std::ios::binary);
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = stat.find('('), end = stat.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 > stat.size()) return {};
  return {stat.substr(begin + 1, end - begin - 1), std::atoi(stat.c_str() + end + 4)};
}

bool IsLauncher(const std::string& name) {
  for (const char* const known : {"mpirun", "mpiexec", "orterun", "prterun"}) {
    if (name.rfind(known, 0) == 0) return true;  // also mpirun.openmpi
  }
  return false;
}

// Starts ranks for an mpirun elsewhere.
bool IsDaemon(const std::string& name) { return name == "orted" || name == "prted"; }

pid_t FindLauncher() {
  if (LaunchedRank() < 0) return 0;
  constexpr int kMostAncestors = 16;
  pid_t pid = getppid();
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    const Process process = ReadProcess(pid);
    if (IsLauncher(process.name)) return pid;
    if (IsDaemon(process.name)) return 0;
    pid = process.parent;
  }
  return 0;
}

// Opens what a process writes to, or -1.
FileDescriptor OpenForWriting(const std::string& path) {
  // O_NONBLOCK: a named pipe without a reader must not be waited for.
  const int flags = O_WRONLY | O_APPEND;
  FileDescriptor file(open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() >= 0) fcntl(file.get(), F_SETFL, flags);
  return file;
}

// One of Open MPI's numbers about this rank; 0 if there is none.
int Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? 0 : std::atoi(value);
}

int LocalRank() { return Variable("OMPI_COMM_WORLD_LOCAL_RANK"); }
bool OnSeveralHosts() {
  const int here = Variable("OMPI_COMM_WORLD_LOCAL_SIZE");
  return here > 0 && Variable("OMPI_COMM_WORLD_SIZE") > here;
}

}  // namespace

Launcher::Launcher() {
  const pid_t pid = FindLauncher();
  if (pid == 0) return;
  process_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!found()) return;
  standard_output_ = OpenForWriting(StrCat("/proc/", pid, "/fd/1"));
  standard_error_ = OpenForWriting(StrCat("/proc/", pid, "/fd/2"));
  if (standard_error() < 0) standard_error_ = OpenForWriting("/dev/null");
}

bool Launcher::OutputIsRead() const {
  // Open MPI 5's mpirun passes no output on after Ctrl-C.
  if (found() && std::getenv("PRTE_LAUNCHED") != nullptr) return false;
  return HasReader(found() ? standard_output_.get() : STDOUT_FILENO);
}

bool Launcher::Ended(double patience_s) const {
  if (!found()) return true;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(patience_s);
  for (;;) {
    const std::chrono::duration<double, std::milli> left = end - Clock::now();
    pollfd event = {process_.get(), POLLIN, 0};
    const int ready = poll(&event, 1, static_cast<int>(std::max(left.count(), 0.0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

bool Launcher::End() const {
  constexpr double kEnds_s = 5;
  return syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0) == 0 && Ended(kEnds_s);
}

void EndLauncherLater(double patience_s) {
  if (!OnSeveralHosts()) return;
  try {
    const Launcher launcher;
    if (!launcher.found()) return;
    // One rank after the other, so that one does it and says so.
    constexpr double kNext_s = 0.2;
    patience_s += kNext_s * LocalRank();
    const auto end = [&](Survivor::Reason) {
      if (!launcher.Ended(patience_s) && launcher.End()) {
        PrintRemark("mpirun was ended (SIGKILL): it waited for a host that cannot be reached");
      }
      return false;
    };
    Survivor(0, end, launcher.standard_error()).Act();
  } catch (const std::exception& error) {
    PrintWarning("mpirun may wait for ever if a host cannot be reached: ", error.what());
  }
}

}  // namespace gf
