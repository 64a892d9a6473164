#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"
#include "tools/flags.h"

namespace gf {

// A command line whose flags have been read.
struct Arguments {
  int argc = 0;
  char** argv = nullptr;               // for MPI
  std::vector<std::string> words;      // neither the command's name nor flags
  std::vector<std::string> overrides;  // of commands with --set
  FlagSpec spec;                       // of the command
  std::exception_ptr mistake;  // of the flags; null unless the command tells mistakes itself
  // The exit code after --help or --version, which other ranks may not have been given; -1 after
  // neither. Commands that do not tell mistakes do not run then.
  int answered = -1;
};

// One thing that a program of several does, run as `PROGRAM NAME --flags`. A new one is a new file:
// a subclass and its GF_REGISTER(CommandRegistry, "NAME", ...) line, and the flags that are its
// own.
class Command {
 public:
  virtual ~Command() = default;
  // Its flags and its --help; the summary is one line, "converts a data set". `overrides` and
  // `words` stay null.
  virtual FlagSpec Spec() const = 0;
  // Whether it takes words that are not flags.
  virtual bool takes_words() const { return false; }
  // Whether it runs on ranks, which all make the same mistake and tell it once.
  virtual bool tells_mistakes() const { return false; }
  // Returns the exit code; throws UserError.
  virtual int Run(const Arguments& arguments) = 0;
};

using CommandRegistry = Registry<Command>;

struct Program {
  std::string name, summary;
  // The command that runs if none is named; empty = none does.
  std::string default_command;
  // Printed at the end of --help, the program's and the commands'.
  std::string notes;
};

// The main function of a program of commands: runs the one that the command line names. --help
// lists all of them, NAME --help says more about one. Returns the exit code; throws UserError.
int RunCommand(int argc, char** argv, const Program& program);

}  // namespace gf
