/* arc4random for a glibc without it (before 2.36), by the kernel's random numbers. The package's
 * `run` loads it before everything else; see tools/lower_glibc. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void* buffer, size_t bytes) {
  char* at = (char*)buffer;
  while (bytes > 0) {
    const ssize_t got = getrandom(at, bytes, 0);
    if (got < 0) continue; /* a signal came */
    at += got;
    bytes -= (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}

/* Below `bound`, each equally likely. */
uint32_t arc4random_uniform(uint32_t bound) {
  if (bound < 2) return 0;
  const uint32_t excess = -bound % bound; /* 2^32 modulo bound */
  uint32_t value;
  do {
    value = arc4random();
  } while (value < excess);
  return value % bound;
}
