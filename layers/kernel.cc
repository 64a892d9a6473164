#include "layers/kernel.h"

#include <utility>

namespace gf {

std::string DescribePasses(const std::string& forward, const std::string& weights,
                           const std::string& data) {
  std::string text;
  bool same = true;
  const std::pair<const char*, std::string> passes[] = {
      {"forward", forward}, {"weights", weights}, {"data", data}};
  for (const auto& [pass, how] : passes) {
    if (how.empty()) continue;
    same = same && how == forward;
    if (!text.empty()) text += ", ";
    text += std::string(pass) + " " + how;
  }
  return same ? forward : text;
}

}  // namespace gf
