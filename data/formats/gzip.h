#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// The bytes of a file, unpacked if it is gzip. `limit` is asked after every piece how long
// the whole may become, with what is there so far: reading stops one byte beyond. Throws
// UserError if the file cannot be read or the gzip data are damaged or cut off. Data after the end
// of the gzip data are ignored.
std::vector<uint8_t> ReadMaybeGzip(const std::string& path,
                                   int64_t (*limit)(const std::vector<uint8_t>& so_far));

}  // namespace gf
