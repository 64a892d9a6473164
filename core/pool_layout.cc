#include "core/pool_layout.h"

#include <glog/logging.h>

namespace gf {

void PoolLayout::Add(PoolEntry entry) {
  CHECK_EQ(Find(entry.name), -1) << entry.name;
  entry.offset = count_;
  entry.count = entry.layout.StorageCount(entry.shape);
  count_ += (entry.count + kAlignment - 1) / kAlignment * kAlignment;
  parameter_count_ += entry.shape.count();
  index_.emplace(entry.name, static_cast<int>(entries_.size()));
  entries_.push_back(std::move(entry));
}

int PoolLayout::Find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? -1 : found->second;
}

std::string PoolLayout::NameOf(int first, int last) const {
  const std::string& name = entries_[first].name;
  return first == last ? name : name + " to " + entries_[last].name;
}

int64_t PoolLayout::PrefixEnd(int entries) const {
  return entries == static_cast<int>(entries_.size()) ? count_ : entries_[entries].offset;
}

}  // namespace gf
