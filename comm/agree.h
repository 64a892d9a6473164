#pragma once

#include <functional>
#include <string>

#include "comm/communicator.h"
#include "core/error.h"

namespace gf {

// A UserError that all ranks know of: one of them prints it, the others end quietly.
class AgreedError : public UserError {
 public:
  using UserError::UserError;
};

// Runs `body`, which must not communicate, on every rank. If it throws UserError on any, all
// ranks throw AgreedError with the message, which names the ranks unless it is the same on all.
void AgreeOnErrors(Communicator* comm, const std::string& label, const std::function<void()>& body);

// Runs `body`, which must not communicate, on rank 0 while the others wait, however long it
// takes: the ranks exchange a sign of life now and then. A UserError of the body is thrown on
// all ranks as AgreedError.
void RunOnRankZero(Communicator* comm, const std::string& label, const std::function<void()>& body);

}  // namespace gf
