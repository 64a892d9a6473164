#!/usr/bin/env bash
# Runs imgcodecs_test.py where OpenCV's Python module is.
set -uo pipefail
python=/usr/bin/python3
if ! "$python" -c 'import cv2, numpy' 2> /dev/null; then
  echo "SKIPPED: $python has no cv2 (Debian: python3-opencv)"
  exit 0
fi
export OMP_WAIT_POLICY=passive OPENCV_IO_ENABLE_OPENEXR=1
exec "$python" tests/data/image/imgcodecs_test.py tests/data/image/print_pixels
