#include "data/formats/lmdb_file.h"

#include <cstring>
#include <unordered_set>
#include <vector>

#include "core/error.h"

namespace gf {
namespace {

// The file's structure, as liblmdb's mdb.c has it for 64-bit machines. Numbers are little-endian.
constexpr uint32_t kMagic = 0xbeefc0de, kVersion = 1;
constexpr uint64_t kLeastPageBytes = 512, kMostPageBytes = 32768;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr uint64_t kFirstPage = 2;  // after the headers
constexpr uint64_t kMostDepth = 32;
constexpr size_t kPageHeader = 16, kNodeHeader = 8, kHeaderBytes = 152;
// Kinds of pages.
constexpr int kBranch = 1, kLeaf = 2, kOverflow = 4, kHeaderPage = 8, kKinds = 0x6f;
// Kinds of nodes and databases.
constexpr int kBigValue = 1, kSubDatabase = 2, kSeveralValues = 4;
constexpr int kSeveralPerKey = 4;

template <typename T>
T Number(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

uint64_t PageNumber(const uint8_t* page) { return Number<uint64_t>(page); }
int PageKind(const uint8_t* page) { return Number<uint16_t>(page + 10) & kKinds; }

}  // namespace

void LmdbFile::Fail(uint64_t page, int64_t offset, const std::string& what) const {
  ThrowUserError(file_->path(), ":", offset, ": page ", page, ": ", what,
                 "; the database is damaged: copy it again or write it anew");
}

LmdbFile::LmdbFile(const InputFile* file) : file_(file) {
  const Header first = ReadHeader(0, 0);
  const Header second = ReadHeader(1, static_cast<int64_t>(first.page_bytes));
  if (first.page_bytes != second.page_bytes) {
    Fail(1, static_cast<int64_t>(first.page_bytes),
         StrCat("pages of ", second.page_bytes, " bytes, and page 0 says ", first.page_bytes));
  }
  header_ = first.transaction < second.transaction ? second : first;
  const uint64_t pages = static_cast<uint64_t>(file->size()) / header_.page_bytes;
  if (header_.last_page >= pages) {
    ThrowUserError(file->path(), ":", file->size(), ": the file ends here but has pages up to ",
                   header_.last_page, " of ", header_.page_bytes,
                   " bytes; perhaps it was not copied completely");
  }
}

LmdbFile::Header LmdbFile::ReadHeader(uint64_t page, int64_t offset) const {
  uint8_t bytes[kHeaderBytes];
  if (file_->ReadAt(offset, bytes, kHeaderBytes) != kHeaderBytes) {
    ThrowUserError(file_->path(), ":", file_->size(), ": the file ends here, in page ", page,
                   ", one of its two headers; perhaps it was not copied completely");
  }
  if (PageNumber(bytes) != page || PageKind(bytes) != kHeaderPage ||
      Number<uint32_t>(bytes + 16) != kMagic) {
    if (page == 0) ThrowUserError(file_->path(), ":0: no LMDB, or its first page is damaged");
    Fail(page, offset, "it is no header");
  }
  if (Number<uint32_t>(bytes + 20) != kVersion) {
    ThrowUserError(file_->path(), ":", offset + 20, ": an LMDB of version ",
                   Number<uint32_t>(bytes + 20), ", expected ", kVersion, ", which liblmdb 0.9 ",
                   "writes; write the database with that version");
  }
  Header header;
  header.page_bytes = Number<uint32_t>(bytes + 40);
  header.flags = Number<uint16_t>(bytes + 92);
  header.depth = Number<uint16_t>(bytes + 94);
  header.records = Number<uint64_t>(bytes + 120);
  header.root = Number<uint64_t>(bytes + 128);
  header.last_page = Number<uint64_t>(bytes + 136);
  header.transaction = Number<uint64_t>(bytes + 144);
  if (header.page_bytes < kLeastPageBytes || header.page_bytes > kMostPageBytes ||
      (header.page_bytes & (header.page_bytes - 1)) != 0) {
    Fail(page, offset, StrCat("pages of ", header.page_bytes, " bytes"));
  }
  return header;
}

// Walks the tree from its root.
class LmdbFile::Walk {
 public:
  Walk(const LmdbFile& lmdb, const std::function<void(const LmdbRecord&)>& body)
      : lmdb_(lmdb), header_(lmdb.header_), body_(body) {}

  void Run() {
    if (header_.flags & kSeveralPerKey) RefuseSeveral();
    if (header_.depth > kMostDepth) FailHeader(StrCat("a tree of depth ", header_.depth));
    if (header_.root != kNoPage) {
      if (header_.depth == 0) FailHeader("a tree of depth 0 with a root");
      pages_.resize(header_.depth);
      Visit(header_.transaction % 2, header_.root, 1);
    }
    if (records_ != header_.records) {
      FailHeader(
          StrCat("the header counts ", header_.records, " records, the pages hold ", records_));
    }
  }

 private:
  int64_t OffsetOf(uint64_t page) const { return static_cast<int64_t>(page * header_.page_bytes); }

  [[noreturn]] void Fail(uint64_t page, const std::string& what) const {
    lmdb_.Fail(page, OffsetOf(page), what);
  }
  [[noreturn]] void FailHeader(const std::string& what) const {
    Fail(header_.transaction % 2, what);
  }
  [[noreturn]] void RefuseSeveral() const {
    ThrowUserError(lmdb_.file_->path(),
                   ": has several values per key (MDB_DUPSORT), expected one Datum per key");
  }

  // `count` pages to which page `from` points.
  void Claim(uint64_t from, uint64_t page, uint64_t count) {
    if (page < kFirstPage || page > header_.last_page || count > header_.last_page - page + 1) {
      Fail(from,
           StrCat("it points to page ", page, count > 1 ? StrCat(" and ", count - 1, " more") : "",
                  ", and pages are ", kFirstPage, " to ", header_.last_page));
    }
    if (!seen_.insert(page).second) {
      Fail(from, StrCat("it points to page ", page, ", and so does another page"));
    }
  }

  // Reads the beginning of a page.
  void Read(uint64_t page, uint8_t* to, size_t bytes, int kind, const char* expected) const {
    if (lmdb_.file_->ReadAt(OffsetOf(page), to, bytes) != bytes) {
      Fail(page, "the file ends here");
    }
    if (PageNumber(to) != page) Fail(page, StrCat("it says that it is page ", PageNumber(to)));
    if (PageKind(to) != kind) {
      Fail(page, StrCat("it is of kind ", PageKind(to), ", expected ", kind, ", ", expected));
    }
  }

  // A page to which page `from` points. `level`: 1 for the root.
  void Visit(uint64_t from, uint64_t page, uint64_t level) {
    Claim(from, page, 1);
    std::vector<uint8_t>& bytes = pages_[level - 1];
    bytes.resize(header_.page_bytes);
    const bool leaf = level == header_.depth;
    Read(page, bytes.data(), bytes.size(), leaf ? kLeaf : kBranch, leaf ? "a leaf" : "a branch");
    const size_t lower = Number<uint16_t>(&bytes[12]), upper = Number<uint16_t>(&bytes[14]);
    if (lower < kPageHeader || lower % 2 != 0 || lower > upper || upper > bytes.size()) {
      Fail(page,
           StrCat("its free space is ", lower, " to ", upper, " of ", bytes.size(), " bytes"));
    }
    size_t used = 0;  // by nodes, which must not overlap
    for (size_t at = kPageHeader; at < lower; at += 2) {
      const size_t node = Number<uint16_t>(&bytes[at]);
      if (node < upper || node + kNodeHeader > bytes.size()) {
        Fail(page,
             StrCat("a node at ", node, ", expected ", upper, " to ", bytes.size() - kNodeHeader));
      }
      const size_t size = leaf ? LeafBytes(&bytes[node]) : BranchBytes(&bytes[node]);
      used += size;
      if (size > bytes.size() - node || used > bytes.size() - upper) {
        Fail(page, StrCat("a node of ", size, " bytes at ", node, " of ", bytes.size()));
      }
      if (leaf) {
        Take(page, bytes.data(), node);
      } else {
        Visit(page, Child(&bytes[node]), level + 1);
      }
    }
  }

  static size_t KeyBytes(const uint8_t* node) { return Number<uint16_t>(node + 6); }
  static int Flags(const uint8_t* node) { return Number<uint16_t>(node + 4); }
  static uint32_t ValueBytes(const uint8_t* node) { return Number<uint32_t>(node); }
  // 48 bits, of which the flags' place has the highest.
  static uint64_t Child(const uint8_t* node) {
    return Number<uint32_t>(node) | uint64_t{Number<uint16_t>(node + 4)} << 32;
  }
  static size_t BranchBytes(const uint8_t* node) { return kNodeHeader + KeyBytes(node); }
  static size_t LeafBytes(const uint8_t* node) {
    const size_t value = Flags(node) & kBigValue ? sizeof(uint64_t) : size_t{ValueBytes(node)};
    return kNodeHeader + KeyBytes(node) + value;
  }

  // A record of a leaf; its node lies inside the page.
  void Take(uint64_t page, const uint8_t* bytes, size_t at) {
    const uint8_t* const node = bytes + at;
    if (Flags(node) & kSeveralValues) RefuseSeveral();
    if (Flags(node) & kSubDatabase) {
      ThrowUserError(lmdb_.file_->path(),
                     ": holds named databases, expected Datum messages in the main one");
    }
    if (Flags(node) & ~kBigValue) Fail(page, StrCat("a node with flags ", Flags(node)));
    const size_t key = kNodeHeader, value = key + KeyBytes(node);
    LmdbRecord record;
    record.key = {reinterpret_cast<const char*>(node) + key, KeyBytes(node)};
    record.bytes = ValueBytes(node);
    if (Flags(node) & kBigValue) {
      record.offset = FindBigValue(page, Number<uint64_t>(node + value), record.bytes);
    } else {
      record.offset = OffsetOf(page) + static_cast<int64_t>(at + value);
      record.value = node + value;
    }
    ++records_;
    body_(record);
  }

  // The offset of a value on pages of its own, from `first` on.
  int64_t FindBigValue(uint64_t page, uint64_t first, uint64_t bytes) {
    const uint64_t needed = (kPageHeader - 1 + bytes) / header_.page_bytes + 1;
    Claim(page, first, needed);
    uint8_t start[kPageHeader];
    Read(first, start, sizeof(start), kOverflow, "a value on pages of its own");
    const uint64_t pages = Number<uint32_t>(start + 12);
    if (pages < needed || pages > header_.last_page - first + 1) {
      Fail(first, StrCat("a value of ", bytes, " bytes on ", pages, " pages"));
    }
    return OffsetOf(first) + static_cast<int64_t>(kPageHeader);
  }

  const LmdbFile& lmdb_;
  const Header& header_;
  const std::function<void(const LmdbRecord&)>& body_;
  std::vector<std::vector<uint8_t>> pages_;  // from the root to the page that is read
  std::unordered_set<uint64_t> seen_;
  uint64_t records_ = 0;
};

void LmdbFile::ForEach(const std::function<void(const LmdbRecord&)>& body) const {
  Walk(*this, body).Run();
}

}  // namespace gf
