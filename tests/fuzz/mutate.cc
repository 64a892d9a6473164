// Feeds a target with mutations of a corpus, the same ones in every run: where libFuzzer is absent,
// and as a plain test.
//
// Usage: TARGET_test CORPUS_FOLDER. Makes mutations for $GF_FUZZ_SECONDS, or $GF_FUZZ_RUNS of them,
// from number $GF_FUZZ_FIRST (0) on; without either a fixed number. $GF_FUZZ_FILE is the name of
// one file of the corpus: only that one is changed. After a crash the input lies in
// $TEST_TMPDIR/input (or /tmp/input).

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/fuzz/fuzz.h"

namespace gf {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMostBytes = 1 << 16;
constexpr int64_t kRuns = 4000;

struct Seed {
  std::string name;
  Bytes bytes;
  int64_t runs = 0;  // mutations of it
};

std::vector<Seed> ReadCorpus(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Seed> corpus = {{"nothing", {}}};
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.push_back({std::filesystem::path(path).filename().string(),
                      Bytes(std::istreambuf_iterator<char>(file), {})});
  }
  return corpus;
}

// Changes a few things.
void Mutate(const std::vector<Seed>& corpus, Random* random, Bytes* input) {
  static const uint8_t kTelling[] = {0, 1, 0x7f, 0x80, 0xff, '0', '9', ' ', '\n', '-'};
  const auto place = [&] { return input->empty() ? 0 : random->Below(input->size()); };
  for (uint64_t changes = 1 + random->Below(4); changes > 0; --changes) {
    const uint64_t at = place();
    const uint64_t length = std::min<uint64_t>(1 + random->Below(64), input->size() - at);
    switch (random->Below(8)) {
      case 0:
        if (!input->empty()) (*input)[at] ^= 1 << random->Below(8);
        break;
      case 1:
        if (!input->empty()) (*input)[at] = kTelling[random->Below(sizeof(kTelling))];
        break;
      case 2:
        if (!input->empty()) (*input)[at] = static_cast<uint8_t>(random->Next());
        break;
      case 3:
        input->erase(input->begin() + at, input->begin() + at + length);
        break;
      case 4: {
        const Bytes copy(input->begin() + at, input->begin() + at + length);
        input->insert(input->begin() + place(), copy.begin(), copy.end());
        break;
      }
      case 5:
        input->resize(at);
        break;
      case 6: {
        const Bytes& other = corpus[random->Below(corpus.size())].bytes;
        if (other.empty()) break;
        const uint64_t from = random->Below(other.size());
        input->insert(input->begin() + at, other.begin() + from, other.end());
        break;
      }
      case 7:
        for (uint64_t i = at; i < at + length; ++i) (*input)[i] = 0xff;
        break;
    }
    if (input->size() > kMostBytes) input->resize(kMostBytes);
  }
}

// Where the input of the moment lies, also for whoever comes after a crash.
class LastInput {
 public:
  LastInput() {
    const char* folder = std::getenv("TEST_TMPDIR");
    path_ = std::string(folder ? folder : "/tmp") + "/input";
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
  }
  ~LastInput() {
    close(descriptor_);
    std::filesystem::remove(path_);
  }
  void Set(const Bytes& input) {
    const bool done =
        ftruncate(descriptor_, 0) == 0 &&
        pwrite(descriptor_, input.data(), input.size(), 0) == static_cast<ssize_t>(input.size());
    if (!done) std::abort();
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

double Setting(const char* name) {
  const char* const text = std::getenv(name);
  return text ? std::atof(text) : 0;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const double seconds = Setting("GF_FUZZ_SECONDS");
  const auto asked = static_cast<int64_t>(Setting("GF_FUZZ_RUNS"));
  const auto first = static_cast<int64_t>(Setting("GF_FUZZ_FIRST"));
  std::vector<Seed> corpus = ReadCorpus(argv[1]);
  std::vector<Seed*> changed;
  const char* const only = std::getenv("GF_FUZZ_FILE");
  const std::string name = only ? only : "";
  for (Seed& seed : corpus) {
    if (name.empty() || seed.name == name) changed.push_back(&seed);
  }
  if (changed.empty()) {
    std::fprintf(stderr, "GF_FUZZ_FILE is %s, expected the name of a file in %s\n", only, argv[1]);
    return 2;
  }
  LastInput last;
  const auto run = [&](const Bytes& input) {
    last.Set(input);
    // On the heap in its exact size, so that sanitizers see a read beyond it.
    const Bytes exact(input);
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  };
  for (const Seed& seed : corpus) run(seed.bytes);
  const auto start = std::chrono::steady_clock::now();
  const auto goes_on = [&](int64_t i) {
    if (seconds <= 0) return i < (asked > 0 ? asked : kRuns);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return passed.count() < seconds;
  };
  int64_t runs = 0;
  for (; goes_on(runs); ++runs) {
    Random random(1, static_cast<uint64_t>(first + runs));
    Seed& seed = *changed[random.Below(changed.size())];
    Bytes input = seed.bytes;
    Mutate(corpus, &random, &input);
    run(input);
    ++seed.runs;
  }
  for (const Seed* seed : changed) {
    std::printf("%10lld of %s\n", static_cast<long long>(seed->runs), seed->name.c_str());
  }
  std::printf("%zu files, %lld mutations, no find\n", corpus.size() - 1,
              static_cast<long long>(runs));
  return 0;
}

}  // namespace
}  // namespace gf

int main(int argc, char** argv) { return gf::Main(argc, argv); }
