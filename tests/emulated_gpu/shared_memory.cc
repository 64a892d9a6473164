#include "tests/emulated_gpu/shared_memory.h"

#include <elf.h>
#include <glog/logging.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#ifdef GF_THREAD_SANITIZER
// Of tsan_interface_java.h, which compilers do not bring along: a range of addresses in which
// allocations are announced by calls.
extern "C" {
void __tsan_java_init(uintptr_t begin, uintptr_t bytes);
void __tsan_java_alloc(uintptr_t address, uintptr_t bytes);
}

namespace gf::emulated {
namespace {

struct Range {
  uintptr_t begin, end;  // multiples of kCell
};
constexpr uintptr_t kCell = 8;  // bytes that ThreadSanitizer keeps an account of

uintptr_t LoadAddress() {
  uintptr_t address = 0;
  // The program comes first.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uintptr_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &address);
  return address;
}

std::string ReadProgram() {
  std::ifstream file("/proc/self/exe", std::ios::binary | std::ios::ate);
  std::string program(file.tellg(), '\0');
  file.seekg(0);
  CHECK(file.read(program.data(), static_cast<std::streamsize>(program.size())));
  return program;
}

// The variables of this program with the tag, from its table of symbols.
std::vector<Range> FindSharedMemory() {
  const std::string program = ReadProgram();
  const auto at = [&](uint64_t offset) { return program.data() + offset; };
  Elf64_Ehdr header;
  std::memcpy(&header, at(0), sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), at(header.e_shoff), sections.size() * sizeof(Elf64_Shdr));
  std::vector<Range> ranges;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const char* const names = at(sections[section.sh_link].sh_offset);
    for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, at(section.sh_offset + i * sizeof(symbol)), sizeof(symbol));
      if (std::strstr(names + symbol.st_name, "B9gf_shared") == nullptr) continue;
      const uintptr_t begin = LoadAddress() + symbol.st_value, end = begin + symbol.st_size;
      ranges.push_back({begin / kCell * kCell, (end + kCell - 1) / kCell * kCell});
    }
  }
  CHECK(!ranges.empty()) << "no shared memory among the program's symbols: is it stripped?";
  return ranges;
}

std::vector<Range> Announced() {
  const std::vector<Range> ranges = FindSharedMemory();
  uintptr_t begin = ranges[0].begin, end = ranges[0].end;
  for (const Range& range : ranges) {
    begin = std::min(begin, range.begin);
    end = std::max(end, range.end);
  }
  __tsan_java_init(begin, end - begin);
  return ranges;
}

}  // namespace

void ForgetSharedMemory() {
  static const auto* const ranges = new std::vector<Range>(Announced());
  for (const Range& range : *ranges) __tsan_java_alloc(range.begin, range.end - range.begin);
}

}  // namespace gf::emulated

#else

namespace gf::emulated {

void ForgetSharedMemory() {}

}  // namespace gf::emulated

#endif
