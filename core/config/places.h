#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <map>
#include <string>

namespace gf {

// Where each field of a message was written, by its path ("solver.step_value[1]"): in a text, or by
// --set. A message that was built in code has no places.
class Places {
 public:
  Places() = default;
  // `name`: of the text in messages. `locations`: what ParseTextProto noted for `message`.
  Places(const std::string& name, const google::protobuf::Message& message,
         const google::protobuf::TextFormat::ParseInfoTree& locations);

  // --set `assignment` has written the field at `path` (SetField's result).
  void NoteSet(const std::string& path, const std::string& assignment);

  bool IsSet(const std::string& path) const;

  // What stands before a message about the field: "name:line:col: " or "--set a.b=c: "; empty for a
  // field that holds its default.
  std::string Before(const std::string& path) const;
  // The same for a field that is missing or empty: its own place, the place of the block that
  // should hold it, or "name: ".
  std::string BeforeMissing(const std::string& path) const;

 private:
  void Add(const google::protobuf::Message& message,
           const google::protobuf::TextFormat::ParseInfoTree& locations, const std::string& path);

  std::string name_;
  std::map<std::string, std::string> by_path_;
};

// "outer.name", or "name" in a message that has no path.
std::string PathOf(const std::string& outer, const std::string& name);

}  // namespace gf
