#include "comm/price/step.h"

#include <algorithm>

#include "core/telemetry/timeline.h"

namespace gf {
namespace {

// Bytes per second that compressors read and write.
double CompressorRate(const StepSetup& setup) {
  return setup.compressor_bytes_per_s > 0 ? setup.compressor_bytes_per_s : setup.memory_bytes_per_s;
}

// The compute of a step in nominal seconds, stretched by the ranks' factors and by collectives.
class Compute {
 public:
  Compute(const StepSetup& setup, const BucketSchedule& schedule,
          const std::vector<double>& factors)
      : setup_(setup),
        factors_(factors),
        slowest_(*std::max_element(factors.begin(), factors.end())) {
    forward_ = setup.compute.data + AheadSeconds(schedule) + setup.compute.forward;
    ready_.resize(setup.layout->entries().size());
    double now = forward_;
    for (const StepCompute::Piece& piece : setup.compute.backward) {
      now += piece.seconds;
      for (int entry : piece.entries) now += CompressSeconds(entry, schedule);
      for (int entry : piece.entries) ready_[entry] = now;
      if (!piece.entries.empty() || &piece == &setup.compute.backward.back()) ends_.push_back(now);
    }
  }

  double forward() const { return forward_; }
  double backward_end() const { return ends_.back(); }
  double slowest() const { return slowest_; }

  // Time at which the slowest rank has the gradients up to `entry`, given the collectives so far.
  double Ready(int entry) const { return ready_[entry] * slowest_ + lost_; }
  double BackwardEnd(double factor) const { return ends_.back() * factor + lost_; }

  // The earliest time, not before `time`, by which every rank has completed its current layer with
  // parameters.
  double LayerEnd(double time) const {
    double latest = time;
    for (double factor : factors_) {
      const double at = (time - lost_) / factor;
      const auto end = std::lower_bound(ends_.begin(), ends_.end(), at - 1e-12);
      if (end != ends_.end()) latest = std::max(latest, *end * factor + lost_);
    }
    return latest;
  }

  // Duration of a collective that starts at `begin`, takes `seconds` alone, and loses the fraction
  // `rate_lost` of its speed during compute.
  double Stretched(double begin, double seconds, double rate_lost) const {
    const double computes =
        std::max(0.0, BackwardEnd(slowest_) - begin) / (1 - setup_.compute_lost);
    return std::min(seconds / (1 - rate_lost), seconds + computes * rate_lost);
  }

  // Adds the time that the slowest rank lost to a collective before the end of its backward pass.
  void Lose(double begin, double end) {
    const double left = std::max(0.0, BackwardEnd(slowest_) - begin);
    const double share = setup_.compute_lost;
    lost_ += share * std::min(end - begin, left / (1 - share));
  }

 private:
  // The time to write the weights that are ahead.
  double AheadSeconds(const BucketSchedule& schedule) const {
    if (!schedule.sparse) return 0;
    const double waiting = (1 - schedule.density) * static_cast<double>(setup_.layout->count());
    return waiting * setup_.traffic.ahead / CompressorRate(setup_);
  }

  // The compressor's arithmetic on a parameter's gradient.
  double CompressSeconds(int entry, const BucketSchedule& schedule) const {
    const UpdateTraffic& traffic = setup_.traffic;
    double bytes = 0;  // per element
    if (schedule.sparse) bytes += traffic.keep + schedule.density * traffic.pack;
    if (schedule.topk) bytes += traffic.accumulate;
    if (schedule.low_rank) bytes += traffic.project;
    if (schedule.code_bytes > 0) bytes += traffic.encode + schedule.code_bytes;
    if (schedule.feedback && factors_.size() > 1) bytes += traffic.round;
    const double count = static_cast<double>(setup_.layout->entries()[entry].count);
    if (setup_.measured) {
      return setup_.measured->before * count / static_cast<double>(setup_.layout->count());
    }
    return count * bytes / CompressorRate(setup_);
  }

  const StepSetup& setup_;
  const std::vector<double>& factors_;
  const double slowest_;
  double forward_ = 0;
  double lost_ = 0;
  std::vector<double> ready_;  // by entry
  std::vector<double> ends_;   // ends of layers with parameters and of backward, ascending
};

class Step {
 public:
  Step(const StepSetup& setup, const BucketSchedule& schedule, const std::vector<double>& factors,
       CollectiveCosts* costs, bool spans)
      : setup_(setup),
        schedule_(schedule),
        costs_(costs),
        keep_spans_(spans),
        compute_(setup, schedule, factors) {}

  StepResult Run(const std::vector<double>& factors) {
    const double backward = compute_.backward_end() * compute_.slowest();
    std::vector<double> reduced;
    for (const Send& send : schedule_.sends) {
      double begin = schedule_.overlap ? compute_.Ready(send.last_entry) : backward;
      begin = std::max(begin, free_);
      if (schedule_.overlap && setup_.waits_for_layer) begin = compute_.LayerEnd(begin);
      reduced.push_back(Run(send, begin));
    }
    Finish(reduced);
    if (keep_spans_) {
      for (double factor : factors) {
        result_.forward_ends.push_back(compute_.forward() * factor);
        result_.backward_ends.push_back(compute_.BackwardEnd(factor));
      }
    }
    return std::move(result_);
  }

 private:
  // Runs a collective of a schedule and returns its end.
  double Run(const Send& send, double begin) {
    if (send.encoded > 0) return EncodedSum(send, begin);
    if (send.gathered > 0)
      return Collective(send.name, begin, send.gathered, CollectiveCosts::kAllGather);
    const int64_t bytes = send.bytes >= 0 ? send.bytes : send.elements * setup_.wire_bytes;
    return Collective(
        send.name, begin, bytes,
        schedule_.sharded ? CollectiveCosts::kReduceScatter : CollectiveCosts::kAllReduce);
  }

  // Runs a collective and returns its end.
  double Collective(const std::string& name, double begin, int64_t bytes,
                    CollectiveCosts::Kind kind) {
    if (bytes == 0) return begin;
    Transfer(begin, bytes, kind);
    if (keep_spans_) result_.spans.push_back({lane::kBucketTransfer, name, begin, free_, bytes});
    return free_;
  }

  // Both directions of an encoded sum, with the sum of this rank's part between them. Returns its
  // end.
  double EncodedSum(const Send& send, double begin) {
    Transfer(begin, send.encoded, CollectiveCosts::kAllToAll);
    const double sum = SumSeconds(send);
    const double summed = free_ + sum;
    result_.communication += sum;
    Transfer(summed, send.encoded, CollectiveCosts::kAllGather);
    if (keep_spans_) {
      // The memory of a bucket holds both directions.
      result_.spans.push_back({lane::kBucketTransfer, send.name, begin, free_, 2 * send.encoded});
    }
    return free_;
  }

  // The part of an encoded vector that a rank sums up.
  double PartOfRank() const { return 1.0 / costs_->world(); }

  // A rank reads all ranks' codes of its part and writes the codes of the sum.
  double SumSeconds(const Send& send) const {
    if (setup_.measured) return setup_.measured->sum * ShareOf(send);
    return static_cast<double>(send.encoded) * (1 + PartOfRank()) / CompressorRate(setup_);
  }

  // The compressor's arithmetic when a collective has come: decoding sums. A rank also decodes all
  // codes of its part, and keeps what their sum has lost.
  double ArrivalSeconds(const Send& send) const {
    if (setup_.measured) return setup_.measured->after * ShareOf(send);
    if (send.encoded == 0) return 0;
    const UpdateTraffic& traffic = setup_.traffic;
    const double bytes =
        static_cast<double>(send.elements) * (traffic.decode + traffic.keep_lost * PartOfRank()) +
        2.0 * static_cast<double>(send.encoded);
    return bytes / CompressorRate(setup_);
  }

  // What a collective stands for, as a fraction of the schedule; factors stand for no elements.
  double ShareOf(const Send& send) const {
    const auto weight = [](const Send& s) {
      return static_cast<double>(std::max({s.elements, s.bytes, int64_t{1}}));
    };
    double all = 0;
    for (const Send& each : schedule_.sends) all += weight(each);
    return weight(send) / all;
  }

  // Ends at free_.
  void Transfer(double begin, int64_t bytes, CollectiveCosts::Kind kind) {
    const double seconds =
        compute_.Stretched(begin, costs_->Seconds(kind, bytes), costs_->RateLost(bytes));
    free_ = begin + seconds;
    compute_.Lose(begin, free_);
    result_.communication += seconds;
    result_.sent_bytes += kind == CollectiveCosts::kAllReduce ? bytes : bytes / 2;
  }

  void Wait(const std::string& name, double until) {
    if (until <= now_) return;
    result_.parts.exposed += until - now_;
    if (keep_spans_) result_.spans.push_back({lane::kBucketWait, name, now_, until});
    now_ = until;
  }

  void Finish(const std::vector<double>& reduced) {
    const double slow = compute_.slowest(), data = setup_.compute.data * slow;
    const double forward = compute_.forward() * slow;
    now_ = compute_.BackwardEnd(slow);
    result_.parts.data = data;
    result_.parts.forward = forward - data;
    result_.parts.backward = now_ - forward;
    if (keep_spans_) {
      result_.spans.push_back({lane::kForward, "forward", 0, forward});
      result_.spans.push_back({lane::kBackward, "backward", forward, now_});
    }
    double norms = 0;
    if (schedule_.norms > 0 && !reduced.empty()) {
      const double begin = std::max(free_, now_);
      norms = Collective("norms of chunks", begin,
                         schedule_.norms * static_cast<int64_t>(sizeof(float)),
                         CollectiveCosts::kAllReduce);
    }
    const double per_element = setup_.traffic.update / setup_.memory_bytes_per_s;
    const double share = schedule_.sharded ? 1.0 / costs_->world() : 1.0;
    double gathered = 0, waiting = 0;
    for (size_t i = 0; i < reduced.size(); ++i) {
      const Send& send = schedule_.sends[i];
      Wait(send.name, reduced[i]);
      const double update = static_cast<double>(send.elements) * per_element * share;
      if (setup_.update_waits) waiting += update;
      Work(send.name, ArrivalSeconds(send) + (setup_.update_waits ? 0 : update));
      if (!schedule_.sharded) continue;
      gathered = Collective("new " + send.name, std::max(now_, free_),
                            send.elements * static_cast<int64_t>(sizeof(float)),
                            CollectiveCosts::kAllGather);
    }
    Wait("norms of chunks", norms);
    if (norms > 0 && setup_.measured) Work("norms of chunks", setup_.measured->last);
    Wait("new weights", gathered);
    if (schedule_.last.elements > 0) FinishLast();
    if (waiting > 0) Work("all parameters", waiting);
    if (setup_.load_s > now_) result_.parts.data += setup_.load_s - now_;
  }

  void Work(const std::string& name, double seconds) {
    if (keep_spans_) result_.spans.push_back({lane::kUpdate, name, now_, now_ + seconds});
    result_.parts.update += seconds;
    now_ += seconds;
  }

  // The collective that depends on all others, with the arithmetic before and after it.
  void FinishLast() {
    const std::string& name = schedule_.last.name;
    const UpdateTraffic& traffic = setup_.traffic;
    const auto elements = static_cast<double>(schedule_.last.elements);
    const double per_byte = elements / CompressorRate(setup_);
    if (!setup_.measured) Work(name, traffic.correlate * per_byte);
    Wait(name, Run(schedule_.last, std::max(free_, now_)));
    const double expand = setup_.measured ? setup_.measured->last : traffic.expand * per_byte;
    Work(name, expand + elements * traffic.update / setup_.memory_bytes_per_s);
  }

  const StepSetup& setup_;
  const BucketSchedule& schedule_;
  CollectiveCosts* const costs_;
  const bool keep_spans_;
  Compute compute_;
  double free_ = 0;  // time at which the communication thread is free
  double now_ = 0;   // time of the slowest rank, after backward
  StepResult result_;
};

}  // namespace

StepResult PriceStep(const StepSetup& setup, const BucketSchedule& schedule,
                     const std::vector<double>& factors, CollectiveCosts* costs, bool spans) {
  return Step(setup, schedule, factors, costs, spans).Run(factors);
}

}  // namespace gf
