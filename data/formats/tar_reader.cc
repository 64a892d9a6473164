#include "data/formats/tar_reader.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace gf {
namespace {

constexpr int64_t kMaxExtension = 1 << 20;
// Tars are padded with zeros to at most this.
constexpr int64_t kMaxPadding = 1 << 20;

std::string Text(const uint8_t* field, size_t bytes) {
  const auto* text = reinterpret_cast<const char*>(field);
  return std::string(text, strnlen(text, bytes));
}

bool IsZero(const uint8_t* block, size_t bytes) {
  return std::all_of(block, block + bytes, [](uint8_t byte) { return byte == 0; });
}

// An octal number, blanks around it allowed; -1 if it is none or too large.
int64_t ParseOctal(const uint8_t* field, size_t bytes) {
  size_t i = 0;
  while (i < bytes && field[i] == ' ') ++i;
  int64_t value = 0;
  for (; i < bytes && field[i] >= '0' && field[i] <= '7'; ++i) {
    if (value >> 59) return -1;
    value = value * 8 + (field[i] - '0');
  }
  for (; i < bytes; ++i) {
    if (field[i] != ' ' && field[i] != 0) return -1;
  }
  return value;
}

}  // namespace

void TarReader::Fail(int64_t offset, const std::string& what) const {
  ThrowUserError(file_->path(), ":", offset, ": ", what);
}

size_t TarReader::Peek(int64_t offset, void* to, size_t bytes) {
  bytes = std::min<int64_t>(bytes, std::max<int64_t>(end_ - offset, 0));
  if (offset < window_offset_ ||
      offset + static_cast<int64_t>(bytes) > window_offset_ + static_cast<int64_t>(window_bytes_)) {
    if (bytes > sizeof(window_)) return file_->ReadAt(offset, to, bytes);
    window_bytes_ = 0;
    window_bytes_ = file_->ReadAt(offset, window_, sizeof(window_));
    window_offset_ = offset;
    bytes = std::min(bytes, window_bytes_);
  }
  std::memcpy(to, window_ + (offset - window_offset_), bytes);
  return bytes;
}

bool TarReader::ReadBlock(uint8_t* block) {
  const size_t got = Peek(offset_, block, kBlock);
  if (got == kBlock) return true;
  if (got == 0 && ended_) return false;
  if (offset_ == begin_ && got == 0) Fail(offset_, "the file is empty, expected a tar");
  if (ended_ && IsZero(block, got)) return false;
  Fail(offset_, StrCat("the tar ends here, in the middle (", end_ - begin_,
                       " bytes); perhaps it was not copied completely"));
}

void TarReader::CheckHeader(const uint8_t* block) const {
  if (offset_ == begin_ && block[0] == 0x1f && block[1] == 0x8b) {
    Fail(offset_,
         "the tar is compressed, and shards are read at random; unpack it with gunzip first");
  }
  const int64_t expected = ParseOctal(block + 148, 8);
  int64_t sum = 8 * ' ', signed_sum = 8 * ' ';
  for (int i = 0; i < kBlock; ++i) {
    if (i >= 148 && i < 156) continue;
    sum += block[i];
    signed_sum += static_cast<int8_t>(block[i]);
  }
  // Old programs summed signed bytes.
  if (expected != sum && expected != signed_sum) {
    Fail(offset_, StrCat("no tar header here: checksum ", expected, ", expected ", sum,
                         "; the shard is damaged or no tar"));
  }
}

int64_t TarReader::ParseSize(const uint8_t* block) const {
  const uint8_t* field = block + 124;
  int64_t size = 0;
  if (field[0] & 0x80) {  // GNU: a binary number, most significant byte first
    size = field[0] & 0x7f;
    for (int i = 1; i < 12; ++i) {
      if (size >> 54) Fail(offset_, "a file in the tar has an absurd size");
      size = size * 256 + field[i];
    }
  } else {
    size = ParseOctal(field, 12);
    if (size < 0) Fail(offset_, "a file in the tar has a size that is not a number");
  }
  return size;
}

void TarReader::SkipData(int64_t size) {
  const int64_t data = offset_ + kBlock, left = end_ - data;
  if (size > left) {
    Fail(offset_,
         StrCat("a file of ", size, " bytes starts here but only ", std::max<int64_t>(left, 0),
                " bytes follow; perhaps the tar was not copied completely"));
  }
  // The padding of the last file may be missing; the next read says so.
  offset_ = data + (size + kBlock - 1) / kBlock * kBlock;
}

std::string TarReader::ReadExtension(int64_t size) {
  if (size > kMaxExtension) {
    Fail(offset_,
         StrCat("an extension header of ", size, " bytes, expected at most ", kMaxExtension));
  }
  const int64_t data = offset_ + kBlock;
  SkipData(size);
  std::string text(size, '\0');
  text.resize(Peek(data, &text[0], text.size()));
  return text;
}

void TarReader::ParsePax(const std::string& records, int64_t offset) {
  // "<length> <key>=<value>\n", the length counting itself.
  for (size_t at = 0; at < records.size();) {
    size_t length = 0, i = at;
    for (; i < records.size() && records[i] >= '0' && records[i] <= '9'; ++i) {
      length = length * 10 + (records[i] - '0');
      if (length > records.size()) break;
    }
    const size_t equals = records.find('=', i);
    if (i == at || i >= records.size() || records[i] != ' ' || length > records.size() - at ||
        at + length <= i || records[at + length - 1] != '\n' || equals >= at + length) {
      Fail(offset, "a pax header is damaged");
    }
    const std::string key = records.substr(i + 1, equals - i - 1);
    const std::string value = records.substr(equals + 1, at + length - 1 - (equals + 1));
    if (key == "path") next_name_ = value.substr(0, value.find('\0'));
    if (key == "size") {
      int64_t size = 0;
      for (const char digit : value) {
        if (digit < '0' || digit > '9' || size >> 59) Fail(offset, "a pax header is damaged: size");
        size = size * 10 + (digit - '0');
      }
      next_size_ = size;
    }
    at += length;
  }
}

bool TarReader::Next(TarMember* member) {
  uint8_t block[kBlock];
  int64_t padding = 0;
  for (;;) {
    if (!ReadBlock(block)) return false;
    if (IsZero(block, kBlock)) {
      ended_ = true;
      offset_ += kBlock;
      padding += kBlock;
      if (padding > kMaxPadding) return false;
      continue;
    }
    ended_ = false;
    padding = 0;
    CheckHeader(block);
    int64_t size = ParseSize(block);
    const int64_t header = offset_;
    const char type = static_cast<char>(block[156]);
    if (type == 'L') {
      const std::string name = ReadExtension(size);
      next_name_ = name.substr(0, name.find('\0'));
    } else if (type == 'x') {
      ParsePax(ReadExtension(size), header);
    } else if (type == 'g' || type == 'K') {
      SkipData(size);
    } else if (type == 'S') {
      Fail(offset_, "a sparse file, which is not read; pack the tar without --sparse");
    } else {
      std::string name = next_name_;
      if (next_size_ >= 0) size = next_size_;
      next_name_.clear();
      next_size_ = -1;
      // Links, devices, folders and FIFOs carry no data, whatever their size field says.
      const bool empty = type >= '1' && type <= '6';
      SkipData(empty ? 0 : size);
      if (type != '0' && type != 0 && type != '7') continue;
      if (name.empty()) {
        name = Text(block, 100);
        const bool ustar = std::memcmp(block + 257, "ustar\0", 6) == 0;
        const std::string prefix = ustar ? Text(block + 345, 155) : "";
        if (!prefix.empty()) name = prefix + "/" + name;
      }
      if (type != '7' && !name.empty() && name.back() == '/') continue;  // V7's folders
      *member = {name, header, header + kBlock, size};
      return true;
    }
  }
}

}  // namespace gf
