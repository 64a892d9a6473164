#include "core/config/text_proto_advice.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/config/caffe_words.h"
#include "core/config/job.pb.h"
#include "core/config/meant_setting.h"
#include "core/config/nearest.h"
#include "core/config/net.pb.h"
#include "core/config/parser_words.h"
#include "core/config/solver.pb.h"
#include "core/config/text_position.h"
#include "core/config/v1_advice.h"
#include "core/error.h"

namespace gf {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The type of the message that is open at a position, null if it cannot be told.
const Descriptor* TypeAt(const TextContext& context, const Descriptor* type) {
  for (const TextContext::Block& block : context.open) {
    const FieldDescriptor* field = type->FindFieldByName(block.field);
    type = field == nullptr ? nullptr : field->message_type();
    if (type == nullptr) return nullptr;
  }
  return type;
}

std::vector<std::string> FieldNames(const Descriptor* type) {
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return names;
}

// "pooling_param { }, convolution_param { }": the sub-messages that have such a field.
std::string BlocksWith(const Descriptor* type, const std::string& name) {
  std::vector<std::string> blocks;
  for (int i = 0; i < type->field_count(); ++i) {
    const Descriptor* inner = type->field(i)->message_type();
    if (inner == V1LayerParameter::descriptor()) continue;  // new nets have `layer`
    if (inner != nullptr && inner->FindFieldByName(name) != nullptr) {
      blocks.push_back(type->field(i)->name() + " { }");
    }
  }
  return blocks.size() > 5 ? "" : Join(blocks);
}

bool IsUnsupportedCaffeLayer(const std::string& field) {
  static const std::set<std::string>* const kFields = new std::set<std::string>{
      "detection_output_param", "embed_param",     "hdf5_output_param", "mvn_param",
      "multibox_loss_param",    "norm_param",      "parameter_param",   "prior_box_param",
      "python_param",           "recurrent_param", "spp_param",         "threshold_param"};
  return kFields->count(field) != 0;
}

std::string UnknownField(const Descriptor* root, const Descriptor* type, const std::string& name) {
  const std::string what = StrCat(type->name(), " has no field \"", name, "\"");
  if (type == NetParameter::descriptor() &&
      JobConfig::descriptor()->FindFieldByName(name) != nullptr) {
    return what + ": this looks like a job config (--config), a network is expected";
  }
  if (type == SolverParameter::descriptor()) {
    if (NetParameter::descriptor()->FindFieldByName(name) != nullptr) {
      return what +
             ": this looks like a network, a Caffe solver is expected (which names it: net: "
             "\"FILE\")";
    }
    if (JobConfig::descriptor()->FindFieldByName(name) != nullptr) {
      return what + ": this looks like a job config, which --config takes";
    }
  }
  if (type == JobConfig::descriptor()) {
    const bool in_net = NetParameter::descriptor()->FindFieldByName(name) != nullptr;
    if (in_net && !IsCaffeSolverField(name)) {
      return what +
             ": this looks like a network, a job config is expected (which names the network: "
             "net: \"FILE\")";
    }
    if (IsCaffeSolverField(name)) {
      return what +
             ": this looks like a Caffe solver file, which gftrain --solver=FILE takes; a job "
             "config says solver { base_lr: 0.1 max_steps: 1000 } and train_data { source: "
             "\"...\" }, docs/coming_from_caffe.md lists all fields; " +
             CaffeFieldHere(name);
    }
  }
  if (type == SolverConfig::descriptor() || type == DataConfig::descriptor()) {
    if (const std::string here = CaffeFieldHere(name); !here.empty()) return what + ": " + here;
  }
  const bool in_layer =
      type == LayerParameter::descriptor() || type == V1LayerParameter::descriptor();
  if (in_layer && IsUnsupportedCaffeLayer(name)) {
    return what + ": this layer type is not supported";
  }
  if (const std::string advice = V1FieldAdvice(type, name); !advice.empty()) {
    return what + ": " + advice;
  }
  const std::string blocks = BlocksWith(type, name);
  if (!blocks.empty()) return what + "; did you mean it inside " + blocks + "?";
  const std::vector<std::string> known = FieldNames(type);
  const std::string meant = Nearest(name, known).empty() ? MeantField(type, name) : "";
  if (!meant.empty()) return StrCat(what, "; did you mean ", meant, "?");
  return what + Suggestion(name, known);
}

// The n-th text between double quotes.
std::string Quoted(const std::string& text, int n) {
  size_t begin = 0, end = std::string::npos;
  for (int i = 0; i <= n; ++i) {
    begin = text.find('"', end == std::string::npos ? 0 : end + 1);
    if (begin == std::string::npos) return "";
    end = text.find('"', begin + 1);
    if (end == std::string::npos) return "";
  }
  return text.substr(begin + 1, end - begin - 1);
}

// Explains why a value does not fit the field. `message` is the parser's; `got` is the value, or
// empty if the message does not contain it.
std::string WrongValue(const FieldDescriptor* field, const std::string& message,
                       const std::string& got) {
  const std::string& name = field->name();
  if (field->message_type() != nullptr) {
    return StrCat(name, ": a block is expected, ", name, " { ... }");
  }
  if (got == "}") return name + ": the value is missing";
  const std::string value = StrCat(name, ": ", got);
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL && !got.empty()) {
    return StrCat(value, " must be true or false", got[0] == '"' ? ", without quotes" : "");
  }
  if (StartsWith(message, "Integer out of range")) return value + " is out of range";
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      if (!got.empty()) return StrCat(value, " must be in quotes: ", name, ": \"", got, "\"");
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (!got.empty()) return value + " is not a number";
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      if (got == "-") return name + " is negative, must be at least 0";
      [[fallthrough]];
    default:
      if (!got.empty()) return value + " is not a whole number";
  }
  return StrCat(name, ": ", message);
}

// What follows the name of a field without a colon.
std::string WrongStart(const FieldDescriptor* field, const std::string& name,
                       const std::string& found) {
  if (field != nullptr && field->message_type() != nullptr) return WrongValue(field, "", "");
  if (found == "{") return name + " takes a value, not a block";
  return "a colon is missing after " + name;
}

// The value that the parser's message quotes in its own way, or "".
std::string ValueIn(const std::string& message) {
  const size_t got = message.find(", got: ");
  if (got != std::string::npos) return message.substr(got + 7);
  if (StartsWith(message, "Invalid value for boolean")) return Quoted(message, 1);
  if (StartsWith(message, "Integer out of range")) {
    const size_t begin = message.find('(') + 1;
    return message.substr(begin, message.find(')') - begin);
  }
  return "";
}

std::string WrongEnumValue(const FieldDescriptor* field, std::string value) {
  value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
  std::vector<std::string> values;
  for (int i = 0; i < field->enum_type()->value_count(); ++i) {
    values.push_back(field->enum_type()->value(i)->name());
  }
  const std::string nearest = Nearest(value, values);
  return StrCat(field->name(), " cannot be \"", value, "\"",
                nearest.empty() ? "" : "; did you mean " + nearest + "?", " (one of ", Join(values),
                ")");
}

// A field that fits an outer block: the inner one is probably still open.
std::string Unclosed(const TextContext& context, const Descriptor* root, const std::string& name) {
  TextContext outer = context;
  while (!outer.open.empty()) {
    const TextContext::Block block = outer.open.back();
    outer.open.pop_back();
    const Descriptor* type = TypeAt(outer, root);
    if (type == nullptr || type->FindFieldByName(name) == nullptr) continue;
    return StrCat("; or is a } missing before it, for ", block.field, " { of line ", block.line,
                  "?");
  }
  return "";
}

}  // namespace

void Explain(const std::string& text, const Descriptor* root, TextError* error) {
  const std::string message = error->message;
  error->message = PlainWords(message);
  if (error->message != message) return;
  if (message.find("has no field named") != std::string::npos) {
    const Descriptor* type = root->file()->pool()->FindMessageTypeByName(Quoted(message, 0));
    const std::string name = Quoted(message, 1);
    if (type == nullptr || name.empty()) return;
    error->at = LastWord(text, name, error->at);
    error->message = V0Advice(type, name);
    if (!error->message.empty()) return;
    const TextContext context = ContextAt(text, OffsetOf(text, error->at));
    error->message = UnknownField(root, type, name) + Unclosed(context, root, name);
    return;
  }
  const size_t offset = OffsetOf(text, error->at);
  const TextContext context = ContextAt(text, offset);
  std::string got = ValueIn(message);
  if (message.find(", got: ") != std::string::npos && got.empty() && !context.open.empty()) {
    error->message = StrCat("the file ends inside ", context.open.back().field, " { } of line ",
                            context.open.back().line, ": a } is missing");
    return;
  }
  if (StartsWith(message, "Non-repeated field")) {
    const std::string name = Quoted(message, 0);
    error->at = LastWord(text, name, error->at);
    error->message = name + " is set twice: remove one";
    return;
  }
  const Descriptor* type = TypeAt(context, root);
  const bool starts =
      StartsWith(message, "Expected \":\"") || StartsWith(message, "Expected \"{\"");
  if (starts && !context.word.empty()) {
    error->message = WrongStart(type == nullptr ? nullptr : type->FindFieldByName(context.word),
                                context.word, Quoted(message, 1));
    return;
  }
  const bool in_value =
      context.last == ':' || (context.in_list && (context.last == '[' || context.last == ','));
  const FieldDescriptor* field = type == nullptr ? nullptr : type->FindFieldByName(context.field);
  if (StartsWith(message, "Expected identifier") && !in_value) {
    error->message = StrCat("the name of a field is expected, got ", got);
    if (field != nullptr && context.last == ',') {
      error->message =
          StrCat(field->name(), field->is_repeated() ? ": write several values as a list, [1, 2]"
                                                     : " takes one value; decimals have a point");
    }
    return;
  }
  if (field == nullptr) return;
  if (const std::string advice = V1TypeAdvice(field, got); !advice.empty()) {
    error->message = advice;
    return;
  }
  if (field->enum_type() != nullptr &&
      (StartsWith(message, "Unknown enumeration value") || StartsWith(message, "Expected int"))) {
    const std::string value = StartsWith(message, "Unknown") ? Quoted(message, 0) : got;
    error->at = LastWord(text, value, error->at);
    error->message = WrongEnumValue(field, value);
  } else {
    if (StartsWith(message, "Invalid value for boolean")) {
      error->at = LastWord(text, got, error->at);
    }
    if (context.last == '-' && got != "-") got = "-" + got;
    error->message = WrongValue(field, message, got);
  }
}

}  // namespace gf
