#include "data/formats/text_lines.h"

#include <algorithm>

#include "core/error.h"

namespace gf {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kMostLineBytes = size_t{16} << 20;

}  // namespace

// False at the end of the file.
bool TextLines::ReadPiece() {
  piece_.resize(kPieceBytes);
  piece_.resize(file_->ReadAt(offset_, &piece_[0], piece_.size()));
  at_ = 0;
  if (offset_ == 0 && StartsWith(piece_, "\xEF\xBB\xBF")) at_ = 3;
  offset_ += static_cast<int64_t>(piece_.size());
  return at_ < piece_.size();
}

bool TextLines::Next(std::string* line) {
  line->clear();
  if (at_ == piece_.size() && !ReadPiece()) return false;
  ++number_;
  for (bool ended = false; !ended;) {
    const size_t end = std::min(piece_.find('\n', at_), piece_.size());
    line->append(piece_, at_, end - at_);
    if (line->size() > kMostLineBytes) {
      ThrowUserError(where(), ": a line of more than ", kMostLineBytes,
                     " bytes: is this a text file with a line per image?");
    }
    ended = end < piece_.size();
    at_ = ended ? end + 1 : end;
    if (!ended && !ReadPiece()) ended = true;  // the last line has no end
  }
  if (!line->empty() && line->back() == '\r') line->pop_back();
  if (line->find('\0') != std::string::npos) {
    ThrowUserError(where(), ": a NUL byte, expected text: is this a text file, in UTF-8?");
  }
  return true;
}

std::string TextLines::where() const { return StrCat(file_->path(), ":", number_); }

}  // namespace gf
