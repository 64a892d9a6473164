#include "tools/gfbench/links.h"

#include <gflags/gflags.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include "comm/launch/launch.h"
#include "core/error.h"
#include "core/folder.h"
#include "tools/gfbench/common_flags.h"

DEFINE_string(links, "",
              "run once per link of these `LINKS`, \"RATE LATENCY\" separated by \";\", such as "
              "\"1gbit 100us; 200mbit 0\", on hosts that on_links makes; needs root and no mpirun");
DEFINE_int32(hosts, 4, "with --links: hosts, a rank on each");

namespace gf {
namespace {

struct Link {
  std::string rate, latency;  // as on_links takes them

  std::string name() const { return rate + " " + latency; }
};

Link ParseLink(const std::string& text, int number) {
  static const std::regex rate("[1-9][0-9]*(\\.[0-9]+)?(k|m|g)bit");
  static const std::regex latency("0|[0-9]+(\\.[0-9]+)?(us|ms|s)");
  constexpr char kExpected[] = "expected RATE LATENCY, such as 200mbit 1ms";
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  if (words.empty()) ThrowUserError("--links: link ", number, " is empty, ", kExpected);
  if (words.size() != 2)
    ThrowUserError("--links: link ", number, " is \"", text, "\", ", kExpected);
  const auto check = [&](const char* what, const std::string& word, const std::regex& form,
                         const char* expected) {
    if (std::regex_match(word, form)) return;
    ThrowUserError("--links: ", what, " of link ", number, " is ", word, ", expected ", expected);
  };
  check("RATE", words[0], rate, "for example 200mbit or 1gbit");
  check("LATENCY", words[1], latency, "0 or for example 100us");
  return {words[0], words[1]};
}

std::vector<Link> LinksOfFlags() {
  std::vector<Link> links;
  std::istringstream in(FLAGS_links);
  for (std::string entry; std::getline(in, entry, ';');) {
    links.push_back(ParseLink(entry, static_cast<int>(links.size()) + 1));
  }
  return links;
}

std::string ThisProgram() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0) ThrowUserError("--links: cannot read /proc/self/exe, where this program is");
  return std::string(path, size);
}

// Beside the program, or where tools/package or Bazel put it.
std::string FindOnLinks(const std::string& program) {
  const std::string folder = ParentFolder(program);
  const std::vector<std::string> places = {
      folder + "/on_links", ParentFolder(folder) + "/tools/on_links",
      program + ".runfiles/gradientflow/tools/gfbench/on_links"};
  for (const std::string& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  ThrowUserError("--links: the script on_links is missing: neither ", places[0], " nor ", places[1],
                 " nor ", places[2],
                 " can be run; copy tools/gfbench/on_links to the first of them");
}

// The signals that end this program. Its child gets SIGTERM then, and its end is awaited, since it
// tidies up.
constexpr int kEndSignals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
volatile std::sig_atomic_t end_signal = 0, child_process = 0;

void PassOn(int signal) {
  end_signal = signal;
  if (child_process > 0) kill(child_process, SIGTERM);
}

// Runs a program and returns its exit code, or 128 + the signal that ended it or this program.
int RunProgram(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent) execv(argv[0], argv.data());
    _exit(127);
  }
  child_process = child;
  struct sigaction before[std::size(kEndSignals)] = {}, action = {};
  action.sa_handler = PassOn;
  for (size_t i = 0; i < std::size(kEndSignals); ++i) {
    sigaction(kEndSignals[i], &action, &before[i]);
  }
  int status = 0;
  pid_t ended = -1;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  child_process = 0;
  for (size_t i = 0; i < std::size(kEndSignals); ++i) {
    sigaction(kEndSignals[i], &before[i], nullptr);
  }
  if (ended != child) ThrowUserError("--links: cannot start a process for ", words[0]);
  if (end_signal != 0) return 128 + end_signal;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// A file for the figures of one link.
class FiguresFile {
 public:
  FiguresFile() {
    const char* const folder = std::getenv("TMPDIR");
    path_ = StrCat(folder != nullptr ? folder : "/tmp", "/gfbench_links_XXXXXX");
    const int file = mkstemp(path_.data());
    if (file < 0) ThrowUserError("--json: cannot create the temporary file ", path_);
    close(file);
  }
  ~FiguresFile() { RemoveQuietly(path_); }
  FiguresFile(const FiguresFile&) = delete;
  FiguresFile& operator=(const FiguresFile&) = delete;

  const std::string& path() const { return path_; }
  nlohmann::ordered_json Read() const {
    std::ifstream file(path_);
    auto figures = nlohmann::ordered_json::parse(file, nullptr, false);
    if (!figures.is_object()) ThrowUserError("--json: the ranks have written no figures");
    return figures;
  }

 private:
  std::string path_;
};

// The words after HOSTS RATE LATENCY.
std::vector<std::string> InnerCommand(const std::string& program, const std::string& command,
                                      const FlagSpec& spec) {
  std::vector<std::string> words = {program, command};
  for (const auto& [flag, value] : GivenFlags(spec)) {
    if (flag == "--links" || flag == "--hosts" || flag == "--json") continue;
    words.push_back(StrCat(flag, "=", value));
  }
  return words;
}

}  // namespace

void CheckLinkFlags() {
  if (FLAGS_links.empty()) {
    if (!gflags::GetCommandLineFlagInfoOrDie("hosts").is_default) {
      ThrowUserError("--hosts goes with --links");
    }
    return;
  }
  LinksOfFlags();
  if (FLAGS_hosts < 2 || FLAGS_hosts > 250) {
    ThrowUserError("--hosts is ", FLAGS_hosts, ", must be 2 to 250");
  }
  if (IsRankOfJob()) ThrowUserError("--links starts the ranks itself: leave out mpirun");
}

bool StartsOnLinks() { return !FLAGS_links.empty() && !IsRankOfJob(); }

int RunOnLinks(const std::string& command, const FlagSpec& spec) {
  CheckJsonFile();
  const std::string program = ThisProgram(), on_links = FindOnLinks(program);
  // In a package, mpirun is beside the program.
  const char* const path = std::getenv("PATH");
  setenv("PATH", StrCat(ParentFolder(program), ":", path != nullptr ? path : "").c_str(), 1);
  std::vector<std::string> inner = InnerCommand(program, command, spec);
  std::optional<FiguresFile> file;
  if (!FLAGS_json.empty()) inner.push_back("--json=" + file.emplace().path());
  auto figures = nlohmann::ordered_json::array();
  int code = 0;
  for (const Link& link : LinksOfFlags()) {
    std::printf("%slink %s, %d hosts\n", figures.empty() ? "" : "\n", link.name().c_str(),
                FLAGS_hosts);
    std::fflush(stdout);
    std::vector<std::string> words = {on_links, StrCat(FLAGS_hosts), link.rate, link.latency};
    words.insert(words.end(), inner.begin(), inner.end());
    code = RunProgram(words);
    if (code != 0) {
      PrintError("error", StrCat("--links: the run with \"", link.name(),
                                 "\" ended with exit code ", code, "; its messages are above"));
      break;
    }
    nlohmann::ordered_json run = {{"link", link.name()}};
    if (file) run.update(file->Read());
    figures.push_back(std::move(run));
  }
  if (!figures.empty()) WriteJson({{"hosts", FLAGS_hosts}, {"links", std::move(figures)}});
  return code;
}

}  // namespace gf
