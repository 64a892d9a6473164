#include "models/blob_links.h"

#include <algorithm>
#include <utility>

namespace gf {

bool CanVanish(const LayerParameter& p) {
  const auto& down = p.propagate_down();
  return p.loss_weight_size() == 0 &&
         std::all_of(down.begin(), down.end(), [](bool d) { return d; });
}

BlobLinks::BlobLinks(std::vector<GraphNode>* nodes) : nodes_(*nodes), removed_(nodes->size()) {
  for (int i = 0; i < size(); ++i) Link(i);
}

int BlobLinks::OnlyReader(const std::string& blob) const {
  const auto found = readers_.find(blob);
  return found == readers_.end() || found->second.size() != 1 ? -1 : *found->second.begin();
}

int BlobLinks::Producer(const std::string& blob) const {
  const auto found = producers_.find(blob);
  return found == producers_.end() ? -1 : found->second;
}

std::vector<int> BlobLinks::Readers(const std::string& blob) const {
  const auto found = readers_.find(blob);
  if (found == readers_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void BlobLinks::Link(int i) {
  for (const std::string& bottom : nodes_[i].param.bottom()) readers_[bottom].insert(i);
  for (const std::string& top : nodes_[i].param.top()) producers_[top] = i;
}

void BlobLinks::Unlink(int i) {
  for (const std::string& bottom : nodes_[i].param.bottom()) {
    std::multiset<int>& readers = readers_[bottom];
    readers.erase(readers.find(i));
  }
  for (const std::string& top : nodes_[i].param.top()) {
    const auto found = producers_.find(top);
    if (found != producers_.end() && found->second == i) producers_.erase(found);
  }
}

void BlobLinks::Remove(int i) {
  Unlink(i);
  removed_[i] = true;
}

void BlobLinks::Compact() {
  int kept = 0;
  for (int i = 0; i < size(); ++i) {
    if (removed_[i]) continue;
    if (kept != i) nodes_[kept] = std::move(nodes_[i]);
    ++kept;
  }
  nodes_.resize(kept);
}

}  // namespace gf
