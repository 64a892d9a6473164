#include "core/registry.h"

#include <gtest/gtest.h>

namespace gf {
namespace {

struct Animal {
  explicit Animal(int legs) : legs(legs) {}
  int legs;
};
using AnimalRegistry = Registry<Animal, int>;

const bool registered = AnimalRegistry::Get().Add("Cat", [](int legs) {
  return std::make_unique<Animal>(legs);
}) && AnimalRegistry::Get().Add("Bird", [](int) { return std::make_unique<Animal>(2); });

TEST(RegistryTest, CreatesByName) {
  ASSERT_TRUE(registered);
  EXPECT_TRUE(AnimalRegistry::Get().Has("Cat"));
  EXPECT_FALSE(AnimalRegistry::Get().Has("Dog"));
  EXPECT_EQ(AnimalRegistry::Get().Create("animal", "Cat", 4)->legs, 4);
  EXPECT_EQ(AnimalRegistry::Get().Create("animal", "Bird", 4)->legs, 2);
}

TEST(RegistryTest, UnknownNameListsKnownNames) {
  try {
    AnimalRegistry::Get().Create("animal", "Dog", 4);
    FAIL() << "no exception";
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "unknown animal \"Dog\" (known: Bird, Cat)");
  }
}

TEST(RegistryDeathTest, RegisteringTwiceIsABug) {
  const auto factory = [](int legs) { return std::make_unique<Animal>(legs); };
  EXPECT_DEATH(AnimalRegistry::Get().Add("Cat", factory), "Cat is registered twice");
}

}  // namespace
}  // namespace gf
