#include "comm/executor.h"

#include <glog/logging.h>

#include <algorithm>

#include "comm/wire/wire.h"

namespace gf {
namespace {

// Note [Messages of 60 KiB]
// Vectors travel in segments whose largest message has at most kMessage bytes, up to kWindow
// segments at once. It stays below the 64 KiB that Open MPI sends over TCP without asking the
// receiver first: on a 1 Gbit/s link with 100 us of latency a ring of 60 KiB messages reaches 115
// MB/s, one of 64 KiB messages 75, one of 1 MiB messages 100. Smaller messages do not hide more
// latency but cost more: with segments of 8 KiB sums of 64 to 512 KiB take 1.2 to 1.6 times as
// long.
constexpr int kWindow = 16;
// Tags: the number of the run above, the number of the segment below.
constexpr int64_t kSegmentTags = 1 << 18, kRunTags = Transport::kTags / kSegmentTags;

}  // namespace

char* Executor::At(int64_t element) const {
  return static_cast<char*>(collective_.data) + element * own_size_;
}

Executor::Slice Executor::Locate(const Segment& segment, const PartRange& range) const {
  const int64_t total = collective_.count;
  if (!by_part_) {
    const int64_t begin = PartBegin(total, segment.index, segment_count_);
    const int64_t count = PartBegin(total, segment.index + 1, segment_count_) - begin;
    const int64_t from = PartBegin(count, range.begin, plan_->parts);
    return {begin + from, PartBegin(count, range.end, plan_->parts) - from};
  }
  const int64_t begin = PartBegin(total, range.begin, plan_->parts);
  const int64_t count = PartBegin(total, range.end, plan_->parts) - begin;
  const int64_t from = PartBegin(count, segment.index, segment_count_);
  return {begin + from, PartBegin(count, segment.index + 1, segment_count_) - from};
}

void Executor::Run(const Plan& plan, int largest, const Collective& collective,
                   const std::string& operation) {
  const int64_t run = runs_++ % kRunTags;
  if (collective.count == 0) return;
  // Transports count operations to tell who is elsewhere: a rank without a part counts, too.
  if (plan.steps.empty()) return transport_->Drive([] { return Progress::kDone; }, operation, 0);
  plan_ = &plan;
  collective_ = collective;
  wire_ = &WireFor(collective.dtype, collective.wire);
  direct_ = collective.dtype == collective.wire;
  own_size_ = SizeOf(collective.dtype);
  wire_size_ = SizeOf(collective.wire);
  const bool encoded = collective.kind == Collective::kEncodedSum;
  by_part_ = encoded || (largest == 1 && plan.parts == transport_->size());
  const int64_t message_bytes =
      collective.count * largest / plan.parts * static_cast<int64_t>(wire_size_);
  segment_count_ = std::clamp<int64_t>((message_bytes + kMessage - 1) / kMessage, 1, kSegmentTags);

  int64_t next = 0;
  const size_t window = std::min<int64_t>(segment_count_, kWindow);
  if (segments_.size() < window) segments_.resize(window);
  const auto refill = [&](Segment* segment) {
    if (next == segment_count_) return false;
    segment->index = next;
    segment->tag = static_cast<int>(run * kSegmentTags + next);
    segment->step = 0;
    segment->under_way = false;
    ++next;
    return true;
  };
  std::vector<bool> active(window);
  for (size_t i = 0; i < window; ++i) active[i] = refill(&segments_[i]);

  transport_->Drive(
      [&] {
        Progress progress = Progress::kDone;
        for (size_t i = 0; i < window; ++i) {
          if (!active[i]) continue;
          const Progress one = Advance(&segments_[i]);
          if (one == Progress::kDone) active[i] = refill(&segments_[i]);
          if (one != Progress::kNone) {
            progress = Progress::kSome;
          } else if (progress == Progress::kDone) {
            progress = Progress::kNone;
          }
        }
        return progress;
      },
      operation, collective.count * static_cast<int64_t>(wire_size_));
  if (collective.kind == Collective::kReduceScatter && !direct_) RoundOwnPart();
}

void Executor::RoundOwnPart() {
  const int rank = transport_->rank(), world = transport_->size();
  const int64_t begin = PartBegin(collective_.count, rank, world);
  const int64_t count = PartBegin(collective_.count, rank + 1, world) - begin;
  constexpr int64_t kBlock = 4096;
  char wire[kBlock * sizeof(float)];
  for (int64_t at = 0; at < count; at += kBlock) {
    wire_->encode(At(begin + at), wire, std::min(kBlock, count - at));
  }
}

void Executor::Begin(Segment* segment) {
  const PlanStep& step = plan_->steps[segment->step];
  segment->send = segment->receive = -1;
  const auto buffer = [&](std::vector<char>* memory) {
    // For the largest message: a whole segment, rounded up in every part.
    const size_t most = (collective_.count / segment_count_ + plan_->parts + 1) * wire_size_;
    if (memory->size() < most) memory->resize(most);
    return memory->data();
  };
  if (step.receive_from >= 0) {
    const Slice slice = Locate(*segment, step.receive);
    const bool in_place = direct_ && !step.reduce;
    char* const to = in_place ? At(slice.begin) : buffer(&segment->received);
    if (slice.count > 0) {
      segment->receive =
          transport_->Receive(step.receive_from, to, slice.count * wire_size_, segment->tag);
    }
  }
  if (step.send_to >= 0) {
    const Slice slice = Locate(*segment, step.send);
    char* from = At(slice.begin);
    if (slice.count > 0) {
      if (!direct_) {
        char* const encoded = buffer(&segment->sent);
        wire_->encode(from, encoded, slice.count);
        from = encoded;
      }
      segment->send = transport_->Send(step.send_to, from, slice.count * wire_size_, segment->tag);
    }
  }
  segment->under_way = true;
}

Progress Executor::Advance(Segment* segment) {
  Progress progress = Progress::kNone;
  for (;;) {
    if (segment->step == plan_->steps.size()) return Progress::kDone;
    if (!segment->under_way) {
      Begin(segment);
      progress = Progress::kSome;
    }
    if (segment->receive >= 0 && transport_->Done(segment->receive)) {
      segment->receive = -1;
      progress = Progress::kSome;
    }
    if (segment->send >= 0 && transport_->Done(segment->send)) {
      segment->send = -1;
      progress = Progress::kSome;
    }
    if (segment->receive >= 0 || segment->send >= 0) return progress;
    const PlanStep& step = plan_->steps[segment->step];
    if (step.receive_from >= 0) {
      const Slice slice = Locate(*segment, step.receive);
      char* const own = At(slice.begin);
      if (step.reduce) {
        wire_->add(segment->received.data(), own, slice.count);
      } else if (!direct_) {
        wire_->decode(segment->received.data(), own, slice.count);
      }
    }
    ++segment->step;
    segment->under_way = false;
    progress = Progress::kSome;
  }
}

}  // namespace gf
