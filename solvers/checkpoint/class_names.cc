#include "solvers/checkpoint/class_names.h"

#include <nlohmann/json.hpp>

#include "comm/agree.h"
#include "core/error.h"
#include "core/folder.h"
#include "solvers/checkpoint/checkpoint.h"

namespace gf {
namespace {

using nlohmann::json;

// Of the names in state.json, which has further members.
constexpr size_t kMaxBytes = size_t{1} << 20;

}  // namespace

std::vector<std::string> StorableClassNames(const std::vector<std::string>& names,
                                            const std::function<void(const std::string&)>& note) {
  std::string why;
  try {
    if (json(names).dump(1).size() > kMaxBytes)
      why = StrCat("take more than ", kMaxBytes, " bytes");
  } catch (const json::type_error&) {
    why = "are not all UTF-8";
  }
  if (why.empty()) return names;
  note("the names of the classes " + why +
       ": checkpoints do not hold them, and gfeval will compare the numbers of classes");
  return {};
}

std::vector<std::string> CheckpointClassNames(const std::string& source, Communicator* comm) {
  std::string text;
  RunOnRankZero(comm, "reading the names of the classes", [&] {
    text =
        json(IsFolder(source) ? ReadState(source).class_names : std::vector<std::string>()).dump();
  });
  comm->Broadcast(&text, 0, "names of the checkpoint's classes");
  return json::parse(text).get<std::vector<std::string>>();
}

}  // namespace gf
