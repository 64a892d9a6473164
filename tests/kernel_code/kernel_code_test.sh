#!/usr/bin/env bash
# kernel_code_test.sh ARCH [TESTS...]: runs the test for this GPU's code, or says that nvcc is
# missing.
set -euo pipefail
if [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
  echo "SKIPPED: no /usr/local/cuda/bin/nvcc: the kernels' code is not checked"
  exit 0
fi
exec /usr/bin/python3 tests/kernel_code/kernel_code_test.py "$@" -v
