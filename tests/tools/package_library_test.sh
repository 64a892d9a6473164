#!/usr/bin/env bash
# The C library of tools/package: a program that is compiled against the package runs wherever the
# package lies, with the libraries of the package.
set -euo pipefail
. tools/package_functions.sh
unset LD_LIBRARY_PATH
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

staged=$TEST_TMPDIR/staged
stage_c_library predict/libgfpredict.so "$staged"
if ldd "$staged/lib/libgfpredict.so" | grep -q 'lib[atu]*san\.so'; then
  echo "SKIPPED: a library with a sanitizer needs a program with it"
  exit 0
fi
copy_needed "$staged" "$staged/lib/libgfpredict.so"
[[ $(ls "$staged/lib") == *libprotobuf.so* ]] || fail "no libraries: $(ls "$staged/lib")"
package=$TEST_TMPDIR/moved
mv "$staged" "$package"
for file in include/predict/gfpredict.h share/gfpredict/example.c lib/libgfpredict.so; do
  [[ -s $package/$file ]] || fail "no $file"
done

cd "$TEST_TMPDIR"
compile_example "$package" example
# Libraries of libraries, too, come from the package.
while read -r name path; do
  [[ $name =~ $own_libraries || $name =~ $cuda_libraries || $path == "$package"/lib/* ]] ||
    fail "$name comes from $path"
done < <(ldd example | awk '$2 == "=>" { print $1, $3 }')

code=0
./example nowhere image.png > said 2> errors || code=$?
[[ $code == 2 && ! -s said ]] || fail "exit code $code: $(cat said errors)"
grep -q '^example: checkpoint: nowhere is not a file or folder$' errors || fail "$(cat errors)"
code=0
./example > said 2> errors || code=$?
[[ $code == 2 ]] && grep -q '^usage: example CHECKPOINT IMAGE' errors || fail "$code: $(cat errors)"
echo passed
