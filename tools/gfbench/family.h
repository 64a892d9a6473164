#pragma once

#include <memory>

#include "core/registry.h"

namespace gf {

// One kind of benchmark, run as `gfbench NAME --flags`. A new one is a new file: a subclass and
// its GF_REGISTER_FAMILY line. Flags that are its own are defined in that file; those of
// common_flags.h are shared.
class Family {
 public:
  virtual ~Family() = default;
  // `argv` is the command line without NAME. Returns the exit code; throws UserError.
  virtual int Run(int argc, char** argv) = 0;
};

using FamilyRegistry = Registry<Family>;

}  // namespace gf
