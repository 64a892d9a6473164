#include "core/telemetry/telemetry.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace gf {
namespace {

// Columns of the terminal, or a number that is never reached if they cannot be told.
size_t Columns(FILE* out) {
  winsize size = {};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 1000;
  return size.ws_col;
}

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

}  // namespace

bool IsTerminal(FILE* out) {
  const int fd = fileno(out);
  if (isatty(fd) == 0) return false;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return true;
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

JsonLines::JsonLines(const std::string& path) {
  if (path.empty()) return;
  file_ = std::make_unique<OutputFile>(path, OutputFile::Mode::kAppend);
}

void JsonLines::Write(const nlohmann::ordered_json& record) {
  if (!file_) return;
  try {
    file_->Write(record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 "\n");
    file_->Flush();
  } catch (const UserError& error) {
    PrintRemark(StrCat(error.what(), "; no more JSON lines from here"));
    file_.reset();
  }
}

std::string HumanBytes(double bytes) {
  const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int unit = 0;
  while (unit < 5 && std::abs(bytes) >= (unit == 0 ? 1000 : 999.5)) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0) return Format("%.0f B", bytes);
  const int decimals = std::abs(bytes) < 9.995 ? 2 : std::abs(bytes) < 99.95 ? 1 : 0;
  return Format("%.*f %s", decimals, bytes, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  if (seconds < 0.9995) return Format("%.0f ms", seconds * 1000);
  if (seconds < 9.95) return Format("%.1f s", seconds);
  const int64_t s = std::llround(seconds);
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  if (s < 60) return Format("%lld s", number(s));
  if (s < 3600) return Format("%lldm%02llds", number(s / 60), number(s % 60));
  if (s < 86400) return Format("%lldh%02lldm", number(s / 3600), number(s % 3600 / 60));
  return Format("%lldd%02lldh", number(s / 86400), number(s % 86400 / 3600));
}

std::string WithCommas(int64_t value) {
  std::string digits = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace gf
