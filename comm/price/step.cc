#include "comm/price/step.h"

#include <algorithm>

#include "comm/price/stretched_compute.h"
#include "core/telemetry/timeline.h"

namespace gf {
namespace {

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
    const double slow = compute_.slowest();
    const double data = setup_.compute.batches * setup_.compute.data * slow;
    const double earlier = compute_.earlier_backward() * slow;
    const double forward = compute_.forward() * slow;
    now_ = compute_.BackwardEnd(slow);
    result_.parts.data = data;
    result_.parts.forward = forward - data - earlier;
    result_.parts.backward = now_ - forward + earlier;
    if (keep_spans_) {
      const char* const name =
          setup_.compute.batches > 1 ? "earlier batches and forward" : "forward";
      result_.spans.push_back({lane::kForward, name, 0, forward});
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
  StretchedCompute compute_;
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
