#include "solvers/checkpoint/foreign_weights.h"

#include <algorithm>
#include <cctype>

#include "core/file.h"
#include "core/str_cat.h"

namespace gf {
namespace {

using std::literals::string_view_literals::operator""sv;

// torch.save writes a ZIP archive since PyTorch 1.6; before that, a pickle of protocol 2. The
// newer protocols are Python's own.
bool IsTorch(std::string_view start) {
  if (StartsWith(start, "PK\x03\x04"sv)) return true;
  const bool pickle = start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
  // The length of a safetensors header may begin with the same bytes; then its brace follows.
  return pickle && (start.size() < 9 || start[8] != '{');
}

// As the length of a safetensors header, these bytes would be more than 10^17.
bool IsText(std::string_view start) {
  constexpr size_t kLength = 8;
  return start.size() >= kLength &&
         std::all_of(start.begin(), start.begin() + kLength,
                     [](unsigned char c) { return std::isprint(c) != 0 || std::isspace(c) != 0; });
}

// x.pth -> x.safetensors
std::string NewName(const std::string& path) {
  const size_t name = path.rfind('/') + 1, dot = path.rfind('.');
  return path.substr(0, dot == std::string::npos || dot <= name ? path.size() : dot) +
         ".safetensors";
}

}  // namespace

std::string ForeignWeights(const std::string& path, std::string_view start) {
  if (IsTorch(start)) {
    return StrCat(
        "a file of torch.save, expected safetensors: convert it with these lines of "
        "Python\n"
        "  import torch, safetensors.torch\n"
        "  weights = torch.load(\"",
        path,
        "\", map_location=\"cpu\")\n"
        "  safetensors.torch.save_file({k: v.contiguous() for k, v in "
        "weights.get(\"state_dict\", weights).items()}, \"",
        NewName(path), "\")");
  }
  if (StartsWith(start, "\x89HDF\r\n\x1a\n"sv)) {
    return "an HDF5 file, expected safetensors or x.caffemodel";
  }
  if (StartsWith(start, "version https://"sv)) {
    return "a pointer of Git LFS, expected weights: fetch the file itself with git lfs pull";
  }
  if (IsText(start)) {
    return "a text file, expected weights: safetensors or x.caffemodel; a network is named by net: "
           "\"FILE\" of the job";
  }
  return "";
}

}  // namespace gf
