#include "comm/mpi/watchdog.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <thread>

#include "comm/communicator.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr int kTag = 1;
// What fits into Message::text.
constexpr size_t kLongestText = 479;
// A rank that another one's error ends leaves it a head start, so that mpirun returns that one's
// exit code.
constexpr auto kLongestFarewell = std::chrono::milliseconds(500);
constexpr auto kHeadStart = std::chrono::milliseconds(1000);
// mpirun leaves a second between SIGTERM and SIGKILL.
constexpr double kFirstRollCall_s = 0.3, kLongestRollCall_s = 5;
constexpr int64_t kRollCall = -1;
constexpr auto kNap = std::chrono::microseconds(50);

}  // namespace

void CheckMpi(int code, const std::string& operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommError(StrCat(operation, " on host ", HostName(), ": MPI: ", text));
}

MpiWatchdog::MpiWatchdog(MPI_Comm parent, double timeout_s)
    : timeout_s_(timeout_s), roll_call_s_(kFirstRollCall_s) {
  CheckMpi(MPI_Comm_dup(parent, &control_), "start");
  MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(control_, &rank_);
  MPI_Comm_size(control_, &size_);
}

void MpiWatchdog::Begin(const std::string& operation) {
  operation_ = operation;
  idle_ = false;
  ++sequence_;
  last_ = Clock::now();
}

double MpiWatchdog::Waited() const {
  return std::chrono::duration<double>(Clock::now() - last_).count();
}

void MpiWatchdog::ThrowIfCancelled() const {
  if (cancelled_) throw CommError(StrCat(NameOf(rank_), " gave up ", operation_));
}

void MpiWatchdog::LookAround() {
  ReceiveAll();
  CallTheRoll();
}

void MpiWatchdog::Serve() {
  if (closed_) return;
  idle_ = true;
  operation_ = activity_;
  LookAround();
}

void MpiWatchdog::AskEverybody() {
  answers_.assign(size_, {});
  Ask(sequence_);
}

void MpiWatchdog::Expire() {
  const double waited = Waited();
  ReceiveAll();
  answers_[rank_] = {true, false, sequence_, operation_.substr(0, kLongestText)};
  const std::string why = WhyNobodyComes(answers_, rank_, hosts_);
  TellEnd(why);
  throw CommError(StrCat(WaitedIn(waited), "; ", why, " (comm.timeout_s: ", timeout_s_, ")"));
}

void MpiWatchdog::Send(int to, Kind kind, int64_t asked, const std::string& text) {
  sent_.emplace_back();
  Sent& sent = sent_.back();
  sent.message = {kind, idle_, asked, sequence_, {}};
  std::strncpy(sent.message.text, text.c_str(), kLongestText);
  static_assert(sizeof(sent.message.text) == kLongestText + 1);
  CheckMpi(MPI_Isend(&sent.message, sizeof(Message), MPI_BYTE, to, kTag, control_, &sent.request),
           operation_);
}

void MpiWatchdog::Ask(int64_t asked) {
  for (int i = 0; i < size_; ++i) {
    if (i != rank_) Send(i, kQuestion, asked, operation_);
  }
}

void MpiWatchdog::ReceiveAll() {
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
    Hear(message, from);
  }
  ForgetSent();
}

void MpiWatchdog::Hear(const Message& message, int from) {
  if (!heard_.empty()) heard_[from] = true;
  switch (message.kind) {
    case kQuestion:
      return Send(from, kAnswer, message.asked, operation_);
    case kAnswer:
      if (message.asked != sequence_ || answers_.empty()) return;
      answers_[from] = {true, message.idle != 0, message.sequence, message.text};
      return;
    case kLastWords:
      last_words_.resize(size_);
      last_words_[from] = true;
      return;
    case kEnd: {
      if (told_end_) return;
      told_end_ = true;
      ended_by_ = from;
      const std::string me =
          idle_ ? StrCat(NameOf(rank_), " was busy with ", activity_) : WaitedIn(Waited());
      throw EndedByOther(StrCat(me, "; ", NameOf(from), " has ended the job: ", message.text));
    }
    default:
      return;
  }
}

void MpiWatchdog::ForgetSent() {
  for (auto it = sent_.begin(); it != sent_.end();) {
    int done = 0;
    CheckMpi(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE), operation_);
    it = done ? sent_.erase(it) : std::next(it);
  }
}

std::string MpiWatchdog::TellEnd(const std::string& reason) {
  if (closed_ || told_end_) return "";
  told_end_ = true;
  for (int i = 0; i < size_; ++i) {
    if (i != rank_) Send(i, kEnd, 0, reason);
  }
  return "";
}

void MpiWatchdog::Farewell() {
  if (closed_) return;
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
      ReceiveAll();
      std::this_thread::sleep_for(kNap);
    }
  } catch (const CommError&) {  // the first error matters more than one of the farewell
  }
}

void MpiWatchdog::CallTheRoll() {
  if (reported_ || !report_ || !asked_to_end_ || !asked_to_end_()) return;
  const auto now = Clock::now();
  if (roll_call_ == Clock::time_point()) {
    heard_.assign(size_, false);
    Ask(kRollCall);
    roll_call_ = now;
    return;
  }
  if (std::chrono::duration<double>(now - roll_call_).count() < roll_call_s_) return;
  roll_call_ = {};
  roll_call_s_ = std::min(2 * roll_call_s_, kLongestRollCall_s);
  std::vector<int> silent;
  for (int i = 0; i < size_; ++i) {
    if (i != rank_ && !heard_[i]) silent.push_back(i);
  }
  if (silent.empty()) return;
  reported_ = true;
  report_(StrCat(NameOf(rank_), " was told to end (SIGTERM) in ", operation_,
                 "; missing: ", NamesOfRanks(silent, hosts_)));
}

std::string MpiWatchdog::WaitedIn(double seconds) const {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", seconds);
  const bool says_when = activity_.empty() || operation_.find("step ") != std::string::npos ||
                         operation_.find("round ") != std::string::npos;
  return StrCat(NameOf(rank_), " waited ", text, " s in ", operation_,
                says_when ? "" : " (" + activity_ + ")");
}

}  // namespace gf
