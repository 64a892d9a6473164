#include "comm/choice/rung_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gf {
namespace {

struct Figures {
  const char* name;
  double arithmetic, exposed;
};

// A step of 1 s of compute, of which at most 5 % may be exposed. Negative arithmetic stands for
// updates that a rung saves.
ExchangeChoice Chosen(const std::vector<Figures>& rungs, double slower = 0.05) {
  ExchangeChoice choice;
  choice.limit = 0.05;
  choice.slower = slower;
  choice.compute = 1;
  for (const Figures& figures : rungs) {
    PricedRung rung;
    rung.name = figures.name;
    rung.priced = figures.exposed >= 0;
    rung.arithmetic = figures.arithmetic;
    rung.exposed = figures.exposed;
    rung.step = 1 + figures.arithmetic + figures.exposed;
    choice.rungs.push_back(rung);
  }
  ChooseRung(&choice);
  return choice;
}

std::string Name(const ExchangeChoice& choice) { return choice.rungs[choice.chosen].name; }

TEST(RungChoiceTest, FastLinksNeedNoCompressor) {
  const ExchangeChoice choice = Chosen({{"a", 0, 0.04}, {"b", 0, 0.01}, {"c", 0.001, 0}});
  EXPECT_EQ(Name(choice), "a");
  EXPECT_EQ(choice.rungs[0].verdict, "taken");
  EXPECT_EQ(choice.rungs[1].verdict, "stronger than needed");
}

TEST(RungChoiceTest, TheMildestThatHidesTheExchangeIsTaken) {
  const ExchangeChoice choice =
      Chosen({{"a", 0, 3}, {"b", 0, 0.06}, {"c", 0.02, 0.05}, {"d", 0.01, 0.04}});
  EXPECT_EQ(Name(choice), "c");
  EXPECT_EQ(choice.rungs[0].verdict, "281.0 % slower than d");
  EXPECT_EQ(choice.rungs[1].verdict, "exposes 6.0 % of compute");
}

TEST(RungChoiceTest, WhereNothingHidesItTheMildestOfTheFastIsTaken) {
  const ExchangeChoice choice =
      Chosen({{"a", 0, 9}, {"b", 0.15, 0.28}, {"c", 0.1, 0.3}, {"d", 0.5, 0}});
  EXPECT_EQ(Name(choice), "b");
  EXPECT_EQ(choice.rungs[1].verdict,
            "taken: no rung that is nearly as fast hides its exchange; it exposes 28.0 % of "
            "compute");
  EXPECT_EQ(choice.rungs[3].verdict, "7.1 % slower than c");
}

TEST(RungChoiceTest, WhoeverHidesMayStillBeMuchSlowerThanTheFastest) {
  const std::vector<Figures> rungs = {{"a", 0, 0.02}, {"b", -0.1, 0}, {"c", -0.12, 0}};
  const ExchangeChoice choice = Chosen(rungs);
  EXPECT_EQ(Name(choice), "b");
  EXPECT_EQ(choice.rungs[0].verdict, "15.9 % slower than c");
  EXPECT_EQ(Name(Chosen(rungs, 0.2)), "a");
  EXPECT_EQ(Name(Chosen(rungs, 0)), "c");
}

TEST(RungChoiceTest, NoRungMakesStepsLongerThanLazy) {
  const ExchangeChoice choice = Chosen({{"a", 0, 0.06}, {"b", 0.07, 0}, {"c", 0.03, 0.02}}, 9);
  EXPECT_EQ(Name(choice), "c");
  EXPECT_EQ(choice.rungs[1].verdict, "slower than a");
}

TEST(RungChoiceTest, ArithmeticThatTakesLongerThanItSavesIsNotTaken) {
  // Slower than LAZY, though nothing is exposed.
  EXPECT_EQ(Name(Chosen({{"a", 0, 0.1}, {"b", 0.2, 0}, {"c", 0.11, 0}})), "a");
  // Faster than LAZY, but another rung is much faster.
  const ExchangeChoice choice = Chosen({{"a", 0, 0.5}, {"b", 0.4, 0}, {"c", 0.1, 0}});
  EXPECT_EQ(Name(choice), "c");
  EXPECT_EQ(choice.rungs[1].verdict, "27.3 % slower than c");
}

TEST(RungChoiceTest, NamesTellOtherThresholds) {
  EXPECT_EQ(FullName("SPARSE 0.02", -2), "SPARSE 0.02 / 16");
  EXPECT_EQ(FullName("SPARSE 0.02", 1), "SPARSE 0.02 * 4");
  EXPECT_EQ(FullName("SPARSE 0.02", 0), "SPARSE 0.02");
}

TEST(RungChoiceTest, RungsThatAreLeftOutKeepTheirReason) {
  ExchangeChoice choice = Chosen({{"a", 0, -1}, {"b", 0, 0.3}, {"c", 0, -1}, {"d", 0.01, 0.02}});
  EXPECT_EQ(Name(choice), "d");
  choice.rungs[2].verdict = "needs SGD";
  ChooseRung(&choice);
  EXPECT_EQ(choice.rungs[2].verdict, "needs SGD");
}

}  // namespace
}  // namespace gf
