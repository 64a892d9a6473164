#!/usr/bin/env bash
# A library that wants a version of glibc for arc4random alone runs without that version, with the
# package's arc4random; another need for it is an error.
set -euo pipefail
root=$PWD
cd "$TEST_TMPDIR"
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# It stands for glibc: the functions' version is one that the real one does not have.
cat > new_glibc.c << 'END'
unsigned arc4random(void) { return 1; }
int other(void) { return 2; }
int old(void) { return 3; }
END
echo 'GLIBC_2.1 { global: old; }; GLIBC_9.9 { global: arc4random; other; };' > new.map
echo 'int old(void) { return 3; }' > old_glibc.c
echo 'GLIBC_2.1 { global: old; };' > old.map
build() { # FILE.c MAP: libfake.so
  gcc -shared -fPIC "$1" -Wl,--version-script="$2" -Wl,-soname,libfake.so -o libfake.so
}
build new_glibc.c new.map
echo 'unsigned arc4random(void); int old(void);
int user(void) { arc4random(); return old(); }' > user.c
echo 'int other(void); int old(void); int needs_other(void) { return other() + old(); }' > other.c
for name in user other; do
  gcc -shared -fPIC "$name.c" -L. -lfake -Wl,-rpath,"$PWD" -o "lib$name.so"
done
gcc -O2 -Wall -Wextra -Werror -shared -fPIC "$root/tools/arc4random.c" -o libarc4random.so
echo 'int user(void); int main(void) { return user(); }' > main.c
gcc main.c -L. -luser -lfake -Wl,-rpath,"$PWD" -o main
run() { # the exit code of main, where glibc is old
  local code=0
  LD_PRELOAD=$PWD/libarc4random.so ./main 2> errors || code=$?
  echo "$code"
}

build old_glibc.c old.map
[[ $(run) != 3 ]] || fail "the version is not needed to begin with"
grep -q "GLIBC_9.9' not found" errors || fail "$(cat errors)"

before=$(sha256sum libarc4random.so)
"$root/tools/lower_glibc" GLIBC_9.9 libuser.so libarc4random.so > said
grep -q '^libuser.so: GLIBC_9.9 is no longer needed$' said || fail "$(cat said)"
[[ $(wc -l < said) == 1 && $(sha256sum libarc4random.so) == "$before" ]] || fail "changed too much"
[[ $(run) == 3 ]] || fail "does not run: $(cat errors)"
[[ ! -s errors ]] || fail "$(cat errors)"

code=0
"$root/tools/lower_glibc" GLIBC_9.9 libother.so 2> errors || code=$?
[[ $code == 1 ]] || fail "exit code $code"
grep -q 'libother.so needs GLIBC_9.9 for other' errors || fail "$(cat errors)"

# The numbers: below the bound, and all of them come.
cat > numbers.c << 'END'
#include <stdint.h>
uint32_t arc4random_uniform(uint32_t bound);
void arc4random_buf(void* buffer, __SIZE_TYPE__ bytes);
int main(void) {
  int seen[7] = {0}, nonzero = 0;
  unsigned char bytes[1000] = {0};
  for (int i = 0; i < 1000; ++i) {
    const uint32_t value = arc4random_uniform(7);
    if (value >= 7) return 1;
    ++seen[value];
  }
  for (int i = 0; i < 7; ++i) {
    if (seen[i] < 50) return 2;
  }
  arc4random_buf(bytes, 999);
  for (int i = 0; i < 999; ++i) nonzero += bytes[i] != 0;
  return nonzero < 900 || bytes[999] != 0 || arc4random_uniform(1) != 0 ||
         arc4random_uniform(0) != 0;
}
END
gcc numbers.c "$root/tools/arc4random.c" -o numbers
./numbers || fail "numbers: $?"
echo passed
