#include "solvers/train/batch_feed.h"

#include <utility>

#include "core/error.h"

namespace gf {

const Batch& BatchFeed::Next() {
  const Timeline::Span span(timeline_, lane::kDataWait, "data");
  if (batch_ == nullptr) Fetch();
  waited_ = loader_->waited();
  position_ = loader_->position();
  return *std::exchange(batch_, nullptr);
}

void BatchFeed::Prefetch() {
  // Gradients and updates do not wait for data.
  if (!loader_->Ready()) return;
  try {
    Fetch();
  } catch (const UserError&) {
    // Damaged data. The step that needs them meets the error again, after this one was saved.
  }
}

void BatchFeed::Fetch() {
  batch_ = &loader_->Next();
  net_->Stage(*batch_);
}

}  // namespace gf
