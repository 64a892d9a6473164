#include "core/telemetry/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace gf {
namespace {

// Columns of the terminal, or a number that is never reached if they cannot be told.
size_t Columns(FILE* out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 1000;
  return size.ws_col;
}

}  // namespace

bool IsTerminal(FILE* out) {
  const int fd = fileno(out);
  if (isatty(fd) == 0) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
  // Open MPI 5 passes on whole lines only.
  if (std::getenv("PRTE_LAUNCHED") != nullptr) return false;
  char target[256];
  const std::string link = "/proc/" + std::to_string(getppid()) + "/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), target, sizeof(target));
  if (length <= 0) return false;
  const std::string name(target, static_cast<size_t>(length));
  return name.rfind("/dev/pts/", 0) == 0 || name.rfind("/dev/tty", 0) == 0;
}

Console::Console(FILE* out) : out_(out), terminal_(IsTerminal(out)) {}

Console::~Console() {
  if (pending_ > 0) std::fputc('\n', out_);
  std::fflush(out_);
}

void Console::Progress(const std::string& line) {
  if (!terminal_) return Line(line);
  // A line that wraps could not be rewritten.
  const std::string shown = line.substr(0, Columns(out_) - 1);
  const size_t blanks = pending_ > shown.size() ? pending_ - shown.size() : 0;
  std::fprintf(out_, "\r%s%s", shown.c_str(), std::string(blanks, ' ').c_str());
  pending_ = shown.size();
  std::fflush(out_);
}

void Console::Line(const std::string& line) {
  if (pending_ > 0) {
    std::fprintf(out_, "\r%s\r", std::string(pending_, ' ').c_str());
    pending_ = 0;
  }
  std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
}

}  // namespace gf
