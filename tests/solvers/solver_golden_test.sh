#!/usr/bin/env bash
# Runs the comparison with PyTorch, or says that it is missing.
set -uo pipefail
python=/usr/bin/python3
if ! "$python" -c 'import torch' 2> /dev/null; then
  echo "SKIPPED: $python has no torch (Debian: python3-torch)"
  exit 0
fi
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
exec "$python" tests/solvers/solver_golden_test.py tests/solvers/dump_trajectory -v
