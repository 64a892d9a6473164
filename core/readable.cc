#include "core/readable.h"

#include <cmath>
#include <cstdio>

namespace gf {
namespace {

template <typename... Args>
std::string Format(const char* format, Args... args) {
  char text[64];
  std::snprintf(text, sizeof(text), format, args...);
  return text;
}

}  // namespace

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

std::string Counted(int64_t count, const std::string& noun, const std::string& plural) {
  if (count == 1) return "1 " + noun;
  return std::to_string(count) + " " + (plural.empty() ? noun + "s" : plural);
}

}  // namespace gf
