#!/usr/bin/env bash
# with_torch.sh SCRIPT [ARGUMENTS...]: runs a test in Python, or says that PyTorch is missing.
exec tests/golden/with_modules.sh torch,torchvision 'python3-torch python3-torchvision' "$@"
