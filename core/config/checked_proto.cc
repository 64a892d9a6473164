#include "core/config/checked_proto.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <utility>

#include "core/config/caffe_words.h"
#include "core/config/nearest.h"
#include "core/config/text_proto.h"

namespace gf {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Whole numbers with all their digits.
std::string Text(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) {
    return StrCat(static_cast<int64_t>(value));
  }
  return StrCat(value);
}

// A number of the message; `index` is -1 for a field that is not repeated.
double NumberOf(const Message& message, const FieldDescriptor* field, int index) {
  const auto* const of = message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? of->GetFloat(message, field) : of->GetRepeatedFloat(message, field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? of->GetDouble(message, field) : of->GetRepeatedDouble(message, field, index);
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? of->GetInt32(message, field) : of->GetRepeatedInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return static_cast<double>(one ? of->GetInt64(message, field)
                                     : of->GetRepeatedInt64(message, field, index));
    default:
      return 0;
  }
}

std::string StringOf(const Message& message, const FieldDescriptor* field, int index) {
  const auto* const of = message.GetReflection();
  return index < 0 ? of->GetString(message, field) : of->GetRepeatedString(message, field, index);
}

class Checker {
 public:
  Checker(const FieldRules& rules, const Places& places) : rules_(rules), places_(places) {}

  void Check(const Message& message, const std::string& path) const {
    const auto* const descriptor = message.GetDescriptor();
    const auto* const reflection = message.GetReflection();
    for (int f = 0; f < descriptor->field_count(); ++f) {
      const FieldDescriptor* const field = descriptor->field(f);
      const FieldRule rule = RuleOf(field);
      const std::string own = PathOf(path, field->name());
      if (rule.required() && IsMissing(message, field)) RefuseMissing(message, path);
      if (!field->is_repeated()) {
        if (reflection->HasField(message, field)) CheckElement(message, field, -1, rule, own);
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
        CheckElement(message, field, i, rule, StrCat(own, "[", i, "]"));
      }
    }
  }

 private:
  FieldRule RuleOf(const FieldDescriptor* field) const {
    const auto found = rules_.find(field->containing_type()->name() + "." + field->name());
    return found == rules_.end() ? FieldRule() : found->second;
  }

  // Names all required fields that the message itself lacks.
  [[noreturn]] void RefuseMissing(const Message& message, const std::string& path) const {
    const auto* const descriptor = message.GetDescriptor();
    std::string first, missing;
    for (int f = 0; f < descriptor->field_count(); ++f) {
      const FieldDescriptor* const field = descriptor->field(f);
      const FieldRule rule = RuleOf(field);
      if (!rule.required() || !IsMissing(message, field)) continue;
      const std::string own = PathOf(path, field->name());
      if (first.empty()) first = own;
      missing += StrCat(missing.empty() ? "" : "; ", own, " is missing", rule.advice());
    }
    ThrowUserError(places_.BeforeMissing(first), missing);
  }

  static bool IsMissing(const Message& message, const FieldDescriptor* field) {
    if (field->is_repeated()) return message.GetReflection()->FieldSize(message, field) == 0;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      return StringOf(message, field, -1).empty();
    }
    return !message.GetReflection()->HasField(message, field);
  }

  // What was probably meant by a text that is not among the rule's, after a semicolon; or "".
  static std::string TextHint(const std::string& path, const std::string& value,
                              const FieldRule& rule) {
    const std::string other = OtherSolverHere(path, value);
    if (!other.empty()) return "; " + other;
    // A short list speaks for itself.
    const std::string nearest = rule.values().size() > 3 ? Nearest(value, rule.values()) : "";
    return nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?";
  }

  void CheckElement(const Message& message, const FieldDescriptor* field, int index,
                    const FieldRule& rule, const std::string& path) const {
    const auto* const reflection = message.GetReflection();
    std::string value, wrong, hint;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Check(index < 0 ? reflection->GetMessage(message, field)
                               : reflection->GetRepeatedMessage(message, field, index),
                     path);
      case FieldDescriptor::CPPTYPE_STRING:
        value = StringOf(message, field, index);
        wrong = rule.Wrong(value);
        if (!wrong.empty()) hint = TextHint(path, value, rule);
        value = "\"" + value + "\"";
        break;
      default: {
        const double number = NumberOf(message, field, index);
        value = Text(number);
        wrong = std::isfinite(number) ? rule.Wrong(number) : "a finite number";
      }
    }
    if (wrong.empty()) return;
    ThrowUserError(places_.Before(path), path, " is ", value, ", must be ", wrong, hint,
                   rule.advice());
  }

  const FieldRules& rules_;
  const Places& places_;
};

}  // namespace

FieldRule FieldRule::MoreThan(double end) const {
  FieldRule rule = AtLeast(end);
  rule.least_excluded_ = true;
  return rule;
}

FieldRule FieldRule::AtLeast(double end) const {
  FieldRule rule = *this;
  rule.least_ = end;
  return rule;
}

FieldRule FieldRule::LessThan(double end) const {
  FieldRule rule = AtMost(end);
  rule.most_excluded_ = true;
  return rule;
}

FieldRule FieldRule::AtMost(double end) const {
  FieldRule rule = *this;
  rule.most_ = end;
  return rule;
}

FieldRule FieldRule::OneOf(std::vector<std::string> values) const {
  FieldRule rule = *this;
  rule.values_ = std::move(values);
  return rule;
}

FieldRule FieldRule::Required() const {
  FieldRule rule = *this;
  rule.required_ = true;
  return rule;
}

FieldRule FieldRule::Advice(const std::string& advice) const {
  FieldRule rule = *this;
  rule.advice_ = advice;
  return rule;
}

std::string FieldRule::Wrong(double value) const {
  if (!values_.empty()) return Wrong(Text(value));
  if (least_excluded_ && !(value > least_)) return "greater than " + Text(least_);
  if (!(value >= least_)) return "at least " + Text(least_);
  if (most_excluded_ && !(value < most_)) return "less than " + Text(most_);
  if (!(value <= most_)) return "at most " + Text(most_);
  return "";
}

std::string FieldRule::Wrong(const std::string& value) const {
  std::string all;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (value == values_[i]) return "";
    all += (i == 0 ? "" : i + 1 == values_.size() ? " or " : ", ") + values_[i];
  }
  return all;
}

FieldRule MoreThan(double end) { return FieldRule().MoreThan(end); }
FieldRule AtLeast(double end) { return FieldRule().AtLeast(end); }
FieldRule Between(double least, double most) { return FieldRule().AtLeast(least).AtMost(most); }
FieldRule OneOf(std::vector<std::string> values) { return FieldRule().OneOf(std::move(values)); }
FieldRule Required() { return FieldRule().Required(); }

void CheckFields(const Message& message, const FieldRules& rules, const std::string& path,
                 const Places& places) {
  Checker(rules, places).Check(message, path);
}

void MistakeReport::RequireField(bool present, const std::string& field, const std::string& advice,
                                 const std::string& cause) const {
  if (present) return;
  const std::string path = PathOf(path_, field), because = PathOf(path_, cause);
  ThrowUserError(places_.IsSet(because) ? places_.Before(because) : places_.BeforeMissing(path),
                 path, " is missing: ", advice);
}

void MistakeReport::RefuseBoth(bool both, const std::string& field, const std::string& other,
                               const std::string& advice) const {
  if (!both) return;
  const bool by_other = places_.IsSet(PathOf(path_, other)) && !places_.IsSet(PathOf(path_, field));
  const std::string& about = by_other ? other : field;
  Fail(about, " does not go with ", by_other ? field : other, ": ", advice);
}

Places ParseChecked(const std::string& text, const std::string& name, const FieldRules& rules,
                    Message* message) {
  google::protobuf::TextFormat::ParseInfoTree locations;
  ParseTextProto(text, name, message, &locations);
  Places places(name, *message, locations);
  CheckFields(*message, rules, "", places);
  return places;
}

}  // namespace gf
