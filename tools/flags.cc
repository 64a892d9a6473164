#include "tools/flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>

#include "core/config/nearest.h"
#include "core/error.h"
#include "tools/version.h"

namespace gf {
namespace {

using gflags::CommandLineFlagInfo;

std::vector<std::string> NamesOf(const FlagSpec& spec) {
  std::vector<CommandLineFlagInfo> all;
  gflags::GetAllFlags(&all);
  std::vector<std::string> names = {"help", "version"};
  if (!spec.repeated.empty()) names.push_back(spec.repeated);
  for (const CommandLineFlagInfo& flag : all) {
    const auto& more = spec.more_files;
    if (flag.filename == spec.file ||
        std::find(more.begin(), more.end(), flag.filename) != more.end()) {
      names.push_back(flag.name);
    }
  }
  return names;
}

bool IsBool(const std::string& name) {
  CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type == "bool";
}

void Set(const std::string& name, const std::string& value) {
  if (!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return;
  const CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  ThrowUserError("--", name, ": \"", value, "\" is not a value of type ", info.type, " (",
                 info.description, ")");
}

}  // namespace

int ParseFlags(int argc, char** argv, const FlagSpec& spec) {
  if (argc <= 1) {
    std::fputs(spec.usage, stderr);
    return 2;
  }
  const std::vector<std::string> names = NamesOf(spec);
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() < 2 || word[0] != '-') {
      ThrowUserError("\"", word, "\" is not a flag; flags look like --name=value (see --help)");
    }
    const size_t start = word[1] == '-' ? 2 : 1, equals = word.find('=');
    std::string name = word.substr(start, equals == word.npos ? word.npos : equals - start);
    const bool has_value = equals != std::string::npos;
    std::string value = has_value ? word.substr(equals + 1) : "";
    if (!known(name)) {
      const bool negated = name.compare(0, 2, "no") == 0 && known(name.substr(2)) &&
                           IsBool(name.substr(2)) && !has_value;
      if (!negated) {
        std::string what = StrCat("unknown flag --", name);
        std::vector<std::string> candidates = names;
        const std::string nearest = Nearest(name, candidates);
        what += nearest.empty() ? " (see --help)" : StrCat("; did you mean --", nearest, "?");
        throw UserError(what);
      }
      Set(name.substr(2), "false");
      continue;
    }
    if (name == "help") {
      std::fputs(spec.usage, stdout);
      return 0;
    }
    if (name == "version") {
      std::printf("%s\n", Version().c_str());
      return 0;
    }
    if (!has_value) {
      const auto bare = std::find_if(spec.bare.begin(), spec.bare.end(),
                                     [&](const auto& entry) { return entry.first == name; });
      if (IsBool(name)) {
        value = "true";
      } else if (bare != spec.bare.end()) {
        value = bare->second;
      } else if (i + 1 < argc && std::string(argv[i + 1]).compare(0, 2, "--") != 0) {
        value = argv[++i];
      } else {
        ThrowUserError("--", name, " needs a value: --", name, "=...");
      }
    }
    if (name == spec.repeated) {
      spec.values->push_back(value);
    } else {
      Set(name, value);
    }
  }
  return -1;
}

}  // namespace gf
