// forge_state FILE KEY VALUE: puts VALUE (JSON) into a checkpoint's state.json and signs it anew,
// as an attacker would.
#include <xxhash.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "core/file.h"
#include "core/file_digest.h"
#include "core/output_file.h"

namespace gf {
namespace {

using nlohmann::ordered_json;

int Main(int argc, char** argv) {
  if (argc != 4) ThrowUserError("expected FILE KEY VALUE");
  ordered_json root = ordered_json::parse(ReadSmallFile(argv[1], 1 << 22));
  root.erase("xxh3");
  root[argv[2]] = ordered_json::parse(argv[3]);
  const std::string text = root.dump(1);
  root["xxh3"] = HashName(XXH3_64bits(text.data(), text.size()));
  ReplaceFile(argv[1], root.dump(1) + "\n");
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::RunMain(gf::Main, argc, argv); }
