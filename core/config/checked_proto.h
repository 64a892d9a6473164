#pragma once

#include <google/protobuf/message.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/config/places.h"
#include "core/error.h"

namespace gf {

// What one field may hold. A rule is written as MoreThan(0).AtMost(1).
class FieldRule {
 public:
  FieldRule MoreThan(double end) const;
  FieldRule AtLeast(double end) const;
  FieldRule LessThan(double end) const;
  FieldRule AtMost(double end) const;
  // The only values, as text.
  FieldRule OneOf(std::vector<std::string> values) const;
  const std::vector<std::string>& values() const { return values_; }
  // The field must be given; a text must not be empty.
  FieldRule Required() const;
  // What to do about a mistake; ends the message.
  FieldRule Advice(const std::string& advice) const;

  bool required() const { return required_; }
  // ": " and the advice, or nothing.
  std::string advice() const { return advice_.empty() ? "" : ": " + advice_; }
  // What the value must be, "greater than 0"; empty if it is that.
  std::string Wrong(double value) const;
  std::string Wrong(const std::string& value) const;

 private:
  double least_ = -std::numeric_limits<double>::infinity();
  double most_ = std::numeric_limits<double>::infinity();
  bool least_excluded_ = false, most_excluded_ = false, required_ = false;
  std::vector<std::string> values_;
  std::string advice_;
};

FieldRule MoreThan(double end);
FieldRule AtLeast(double end);
FieldRule Between(double least, double most);
FieldRule OneOf(std::vector<std::string> values);
FieldRule Required();

// Rules by "Message.field".
using FieldRules = std::map<std::string, FieldRule>;

// Checks every field that the message and the messages inside hold. `path`: of the message, before
// its fields' names. Throws UserError "PLACE: path.field is VALUE, must be ..." for a value against
// its rule and for a number that is not finite, "PLACE: path.field is missing" for a required
// field.
void CheckFields(const google::protobuf::Message& message, const FieldRules& rules,
                 const std::string& path, const Places& places);

// Reports mistakes of one message, in the same form.
class MistakeReport {
 public:
  // `places` must outlive this.
  MistakeReport(const Places& places, std::string path) : places_(places), path_(std::move(path)) {}

  // Throws "PLACE: path.field" + what.
  template <typename... Args>
  [[noreturn]] void Fail(const std::string& field, const Args&... what) const {
    const std::string path = PathOf(path_, field);
    ThrowUserError(places_.Before(path), path, what...);
  }
  template <typename... Args>
  void Require(bool good, const std::string& field, const Args&... what) const {
    if (!good) Fail(field, what...);
  }
  // Throws "PLACE: path.field is missing: advice". If --set wrote the field `cause`, which needs
  // the missing one, that is the place.
  void RequireField(bool present, const std::string& field, const std::string& advice,
                    const std::string& cause = "") const;

  // Throws "PLACE: path.field does not go with other: advice". Of the two fields, the message is
  // about the one that --set wrote.
  void RefuseBoth(bool both, const std::string& field, const std::string& other,
                  const std::string& advice = "give one of them") const;

  // Of a message inside.
  MistakeReport Inner(const std::string& field) const { return {places_, PathOf(path_, field)}; }

 private:
  const Places& places_;
  const std::string path_;
};

// Parses a prototxt and checks it by the rules. Returns where its fields stand.
Places ParseChecked(const std::string& text, const std::string& name, const FieldRules& rules,
                    google::protobuf::Message* message);

}  // namespace gf
