#include "core/config/text_proto.h"

#include <google/protobuf/io/tokenizer.h>

#include <cctype>
#include <cstdio>
#include <string_view>

#include "core/config/config.h"
#include "core/config/text_proto_advice.h"
#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

constexpr int64_t kLargestFile = int64_t{64} << 20;  // bytes
// Our messages nest five deep.
constexpr int kDeepestNesting = 64;
// Some editors begin a file of UTF-8 with it.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!message_.empty()) return;
    line_ = line;
    column_ = column;
    message_ = message;
  }

  int line() const { return line_; }
  int column() const { return column_; }
  const std::string& message() const { return message_; }

 private:
  int line_ = 0, column_ = 0;
  std::string message_;
};

void CheckIsText(const std::string& text, const std::string& file) {
  bool blank = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && !std::isspace(c)) || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof(code), "0x%02x", c);
      ThrowUserError(file, ": not a text file (byte ", code, " at offset ", i,
                     "): a prototxt file is expected");
    }
    blank = blank && std::isspace(c);
  }
  if (blank) ThrowUserError(file, ": the file is empty");
}

// Of the bytes of a file.
std::string CheckedText(std::string text, const std::string& file) {
  if (text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0) {
    text.erase(0, kByteOrderMark.size());
  }
  CheckIsText(text, file);
  return text;
}

void CheckIsNamed(const std::string& file) {
  if (file.empty()) ThrowUserError("the name of a prototxt file is empty");
}

}  // namespace

std::string ReadTextFile(const std::string& file) {
  CheckIsNamed(file);
  return CheckedText(ReadSmallFile(file, kLargestFile), file);
}

std::string ReadTextFileOrPipe(const std::string& file) {
  CheckIsNamed(file);
  return CheckedText(ReadFileOrPipe(file, kLargestFile), file);
}

void ParseTextProto(const std::string& text, const std::string& name,
                    google::protobuf::Message* message,
                    google::protobuf::TextFormat::ParseInfoTree* locations) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kDeepestNesting);
  if (locations != nullptr) parser.WriteLocationsTo(locations);
  if (parser.ParseFromString(text, message) && error.message().empty()) return;
  TextError where = {{error.line(), error.column()}, error.message()};
  Explain(text, message->GetDescriptor(), &where);
  ThrowUserError(name, ":", where.at.line + 1, ":", where.at.column + 1, ": ", where.message);
}

void ParseTextProto(const std::string& text, const std::string& name,
                    google::protobuf::Message* message) {
  ParseTextProto(text, name, message, nullptr);
}

void ReadTextProto(const std::string& file, google::protobuf::Message* message) {
  ParseTextProto(ReadTextFile(file), file, message);
}

}  // namespace gf
