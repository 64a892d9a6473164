#include "core/pool_layout.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

class Padded : public DeviceLayout {
 public:
  explicit Padded(int64_t count) : count_(count) {}
  bool Equals(const DeviceLayout&) const override { return false; }
  int64_t StorageCount() const override { return count_; }
  std::string Name() const override { return "padded"; }

 private:
  int64_t count_;
};

PoolEntry Entry(const std::string& name, Shape shape, Layout layout = Layout()) {
  PoolEntry entry;
  entry.name = name;
  entry.shape = shape;
  entry.layout = layout;
  return entry;
}

TEST(PoolLayoutTest, EntriesFollowEachOtherAtAlignedOffsets) {
  PoolLayout layout;
  layout.Add(Entry("fc.bias", Shape{10}));
  layout.Add(Entry("fc.weight", Shape{10, 64}));
  layout.Add(Entry("conv.weight", Shape{4, 3, 3, 3}));
  ASSERT_EQ(layout.entries().size(), 3u);
  EXPECT_EQ(layout.entries()[0].offset, 0);
  EXPECT_EQ(layout.entries()[0].count, 10);
  EXPECT_EQ(layout.entries()[1].offset, 32);
  EXPECT_EQ(layout.entries()[1].count, 640);
  EXPECT_EQ(layout.entries()[2].offset, 672);
  EXPECT_EQ(layout.count(), 672 + 128);
  EXPECT_EQ(layout.parameter_count(), 10 + 640 + 108);
}

TEST(PoolLayoutTest, PaddingOfADeviceLayoutTakesSpaceButIsNoParameter) {
  PoolLayout layout;
  layout.Add(Entry("conv.weight", Shape{3, 3}, Layout(std::make_shared<Padded>(48))));
  EXPECT_EQ(layout.entries()[0].count, 48);
  EXPECT_EQ(layout.count(), 64);
  EXPECT_EQ(layout.parameter_count(), 9);
}

TEST(PoolLayoutTest, FindsByName) {
  PoolLayout layout;
  layout.Add(Entry("a", Shape{1}));
  layout.Add(Entry("b", Shape{1}));
  EXPECT_EQ(layout.Find("b"), 1);
  EXPECT_EQ(layout.Find("c"), -1);
}

TEST(PoolLayoutTest, NamesAndEndsOfEntries) {
  PoolLayout layout;
  EXPECT_EQ(layout.PrefixEnd(0), 0);
  layout.Add(Entry("a", Shape{1}));
  layout.Add(Entry("b", Shape{33}));
  EXPECT_EQ(layout.NameOf(0, 0), "a");
  EXPECT_EQ(layout.NameOf(0, 1), "a to b");
  EXPECT_EQ(layout.PrefixEnd(0), 0);
  EXPECT_EQ(layout.PrefixEnd(1), 32);
  EXPECT_EQ(layout.PrefixEnd(2), layout.count());
}

TEST(PoolLayoutDeathTest, TwoParametersOfOneNameAreABug) {
  PoolLayout layout;
  layout.Add(Entry("a", Shape{1}));
  EXPECT_DEATH(layout.Add(Entry("a", Shape{2})), "a");
}

}  // namespace
}  // namespace gf
