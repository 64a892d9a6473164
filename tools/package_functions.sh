# What tools/package and its test share. To be sourced.

# glibc is the target's own; so are the libraries that belong to its driver and to CUDA.
own_libraries='^(ld-linux-x86-64|libc|libm|libpthread|libdl|librt|libresolv|libutil|linux-vdso)\.so'
cuda_libraries='^lib(cuda|cudart|cublas|cublasLt|cudnn[a-z_]*|nccl|nvrtc|cupti|nvidia-.*)\.so'

# stage_c_library LIBRARY ROOT: puts libgfpredict.so, its header and its example into the package.
# Relative paths are relative to the repository.
stage_c_library() {
  mkdir -p "$2"/{lib,include/predict,share/gfpredict}
  cp -L "$1" "$2/lib/libgfpredict.so"
  chmod u+w "$2/lib/libgfpredict.so"
  cp -L predict/gfpredict.h "$2/include/predict/"
  cp -L predict/example.c "$2/share/gfpredict/"
}

# copy_needed ROOT FILE...: puts the libraries that programs and libraries need into ROOT/lib.
copy_needed() {
  local root=$1 name path
  shift
  while read -r name path; do
    [[ $name =~ $own_libraries || $name =~ $cuda_libraries ]] || cp -L "$path" "$root/lib/$name"
  done < <(ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u)
}

# compile_example ROOT PROGRAM: the command of docs/predicting.md, with every warning an error.
compile_example() {
  gcc -Wall -Wextra -Werror "$1/share/gfpredict/example.c" -I"$1/include" -L"$1/lib" -lgfpredict \
    -Wl,-rpath,"$1/lib" -o "$2"
}
