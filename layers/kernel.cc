#include "layers/kernel.h"

#include <utility>

namespace gf {

std::string DescribePasses(const std::string& forward, const std::string& weights,
                           const std::string& data) {
  std::string text;
  bool same = true;
  for (const auto& [pass, how] :
       {std::make_pair("forward", forward), std::make_pair("weights", weights),
        std::make_pair("data", data)}) {
    if (how.empty()) continue;
    same = same && how == forward;
    if (!text.empty()) text += ", ";
    text += std::string(pass) + " " + how;
  }
  return same ? forward : text;
}

}  // namespace gf
