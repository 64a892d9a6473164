#!/usr/bin/env bash
# Runs tifffile_test.py with a Python that has tifffile and imagecodecs: GF_TIFFFILE_PYTHON, or
# Debian's.
set -uo pipefail
python=${GF_TIFFFILE_PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import imagecodecs, numpy, tifffile' 2> /dev/null; then
  echo "SKIPPED: $python has no tifffile and imagecodecs: name one that has with" \
    "GF_TIFFFILE_PYTHON (python3 -m venv FOLDER && FOLDER/bin/pip install numpy tifffile" \
    "imagecodecs)"
  exit 0
fi
export OMP_WAIT_POLICY=passive
exec "$python" tests/data/image/tifffile_test.py tests/data/image/print_pixels
