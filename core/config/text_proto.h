#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>

namespace gf {

// The contents of a text file. Throws UserError if it is missing, unreadable, not a regular file,
// empty, larger than 64 MiB or not text.
std::string ReadTextFile(const std::string& file);
// The same; also takes pipes, and waits for them.
std::string ReadTextFileOrPipe(const std::string& file);

// ParseTextProto that also remembers where each field stood, if `locations` is not null.
void ParseTextProto(const std::string& text, const std::string& name,
                    google::protobuf::Message* message,
                    google::protobuf::TextFormat::ParseInfoTree* locations);

}  // namespace gf
