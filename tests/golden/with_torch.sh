#!/usr/bin/env bash
# with_torch.sh SCRIPT [ARGUMENTS...]: runs a test in Python, or says that PyTorch is missing.
set -uo pipefail
python=/usr/bin/python3
if ! "$python" -c 'import torch, torchvision' 2> /dev/null; then
  echo "SKIPPED: $python has no torch and torchvision (Debian: python3-torch python3-torchvision)"
  exit 0
fi
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
exec "$python" "$@"
