#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/registry.h"

namespace gf {

// One thing that gfdata does, run as `gfdata NAME --flags`. A new one is a new file: a subclass
// and its GF_REGISTER_COMMAND line. Flags that are its own are defined in that file; those of
// common_flags.h are shared.
class Command {
 public:
  virtual ~Command() = default;
  // Lines for --help, the command line first.
  virtual const char* Usage() const = 0;
  // `arguments` are what is neither NAME nor a flag. Returns the exit code; throws UserError.
  virtual int Run(const std::vector<std::string>& arguments) = 0;
};

using CommandRegistry = Registry<Command>;

}  // namespace gf
