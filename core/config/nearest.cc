#include "core/config/nearest.h"

#include <algorithm>
#include <cctype>

namespace gf {
namespace {

// Damerau's distance (insert, delete, replace, swap neighbors), letters in either case equal.
size_t Distance(const std::string& a, const std::string& b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + !same(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string Nearest(const std::string& name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongestName = 100;
  if (name.size() > kLongestName) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(1, name.size() / 3);
  for (const std::string& candidate : candidates) {
    const size_t distance = Distance(name, candidate);
    if (distance < best_distance || (distance == best_distance && best.empty())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string Suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(name, candidates);
  if (nearest.empty()) return " (known: " + Join(candidates) + ")";
  return "; did you mean \"" + nearest + "\"?";
}

}  // namespace gf
