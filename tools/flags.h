#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gf {

// Flags that --help shows under one title, in this order, by their gflags' names. What --help says
// about a flag is the text of its DEFINE_*, where `FILE` in back quotes names the value.
struct FlagGroup {
  std::string title;
  std::vector<std::string> names;
};

// What a command line may say, and what --help says about it.
struct FlagSpec {
  std::string summary;                // "gftrain: trains a network."
  std::vector<std::string> usage;     // command lines
  std::vector<std::string> examples;  // command lines
  std::vector<FlagGroup> groups;      // the only flags that are taken, beside --help and --version
  std::string notes;                  // printed at the end

  // Flags that may stand without "=value" and then mean this: {"resume", "latest"}.
  std::vector<std::pair<std::string, std::string>> bare;
  // Flags that another command takes now, and the advice that ends with that command; the flag is
  // added: {"svg", "write the table with --csv=FILE, then run gfreport FILE"}.
  std::vector<std::pair<std::string, std::string>> moved;
  // An unknown flag that is a setting of the job ("epochs") is answered with its --set.
  bool hints_at_settings = false;
  // The values of --set, which may be given several times, go here.
  std::vector<std::string>* overrides = nullptr;
  std::string overridden = "the job";  // what --set changes
  // Words that are not flags go here; if null, they are mistakes.
  std::vector<std::string>* words = nullptr;
};

// The text of --help.
std::string HelpText(const FlagSpec& spec);

// Throws UserError if the flag's path is a folder, or its own folder is missing. For the rank that
// writes the file. An empty path is none.
void CheckOutputFile(const char* flag, const std::string& path);

// Reads "--name=value", "--name value" and, for booleans, "--name" and "--noname" into gflags.
// Returns -1 to go on, or the exit code: 0 after --help and --version, 2 (and the help)
// without arguments. Throws UserError for an unknown flag (with the nearest known one), a moved
// flag, a missing or a wrong value, or a word that is no flag.
int ParseFlags(int argc, char** argv, const FlagSpec& spec);

// The flags of the spec that the command line gave, and their values.
std::vector<std::pair<std::string, std::string>> GivenFlags(const FlagSpec& spec);

}  // namespace gf
