#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "core/config/text_position.h"

namespace gf {

// An error of the text parser.
struct TextError {
  TextPosition at;
  std::string message;
};

// Replaces the parser's message by one that says what to do, and moves the position to the
// word that is wrong. `root` is the type of the whole text.
void Explain(const std::string& text, const google::protobuf::Descriptor* root, TextError* error);

}  // namespace gf
