#include "tools/command.h"

#include <cstdio>

#include "core/error.h"
#include "tools/caffe_flags.h"

namespace gf {
namespace {

std::unique_ptr<Command> NewCommand(const std::string& name) {
  if (!CommandRegistry::Get().Has(name)) {
    if (const std::string hint = CaffeHint(name); !hint.empty()) {
      ThrowUserError("unknown command \"", name, "\": ", hint);
    }
  }
  return CommandRegistry::Get().Create("command", name);
}

// What --help says about the whole program.
std::string Overview(const Program& program) {
  std::string usage, examples, summaries;
  for (const std::string& name : CommandRegistry::Get().Keys()) {
    const FlagSpec spec = NewCommand(name)->Spec();
    for (const std::string& line : spec.usage) usage += "  " + line + "\n";
    if (!spec.examples.empty()) examples += "  " + spec.examples[0] + "\n";
    const size_t blanks = name.size() < 12 ? 12 - name.size() : 1;
    summaries += "  " + name + std::string(blanks, ' ') + spec.summary + "\n";
  }
  return StrCat(program.name, ": ", program.summary, "\n\nUsage:\n", usage, "\nExamples:\n",
                examples, "\nCommands:\n", summaries, "\n", program.name,
                " COMMAND --help shows a command's flags",
                program.default_command.empty()
                    ? "."
                    : StrCat("; without a command, ", program.default_command, " runs."),
                "\n", program.notes.empty() ? "" : "\n" + program.notes);
}

}  // namespace

int RunCommand(int argc, char** argv, const Program& program) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty() || first == "help" || first == "--help" || first == "-h") {
    std::fputs(Overview(program).c_str(), argc > 1 ? stdout : stderr);
    return argc > 1 ? 0 : 2;
  }
  std::vector<char*> words(argv, argv + argc);
  std::string name = program.default_command;
  if (first[0] != '-') {
    name = first;
    words.erase(words.begin() + 1);
  } else if (name.empty() && first != "--version") {
    ThrowUserError("the command is missing: ", program.name, " COMMAND --flags (see ", program.name,
                   " --help)");
  }
  if (name.empty()) return ParseFlags(argc, argv, FlagSpec());
  const std::unique_ptr<Command> command = NewCommand(name);
  FlagSpec spec = command->Spec();
  spec.summary = program.name + " " + name + ": " + spec.summary;
  if (!program.notes.empty()) spec.notes += (spec.notes.empty() ? "" : "\n") + program.notes;
  Arguments arguments;
  arguments.argc = static_cast<int>(words.size());
  arguments.argv = words.data();
  if (command->takes_words()) spec.words = &arguments.words;
  spec.overrides = &arguments.overrides;
  try {
    arguments.answered = ParseFlags(arguments.argc, arguments.argv, spec);
  } catch (const UserError&) {
    if (!command->tells_mistakes()) throw;
    arguments.mistake = std::current_exception();
  }
  arguments.spec = spec;
  if (arguments.answered >= 0 && !command->tells_mistakes()) return arguments.answered;
  return command->Run(arguments);
}

}  // namespace gf
