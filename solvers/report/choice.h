#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "comm/flow/exchange_choice.h"

namespace gf {

// The table by which comm.mode AUTO has chosen, as lines for people, and as a record for the log.
std::vector<std::string> LinesOf(const ExchangeChoice& choice);
nlohmann::ordered_json RecordOf(const ExchangeChoice& choice);

}  // namespace gf
