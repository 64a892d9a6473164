#pragma once

#include <cstddef>
#include <cstdint>

// What every target defines, for libFuzzer and for the driver in mutate.cc: reads these bytes as
// hostile input. Errors that the product reports are caught; anything else is a find.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
