#include "core/telemetry/json_lines.h"

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace gf {

JsonLines::JsonLines(const std::string& path) {
  if (path.empty()) return;
  file_ = std::make_unique<OutputFile>(path, OutputFile::Mode::kAppend);
}

void JsonLines::Write(const nlohmann::ordered_json& record) {
  if (!file_) return;
  try {
    file_->Write(record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 "\n");
    file_->Flush();
  } catch (const UserError& error) {
    PrintRemark(StrCat(error.what(), "; no more JSON lines from here"));
    file_.reset();
  }
}

}  // namespace gf
