#include "core/error.h"

#include <cstdio>
#include <exception>

namespace gf {

int RunMain(int (*body)(int, char**), int argc, char** argv) {
  const std::string program = argc > 0 ? argv[0] : "gradientflow";
  const std::string name = program.substr(program.rfind('/') + 1);
  const auto report = [&](const char* kind, const char* message) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s: %s\n", name.c_str(), kind, message);
  };
  try {
    return body(argc, argv);
  } catch (const UserError& e) {
    report("error", e.what());
    return 2;
  } catch (const CommError& e) {
    report("communication error", e.what());
    return 3;
  } catch (const std::bad_alloc&) {
    report("error", "out of memory: lower batch_size, or run fewer ranks on this host");
    return 2;
  } catch (const std::exception& e) {
    report("internal error", e.what());
    return 1;
  }
}

}  // namespace gf
