#include "core/cpu/pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>

namespace gf {
namespace {

constexpr size_t kBytes = 5 * kHugePage + 12345;

// Bytes of this process on huge pages.
int64_t HugeBytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  int64_t kilobytes = 0;
  while (file >> word) {
    if (word == "AnonHugePages:" && file >> kilobytes) return kilobytes << 10;
  }
  return -1;
}

bool CanCollapse() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line, release;
  std::getline(file, line);
  std::ifstream("/proc/sys/kernel/osrelease") >> release;
  return !line.empty() && line.find("[never]") == std::string::npos && std::stod(release) >= 6.1 &&
         HugeBytes() >= 0;
}

// One test, because pages move once per process.
TEST(PagesTest, BlocksStartOnOrdinaryPagesAndKeepTheirContentWhenTheyMove) {
  const int64_t start = HugeBytes();
  const std::shared_ptr<void> block = MapPages(kBytes), freed = MapPages(kBytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % kHugePage, 0u);
  auto* const bytes = static_cast<unsigned char*>(block.get());
  for (size_t i = 0; i < kBytes; i += 511) ASSERT_EQ(bytes[i], 0) << i;
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<unsigned char>(i * 31 >> 3);
  std::memset(freed.get(), 1, kBytes);
  const int64_t before = HugeBytes();
  MoveToHugePages();
  const int64_t after = HugeBytes();
  for (size_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(bytes[i], static_cast<unsigned char>(i * 31 >> 3)) << i;
  }

  const std::shared_ptr<void> later = MapPages(kBytes);
  std::memset(later.get(), 1, kBytes);
  const int64_t with_later = HugeBytes();
  MoveToHugePages();  // again: nothing to do
  if (!CanCollapse()) GTEST_SKIP() << "this kernel moves no pages when asked (Linux 6.1 does)";
  EXPECT_LT(before - start, static_cast<int64_t>(kHugePage));
  EXPECT_GE(after - before, static_cast<int64_t>(2 * 5 * kHugePage));
  EXPECT_GE(with_later - after, static_cast<int64_t>(5 * kHugePage));
}

TEST(PagesTest, AskingForTooMuchIsBadAlloc) {
  EXPECT_THROW(MapPages(size_t{1} << 60), std::bad_alloc);
}

}  // namespace
}  // namespace gf
