#pragma once

#include <string>

#include "core/file_descriptor.h"

namespace gf {

// The file in a folder that LockFolder locks.
constexpr char kLockFile[] = ".lock";

// Claims a folder for this process, as long as the descriptor is open: waits up to `patience_s`
// seconds for another run that is just ending, then throws UserError. Returns none where the file
// system has no locks. Creates FOLDER/.lock, which remains, and the folder again if the other run
// has removed it.
FileDescriptor LockFolder(const std::string& folder, double patience_s);

}  // namespace gf
