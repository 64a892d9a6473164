// gfbench: how long things take; each kind of benchmark is a Family in a file of its own.

#include <cstdio>
#include <string>
#include <vector>

#include "core/error.h"
#include "tools/gfbench/family.h"

namespace gf {
namespace {

constexpr char kDefault[] = "step";

int Main(int argc, char** argv) {
  std::vector<char*> words(argv, argv + argc);
  std::string name = kDefault;
  const bool named = argc > 1 && argv[1][0] != '-';
  if (named) {
    name = argv[1];
    words.erase(words.begin() + 1);
  }
  const auto family = FamilyRegistry::Get().Create("benchmark", name);
  const int code = family->Run(static_cast<int>(words.size()), words.data());
  if (!named && (argc == 1 || std::string(argv[1]) == "--help")) {
    std::fprintf(argc == 1 ? stderr : stdout,
                 "\nBenchmarks: %s (%s if none is named); gfbench BENCHMARK --help tells more.\n",
                 FamilyRegistry::Get().Names().c_str(), kDefault);
  }
  return code;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(&gf::Main, argc, argv); }
