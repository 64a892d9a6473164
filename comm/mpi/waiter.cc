#include "comm/mpi/waiter.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "comm/communicator.h"
#include "comm/failure/stopped_ranks.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr int kTag = 1;
// Polling without sleep: this long, and longer the more travels (a slow network's time per
// byte), so that large transfers keep moving while idle ranks leave the cores to others.
constexpr double kPatience_s = 1e-3, kPatiencePerByte_s = 5e-9;
// Plans of few bytes wait for latencies. Those of many keep several messages under way, which a nap
// does not stop, and often run beside compute.
constexpr int64_t kFewBytes = int64_t{256} << 10;
constexpr double kFewBytesPatience_s = 500e-6;
constexpr auto kLongNap = std::chrono::microseconds(100);
// What fits into Message::text.
constexpr size_t kLongestText = 479;
constexpr double kServeInterval_s = 10e-3;
// A rank that another one's error ends leaves it a head start, so that mpirun returns that one's
// exit code.
constexpr auto kLongestFarewell = std::chrono::milliseconds(500);
constexpr auto kHeadStart = std::chrono::milliseconds(1000);
// mpirun leaves a second between SIGTERM and SIGKILL.
constexpr double kFirstRollCall_s = 0.3, kLongestRollCall_s = 5;
constexpr int64_t kRollCall = -1;
constexpr int kNamed = 8;
constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

void CheckMpi(int code, const std::string& operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(StrCat(operation, " on host ", HostName(), ": MPI: ", text));
}

MpiWaiter::MpiWaiter(MPI_Comm parent, double timeout_s)
    : timeout_s_(timeout_s), roll_call_s_(kFirstRollCall_s) {
  CheckMpi(MPI_Comm_dup(parent, &control_), "start");
  MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(control_, &rank_);
  MPI_Comm_size(control_, &size_);
}

void MpiWaiter::Wait(MPI_Request* request, const std::string& operation, int64_t bytes) {
  Drive(
      [&] {
        int done = 0;
        CheckMpi(MPI_Test(request, &done, MPI_STATUS_IGNORE), operation);
        return done ? Progress::kDone : Progress::kNone;
      },
      operation, kPatience_s + static_cast<double>(bytes) * kPatiencePerByte_s, kNap);
}

void MpiWaiter::Drive(const std::function<Progress()>& advance, const std::string& operation,
                      int64_t bytes) {
  if (bytes < kFewBytes) {
    Drive(advance, operation, kFewBytesPatience_s, kNap);
  } else {
    Drive(advance, operation, 0, kLongNap);
  }
}

void MpiWaiter::Drive(const std::function<Progress()>& advance, const std::string& operation,
                      double patience_s, std::chrono::microseconds nap) {
  operation_ = operation;
  idle_ = false;
  ++sequence_;
  last_ = Clock::now();
  const double ask_at = timeout_s_ - std::min(2.0, timeout_s_ / 4);
  const double patience = std::min(patience_s, ask_at);
  double serve_at = patience;
  bool asked = false;
  for (;;) {
    heartbeat_.fetch_add(1, std::memory_order_relaxed);
    const Progress progress = advance();
    if (progress == Progress::kDone) break;
    if (cancelled_) throw CommError(StrCat(NameOf(rank_), " gave up ", operation));
    if (progress == Progress::kSome) {
      last_ = Clock::now();
      serve_at = patience;
      asked = false;
      continue;
    }
    const double waited = std::chrono::duration<double>(Clock::now() - last_).count();
    if (waited < patience) {
      sched_yield();
      continue;
    }
    if (waited >= serve_at) {
      AnswerAll();
      CallTheRoll();
      serve_at = waited + kServeInterval_s;
    }
    if (!asked && waited >= ask_at) {
      answers_.assign(size_, {});
      AskEverybody(sequence_);
      asked = true;
    }
    if (waited >= timeout_s_) Expire(waited);
    std::this_thread::sleep_for(nap);
  }
  idle_ = true;
}

void MpiWaiter::Serve() {
  idle_ = true;
  operation_ = activity_;
  AnswerAll();
  CallTheRoll();
}

void MpiWaiter::Send(int to, Kind kind, int64_t asked, const std::string& text) {
  sent_.emplace_back();
  Sent& sent = sent_.back();
  sent.message = {kind, idle_, asked, sequence_, {}};
  std::strncpy(sent.message.text, text.c_str(), kLongestText);
  static_assert(sizeof(sent.message.text) == kLongestText + 1);
  CheckMpi(MPI_Isend(&sent.message, sizeof(Message), MPI_BYTE, to, kTag, control_, &sent.request),
           operation_);
}

void MpiWaiter::AskEverybody(int64_t asked) {
  for (int i = 0; i < size_; ++i) {
    if (i != rank_) Send(i, kQuestion, asked, operation_);
  }
}

void MpiWaiter::AnswerAll() {
  for (;;) {
    int waiting = 0;
    MPI_Status status;
    CheckMpi(MPI_Iprobe(MPI_ANY_SOURCE, kTag, control_, &waiting, &status), operation_);
    if (!waiting) break;
    Message message;
    const int from = status.MPI_SOURCE;
    CheckMpi(MPI_Recv(&message, sizeof(message), MPI_BYTE, from, kTag, control_, &status),
             operation_);
    message.text[kLongestText] = 0;
    if (!heard_.empty()) heard_[from] = true;
    if (message.kind == kLastWords) {
      last_words_.resize(size_);
      last_words_[from] = true;
      continue;
    }
    if (message.kind == kEnd) {
      if (told_end_) continue;
      told_end_ = true;
      ended_by_ = from;
      const double waited = std::chrono::duration<double>(Clock::now() - last_).count();
      const std::string me =
          idle_ ? StrCat(NameOf(rank_), " was busy with ", activity_) : WaitedIn(waited);
      throw EndedByOther(StrCat(me, "; ", NameOf(from), " has ended the job: ", message.text));
    }
    if (message.kind == kQuestion) {
      Send(from, kAnswer, message.asked, operation_);
    } else if (message.asked == sequence_ && !answers_.empty()) {
      answers_[from] = message;
    }
  }
  ForgetSent();
}

void MpiWaiter::ForgetSent() {
  for (auto it = sent_.begin(); it != sent_.end();) {
    int done = 0;
    CheckMpi(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE), operation_);
    it = done ? sent_.erase(it) : std::next(it);
  }
}

void MpiWaiter::TellEnd(const std::string& reason) {
  if (told_end_) return;
  told_end_ = true;
  for (int i = 0; i < size_; ++i) {
    if (i != rank_) Send(i, kEnd, 0, reason);
  }
}

void MpiWaiter::Farewell() {
  const auto start = Clock::now();
  last_words_.resize(size_);
  last_words_[rank_] = true;
  const auto all = [&] {
    return std::find(last_words_.begin(), last_words_.end(), false) == last_words_.end();
  };
  try {
    for (int i = 0; i < size_; ++i) {
      if (i != rank_) Send(i, kLastWords, 0, "");
    }
    while (ended_by_ < 0 ? !all() && Clock::now() - start < kLongestFarewell
                         : Clock::now() - start < kHeadStart) {
      AnswerAll();
      std::this_thread::sleep_for(kNap);
    }
  } catch (const CommError&) {  // the reason of the end matters more than that of this
  }
}

void MpiWaiter::CallTheRoll() {
  if (reported_ || !report_ || !asked_to_end_ || !asked_to_end_()) return;
  const auto now = Clock::now();
  if (roll_call_ == Clock::time_point()) {
    heard_.assign(size_, false);
    AskEverybody(kRollCall);
    roll_call_ = now;
    return;
  }
  if (std::chrono::duration<double>(now - roll_call_).count() < roll_call_s_) return;
  roll_call_ = {};
  roll_call_s_ = std::min(2 * roll_call_s_, kLongestRollCall_s);
  std::string silent;
  int count = 0;
  for (int i = 0; i < size_; ++i) {
    if (i == rank_ || heard_[i]) continue;
    if (++count <= kNamed) silent += (silent.empty() ? "" : ", ") + NameOf(i);
  }
  if (count == 0) return;
  reported_ = true;
  if (count > kNamed) silent += StrCat(" and ", count - kNamed, " more");
  report_(
      StrCat(NameOf(rank_), " was told to end (SIGTERM) in ", operation_, "; missing: ", silent));
}

std::string MpiWaiter::NameOf(int rank) const {
  return hosts_.empty() ? StrCat("rank ", rank) : RankName(rank, hosts_);
}

std::string MpiWaiter::WaitedIn(double seconds) const {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", seconds);
  const bool says_when = activity_.empty() || operation_.find("step ") != std::string::npos;
  return StrCat(NameOf(rank_), " waited ", text, " s in ", operation_,
                says_when ? "" : " (" + activity_ + ")");
}

std::string MpiWaiter::OutOfStep() const {
  std::map<std::string, std::vector<int>> groups;
  for (int i = 0; i < size_; ++i) {
    groups[i == rank_ ? operation_.substr(0, kLongestText) : answers_[i].text].push_back(i);
  }
  std::vector<std::pair<size_t, std::string>> by_size;
  for (const auto& [operation, ranks] : groups) {
    const std::string who = ranks.size() == 1 ? NameOf(ranks[0]) : RankList(ranks);
    by_size.emplace_back(ranks.size(),
                         StrCat(who, ranks.size() == 1 ? " waits in " : " wait in ", operation));
  }
  std::sort(by_size.begin(), by_size.end());
  std::string text = "out of step: ";
  for (size_t i = 0; i < by_size.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : "; ") + by_size[i].second;
  }
  return text;
}

// Note [Who is missing]
// A rank that does not answer is dead, stopped or cut off: then it alone is named, because all
// others wait for it, if only through each other. If all answer, those are named that are in no
// operation; if all are in one, but not the same, all are, the fewest first.
void MpiWaiter::Expire(double waited_s) {
  AnswerAll();
  std::vector<int> silent, busy, elsewhere;
  for (int i = 0; i < size_; ++i) {
    if (i == rank_) continue;
    const Message& answer = answers_[i];
    if (answer.kind != kAnswer) {
      silent.push_back(i);
    } else if (answer.idle) {
      busy.push_back(i);
    } else if (answer.sequence != sequence_ ||
               operation_.compare(0, kLongestText, answer.text) != 0) {
      elsewhere.push_back(i);
    }
  }
  const auto list = [&](const std::vector<int>& ranks, const char* before, const char* after) {
    std::string text;
    for (size_t i = 0; i < ranks.size() && i < kNamed; ++i) {
      const std::string doing = answers_[ranks[i]].text;
      text += StrCat(i == 0 ? "" : ", ", NameOf(ranks[i]));
      if (!doing.empty()) text += StrCat(before, doing, after);
    }
    if (ranks.size() > kNamed) text += StrCat(" and ", ranks.size() - kNamed, " more");
    return text;
  };
  std::string why;
  if (!silent.empty()) {
    why = "missing: " + list(silent, "", "") + StoppedRanks();
  } else if (!busy.empty()) {
    why = "missing: " + list(busy, " (busy with ", ")");
  } else if (!elsewhere.empty()) {
    why = OutOfStep();
  } else {
    why = "all ranks wait there: the network between them is stuck";
  }
  TellEnd(why);
  throw CommError(StrCat(WaitedIn(waited_s), "; ", why, " (comm.timeout_s: ", timeout_s_, ")"));
}

}  // namespace gf
