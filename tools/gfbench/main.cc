// gfbench: how long things take; each kind of benchmark is a file of its own.

#include "core/error.h"
#include "tools/command.h"

namespace gf {
namespace {

int Main(int argc, char** argv) {
  Program program;
  program.name = "gfbench";
  program.summary = "measures how long things take.";
  program.default_command = "step";
  return RunCommand(argc, argv, program);
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(&gf::Main, argc, argv); }
