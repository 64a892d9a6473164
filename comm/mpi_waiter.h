#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace gf {

// Throws CommError if an MPI call failed.
void CheckMpi(int code, const std::string& operation);

// Waits for non-blocking MPI operations under a deadline. When it draws near, the waiting rank
// asks all others (on a communicator of its own) what they are doing; whoever is silent or
// elsewhere is named in the error. Every rank answers while it waits, and in Serve.
class MpiWaiter {
 public:
  // `parent` is duplicated (collective). The deadline is in seconds.
  MpiWaiter(MPI_Comm parent, double timeout_s);

  // Names for messages; until then ranks are numbers.
  void SetHosts(const std::vector<std::string>& hosts) { hosts_ = hosts; }

  // Returns when the request is complete. `bytes`: how much travels; polls without sleeping for
  // about as long as that takes. Throws CommError.
  void Wait(MPI_Request* request, const std::string& operation, int64_t bytes);

  // Transport::Drive.
  void Drive(const std::function<Progress()>& advance, const std::string& operation);

  // Answers questions while this rank is in no operation but does `activity`.
  void Serve(const std::string& activity);

  // Counts looks at what is under way; from any thread.
  int64_t heartbeat() const { return heartbeat_; }

  // Ends Wait and Drive with a CommError; from any thread.
  void Cancel() { cancelled_ = true; }

 private:
  struct Message {
    int64_t is_answer;
    int64_t idle;      // the sender is in no operation, `operation` is what it does
    int64_t asked;     // number of the operation that the asking rank waits for
    int64_t sequence;  // that of the sender
    char operation[224];
  };
  struct Sent {
    Message message;
    MPI_Request request;
  };

  void Drive(const std::function<Progress()>& advance, const std::string& operation,
             double patience_s);
  void Send(int to, bool is_answer, int64_t asked);
  void AskEverybody();
  void AnswerAll();
  [[noreturn]] void Expire(double waited_s);
  std::string NameOf(int rank) const;

  const double timeout_s_;
  MPI_Comm control_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  int64_t sequence_ = 0;
  std::string operation_;
  bool idle_ = true;
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> heartbeat_{0};
  std::list<Sent> sent_;
  std::vector<Message> answers_;
};

}  // namespace gf
