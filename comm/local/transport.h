#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/transport.h"

namespace gf {

// Messages between the threads of one process. What the ranks of a world share.
class LocalMail;

std::shared_ptr<LocalMail> NewLocalMail(const std::vector<std::string>& hosts, double timeout_s);

// Ends the waiting of all ranks with a CommError; from any thread.
void BreakLocalMail(LocalMail* mail, const std::string& why);

std::unique_ptr<Transport> NewLocalTransport(int rank, std::shared_ptr<LocalMail> mail);

}  // namespace gf
