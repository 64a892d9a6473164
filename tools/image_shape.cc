#include "tools/image_shape.h"

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "core/readable.h"

namespace gf {

Shape ParseInput(const std::string& text) {
  std::vector<int64_t> dims;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('x', at), text.size());
    const std::string digits = text.substr(at, end - at);
    if (digits.empty() || digits.size() > 9 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      break;
    }
    dims.push_back(std::stoll(digits));
    at = end + 1;
  }
  const Shape shape(dims);
  if (dims.size() != 3 || at < text.size()) {
    ThrowUserError("--input=", text, ": expected channels, height and width, e.g. 3x224x224");
  }
  if (!IsSane(shape)) {
    ThrowUserError("--input=", text, ": the product of the three must be from 1 to ",
                   WithCommas(kMaxElements));
  }
  return shape;
}

}  // namespace gf
