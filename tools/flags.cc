#include "tools/flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "core/config/meant_setting.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "core/folder.h"
#include "tools/caffe_flags.h"
#include "tools/version.h"

// --help says before it what is overridden.
DEFINE_string(set, "", "by `PATH=VALUE`; may be repeated");

namespace gf {
namespace {

using gflags::CommandLineFlagInfo;

// Columns of --help: where descriptions begin, and where lines end.
constexpr size_t kDescription = 26, kWidth = 98;

std::vector<std::string> NamesOf(const FlagSpec& spec) {
  std::vector<std::string> names = {"help", "version"};
  for (const FlagGroup& group : spec.groups) {
    names.insert(names.end(), group.names.begin(), group.names.end());
  }
  return names;
}

bool IsBool(const std::string& name) {
  CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type == "bool";
}

// The description without its back quotes.
std::string Description(const CommandLineFlagInfo& info) {
  std::string text = info.description;
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return text;
}

// What stands for the flag's value: the description's word in back quotes, or its type's.
std::string ValueName(const CommandLineFlagInfo& info) {
  const size_t begin = info.description.find('`'), end = info.description.find('`', begin + 1);
  if (end != std::string::npos) return info.description.substr(begin + 1, end - begin - 1);
  return info.type == "string" ? "TEXT" : info.type == "double" ? "X" : "N";
}

const std::string* BareValue(const FlagSpec& spec, const std::string& name) {
  for (const auto& entry : spec.bare) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

// "--name=FILE"
std::string Form(const FlagSpec& spec, const CommandLineFlagInfo& info) {
  if (info.type == "bool") {
    return (info.default_value == "true" ? "--[no]" : "--") + info.name;
  }
  if (info.name == "set") return "--set " + ValueName(info);
  const std::string value = "=" + ValueName(info);
  return "--" + info.name + (BareValue(spec, info.name) != nullptr ? "[" + value + "]" : value);
}

// The words of `text` on lines that begin in the column `from`; the cursor is in that column.
std::string Wrap(const std::string& text, size_t from) {
  std::string lines, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && from + line.size() + 1 + word.size() > kWidth) {
      lines += line + "\n" + std::string(from, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line + "\n";
}

std::string FlagHelp(const FlagSpec& spec, const std::string& name) {
  const CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  std::string line = "  " + Form(spec, info);
  line += line.size() + 2 > kDescription ? "\n" + std::string(kDescription, ' ')
                                         : std::string(kDescription - line.size(), ' ');
  // gflags prints all 17 digits of a double.
  const std::string value =
      info.type == "double" ? StrCat(std::stod(info.default_value)) : info.default_value;
  const bool no_default = value.empty() || value == "0" || value == "false";
  const std::string overridden =
      name == "set" ? "override a field of " + spec.overridden + " " : std::string();
  return line +
         Wrap(overridden + Description(info) + (no_default ? "" : " (default: " + value + ")"),
              kDescription);
}

// Lines that are too long continue below their first word.
std::string Notes(const std::string& notes) {
  std::string text;
  std::istringstream lines(notes);
  for (std::string line; std::getline(lines, line);) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    text += line.size() <= kWidth ? line + "\n" : line.substr(0, indent) + Wrap(line, indent);
  }
  return text;
}

void Set(const std::string& name, const std::string& value) {
  if (value.empty()) {
    ThrowUserError("--", name, "= has no value: give one, or leave the flag out");
  }
  if (!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) return;
  const CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
  ThrowUserError("--", name, ": \"", value, "\" is not a value of type ", info.type, " (",
                 Description(info), ")");
}

// One word of the command line that is a flag.
struct Word {
  std::string name, value;
  bool has_value = false;
};

Word Split(const std::string& text) {
  const size_t start = text[1] == '-' ? 2 : 1, equals = text.find('=');
  Word word;
  word.name = text.substr(start, equals == text.npos ? text.npos : equals - start);
  std::replace(word.name.begin(), word.name.end(), '-', '_');
  word.has_value = equals != std::string::npos;
  if (word.has_value) word.value = text.substr(equals + 1);
  return word;
}

// `text`: the word of the command line, in which the flag is called `name`.
[[noreturn]] void RefuseUnknown(const std::string& text, const std::string& name,
                                const std::vector<std::string>& names, const FlagSpec& spec) {
  const std::string nearest = Nearest(name, names);
  const std::string setting = spec.hints_at_settings ? MeantSetting(name) : "";
  if (!setting.empty()) {
    ThrowUserError("unknown flag --", name, "; did you mean --set ", setting, "=VALUE?");
  }
  if (const std::string hint = CaffeHint(name); !hint.empty()) {
    ThrowUserError("unknown flag --", name, ": ", hint);
  }
  const bool file = spec.words != nullptr && (nearest.empty() || Exists(text));
  ThrowUserError("unknown flag --", name,
                 nearest.empty() ? " (see --help)" : "; did you mean --" + nearest + "?",
                 file ? "; a file of that name is written ./" + text : "");
}

}  // namespace

std::string HelpText(const FlagSpec& spec) {
  std::string text = spec.summary + "\n";
  const auto lines = [&](const char* title, const std::vector<std::string>& all) {
    if (all.empty()) return;
    text += StrCat("\n", title, ":\n");
    for (const std::string& line : all) text += "  " + line + "\n";
  };
  lines("Usage", spec.usage);
  lines("Examples", spec.examples);
  for (const FlagGroup& group : spec.groups) {
    text += "\n" + group.title + ":\n";
    for (const std::string& name : group.names) text += FlagHelp(spec, name);
  }
  text += "\n  --help, --version\n";
  return spec.notes.empty() ? text : text + "\n" + Notes(spec.notes);
}

void CheckOutputFile(const char* flag, const std::string& path) {
  if (path.empty()) return;
  if (IsFolder(path)) ThrowUserError("--", flag, "=", path, ": this is a folder: name a file");
  const std::string folder = ParentFolder(path);
  if (IsFolder(folder)) return;
  ThrowUserError("--", flag, "=", path, ": ", folder,
                 " is not a folder: create it, or name a file elsewhere");
}

int ParseFlags(int argc, char** argv, const FlagSpec& spec) {
  if (argc <= 1) {
    std::fputs(HelpText(spec).c_str(), stderr);
    return 2;
  }
  const std::vector<std::string> names = NamesOf(spec);
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.size() < 2 || text[0] != '-') {
      if (spec.words == nullptr) {
        if (const std::string hint = CaffeHint(text); !hint.empty()) {
          ThrowUserError("\"", text, "\" is not a flag: ", hint);
        }
        ThrowUserError("\"", text, "\" is not a flag; flags look like --name=value (see --help)");
      }
      spec.words->push_back(text);
      continue;
    }
    Word word = Split(text);
    if (word.name == "h") word.name = "help";
    for (const auto& [name, command] : spec.moved) {
      if (word.name != name) continue;
      ThrowUserError(text, " is not a flag of this program: ", command, " ", text);
    }
    if (!known(word.name)) {
      const std::string negated = word.name.compare(0, 2, "no") == 0 ? word.name.substr(2) : "";
      if (word.has_value || !known(negated) || !IsBool(negated))
        RefuseUnknown(text, word.name, names, spec);
      Set(negated, "false");
      continue;
    }
    if (word.name == "help") {
      std::fputs(HelpText(spec).c_str(), stdout);
      return 0;
    }
    if (word.name == "version") {
      std::printf("%s\n", Version().c_str());
      return 0;
    }
    if (!word.has_value) {
      const std::string* const bare = BareValue(spec, word.name);
      if (IsBool(word.name)) {
        word.value = "true";
      } else if (bare != nullptr) {
        word.value = *bare;
      } else if (i + 1 < argc && std::string(argv[i + 1]).compare(0, 2, "--") != 0) {
        word.value = argv[++i];
      } else {
        ThrowUserError("--", word.name, " needs a value: --", word.name, "=...");
      }
    }
    if (word.name == "set") {
      spec.overrides->push_back(word.value);
    } else {
      Set(word.name, word.value);
    }
  }
  return -1;
}

std::vector<std::pair<std::string, std::string>> GivenFlags(const FlagSpec& spec) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const FlagGroup& group : spec.groups) {
    for (const std::string& name : group.names) {
      google::CommandLineFlagInfo info;
      if (!google::GetCommandLineFlagInfo(name.c_str(), &info) || info.is_default) continue;
      given.emplace_back("--" + name, info.current_value);
    }
  }
  return given;
}

}  // namespace gf
