#include "comm/consistency.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "core/error.h"

namespace gf {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

constexpr size_t kLongestValue = 80;
constexpr size_t kMostDifferences = 12;

std::string Hash(const std::string& text) {
  char hex[24];
  std::snprintf(hex, sizeof(hex), "%016llx",
                static_cast<unsigned long long>(XXH64(text.data(), text.size(), 0)));
  return hex;
}

// The value if it is short, otherwise its start and its hash: equal only if the values are.
std::string Shorten(const std::string& value) {
  if (value.size() <= kLongestValue) return value;
  return value.substr(0, kLongestValue) + "... (hash " + Hash(value) + ")";
}

void Append(const std::string& text, std::string* packed) {
  const uint64_t length = text.size();
  packed->append(reinterpret_cast<const char*>(&length), sizeof(length));
  packed->append(text);
}

std::string Pack(const Items& items) {
  std::string packed;
  for (const auto& item : items) {
    Append(item.first, &packed);
    Append(Shorten(item.second), &packed);
  }
  return packed;
}

Items Unpack(const std::string& packed, int rank) {
  std::vector<std::string> texts;
  for (size_t at = 0; at < packed.size();) {
    uint64_t length = 0;
    const size_t left = packed.size() - at;
    if (left >= sizeof(length)) std::memcpy(&length, &packed[at], sizeof(length));
    if (left < sizeof(length) || length > left - sizeof(length)) {
      throw CommError(StrCat("start-up check: what rank ", rank, " sent is damaged"));
    }
    texts.push_back(packed.substr(at + sizeof(length), length));
    at += sizeof(length) + length;
  }
  Items items;
  for (size_t i = 0; i + 1 < texts.size(); i += 2) items.emplace_back(texts[i], texts[i + 1]);
  return items;
}

// " (host b)" or " (hosts a, b, c, ...)"
std::string HostsOf(const std::vector<int>& ranks, const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  for (int rank : ranks) {
    if (std::find(names.begin(), names.end(), hosts[rank]) == names.end()) {
      names.push_back(hosts[rank]);
    }
  }
  std::string text;
  for (size_t i = 0; i < names.size() && i < 4; ++i) {
    text += (i == 0 ? "" : ", ") + (i < 3 ? names[i] : std::string("..."));
  }
  return StrCat(" (", names.size() == 1 ? "host " : "hosts ", text, ")");
}

}  // namespace

void CheckSameOnAllRanks(Communicator* comm, const Items& items) {
  const std::string mine = Pack(items);
  const std::vector<std::string> hashes = comm->AllGather(Hash(mine), "start-up check");
  if (std::count(hashes.begin(), hashes.end(), hashes[0]) == comm->size()) return;

  const std::vector<std::string> packed = comm->AllGather(mine, "start-up check, what differs");
  std::vector<std::string> names;  // in the order of the first rank with it
  std::map<std::string, std::map<int, std::string>> values;  // name -> rank -> value
  for (int rank = 0; rank < comm->size(); ++rank) {
    for (const auto& item : Unpack(packed[rank], rank)) {
      if (values.count(item.first) == 0) names.push_back(item.first);
      values[item.first][rank] = item.second;
    }
  }
  std::vector<std::string> differences;
  for (const std::string& name : names) {
    std::vector<std::pair<std::string, std::vector<int>>> groups;  // value, ranks
    for (int rank = 0; rank < comm->size(); ++rank) {
      const auto it = values[name].find(rank);
      const std::string value = it == values[name].end() ? "not set" : it->second;
      auto group = std::find_if(groups.begin(), groups.end(),
                                [&](const auto& g) { return g.first == value; });
      if (group == groups.end()) group = groups.insert(groups.end(), {value, {}});
      group->second.push_back(rank);
    }
    if (groups.size() == 1) continue;
    std::string text;
    for (const auto& group : groups) {
      text += StrCat(text.empty() ? "" : ", ", group.first, " on ", RankList(group.second),
                     HostsOf(group.second, comm->hosts()));
    }
    differences.push_back(name + ": " + text);
  }
  std::string message = "ranks disagree on ";
  for (size_t i = 0; i < differences.size() && i < kMostDifferences; ++i) {
    message += (i == 0 ? "" : "\n  and on ") + differences[i];
  }
  if (differences.size() > kMostDifferences) {
    message += StrCat("\n  and on ", differences.size() - kMostDifferences, " more settings");
  }
  if (differences.empty()) message += "the order of their settings";
  message += "\nGive every rank the same program, config file, network file, data and flags.";
  throw UserError(message);
}

}  // namespace gf
