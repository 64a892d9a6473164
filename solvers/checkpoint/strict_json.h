#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/printable.h"
#include "core/str_cat.h"

namespace gf {

// Whether brackets are nested deeper than `most`. Works on any text.
bool TooDeep(const std::string& text, int most);

// Parses a JSON object that comes from anywhere. Not an object, nested deeper than `most_nesting`
// (later work on values is recursive), or a key twice in one object (readers differ in which one
// they take): sets `mistake`, which is empty otherwise. Json: nlohmann::json or ordered_json.
template <typename Json>
Json ParseStrictly(const std::string& text, int most_nesting, std::string* mistake) {
  mistake->clear();
  if (TooDeep(text, most_nesting)) {
    *mistake = "is nested too deeply";
    return {};
  }
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  using Event = typename Json::parse_event_t;
  const auto watch = [&](int, Event event, Json& parsed) {
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.template get_ref<const std::string&>();
      if (!keys.back().insert(key).second && mistake->empty()) {
        *mistake = StrCat("has \"", Excerpt(key), "\" twice");
      }
    }
    return true;
  };
  Json value = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (!value.is_object()) *mistake = "is not a JSON object";
  return value;
}

}  // namespace gf
