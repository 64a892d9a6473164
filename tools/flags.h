#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gf {

// What a tool's command line may say.
struct FlagSpec {
  // The source file whose gflags belong to the tool (__FILE__), and more such files: the only
  // flags that it takes.
  const char* file = nullptr;
  std::vector<std::string> more_files;
  // Printed for --help and when there are no arguments at all.
  const char* usage = nullptr;
  // Flags that may be given several times; their values in order go to `values`.
  std::string repeated;
  std::vector<std::string>* values = nullptr;
  // Flags that may stand without "=value" and then mean this: {"resume", "latest"}.
  std::vector<std::pair<std::string, std::string>> bare;
};

// Reads "--name=value", "--name value" and, for booleans, "--name" and "--noname" into gflags.
// Returns -1 to go on, or the exit code: 0 after --help and --version, 2 (and the usage)
// without arguments. Throws UserError for an unknown flag (with the nearest known one), a
// missing or a wrong value, or a word that is no flag.
int ParseFlags(int argc, char** argv, const FlagSpec& spec);

}  // namespace gf
