#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/error.h"

namespace gf {

// Another rank has ended the job and has said so.
class EndedByOther : public CommError {
 public:
  using CommError::CommError;
};

// What the ranks of a job know of each other beside their collectives, and how the job ends when
// one of them fails: nobody waits for ever, and a message says why. This class itself does nothing:
// it serves worlds in which no rank can be missing. Each Communicator has a watchdog.
class Watchdog {
 public:
  virtual ~Watchdog() = default;

  // What this rank does while it is in no collective ("step 12"), for the messages of ranks
  // that wait for it.
  virtual void SetActivity(const std::string& activity) {}

  // For a job, right after its start. When it ends badly, this rank's last collectives are written
  // to FlightRecorderPath(prefix, rank) (empty: nowhere) and messages say so; and after a CommError
  // the process ends with exit code 3, whatever its other threads do.
  virtual void Guard(const std::string& flight_recorder) {}

  // Called, from any thread, when a CommError of a guarded job is about to end the process; an
  // empty function ends that. May take some seconds.
  virtual void BeforeExit(std::function<void()> body) {}

  // asked_to_end() tells, from any thread and to the end of the process, whether a signal has asked
  // for it. mpirun sends SIGTERM to the others when a rank dies, a second before it kills them: a
  // rank that does not answer then is reported, and the flight recorder written. If all answer,
  // nothing happens.
  virtual void WatchSignals(std::function<bool()> asked_to_end) {}
  // Receives such reports.
  virtual void ReportTo(std::function<void(const std::string&)> report) {}

  // An error of this rank alone ends the job: tells the other ranks why, so that each ends with a
  // message, and writes the flight recorder. Takes a second at most; Communicator::Abort must
  // follow. Returns what to add to this rank's message.
  virtual std::string TellEnd(const std::string& reason) { return ""; }

  // This rank's last words about the end of the job are written. Returns when all ranks have
  // written theirs, so that none is killed before, half a second later at most; on a rank that
  // another has ended, after a second, so that the other's exit code is the job's.
  virtual void Farewell() {}

  // Ends the collective under way on this rank, if any, with a CommError; from any thread. Only the
  // end of the process can follow.
  virtual void Cancel() {}

  // Answers other ranks' questions about what this one is doing. Called again and again while it is
  // in no collective.
  virtual void Serve() {}

  // Changes while a collective is under way and this rank's thread is alive; from any thread.
  virtual int64_t heartbeat() const { return 0; }
};

}  // namespace gf
