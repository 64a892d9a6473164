#include "core/telemetry/table.h"

#include <gtest/gtest.h>

#include <functional>

namespace gf {
namespace {

// What `print` writes.
std::string Printed(const std::function<void(FILE*)>& print) {
  FILE* const file = std::tmpfile();
  print(file);
  std::rewind(file);
  char text[1000];
  const size_t size = std::fread(text, 1, sizeof(text), file);
  std::fclose(file);
  return std::string(text, size);
}

TEST(TableTest, WordsStandLeftNumbersRightUnderTheirNames) {
  Table table({"layer", ">parameters", "by"});
  table.Add({"conv1", "34,944", ""});
  table.Add({"relu", "", "oneDNN"});
  EXPECT_EQ(Printed([&](FILE* out) { table.Print(out); }),
            "  layer  parameters  by\n  conv1      34,944\n  relu               oneDNN\n");
}

TEST(TableTest, NamesAndValuesAreAlignedAndBlankRowsStayBlank) {
  EXPECT_EQ(Printed([](FILE* out) {
              PrintTable({{"net", "alexnet"}, {"", ""}, {"solver.base_lr", "0.1"}}, out);
            }),
            "  net             alexnet\n\n  solver.base_lr  0.1\n");
}

}  // namespace
}  // namespace gf
