#include "solvers/checkpoint/class_names.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/folder.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/checkpoint/checkpoint_folder.h"

namespace gf {
namespace {

using nlohmann::json;

// Of the names in state.json, which has further members.
constexpr size_t kMaxBytes = size_t{1} << 20;

std::vector<std::string> ReadNames(const JobConfig& config, const std::string& path) {
  try {
    std::string folder = path;
    if (folder.empty() && !config.checkpoint().dir().empty()) {
      folder = LatestValidCheckpoint(config.checkpoint().dir(), [](const std::string&) {});
    }
    if (!folder.empty() && IsFolder(folder)) return VerifyCheckpoint(folder).class_names;
  } catch (const UserError&) {
    // Whoever reads the weights says what is wrong.
  }
  return {};
}

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

std::vector<std::string> CheckpointClassNames(const JobConfig& config, const std::string& path,
                                              Communicator* comm) {
  std::string text;
  if (comm->rank() == 0) text = json(ReadNames(config, path)).dump();
  comm->Broadcast(&text, 0, "names of the checkpoint's classes");
  return json::parse(text).get<std::vector<std::string>>();
}

}  // namespace gf
