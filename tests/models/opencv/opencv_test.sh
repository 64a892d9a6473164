#!/usr/bin/env bash
# Runs opencv_test.py where OpenCV's Python module and the networks are.
set -uo pipefail
python=/usr/bin/python3
if ! "$python" -c 'import cv2, numpy' 2>/dev/null; then
  echo "SKIPPED: $python has no cv2 (Debian: python3-opencv)"
  exit 0
fi
if [[ ! -d ${GF_DATA_DIR-}/caffe-nets ]]; then
  echo "SKIPPED: GF_DATA_DIR is not set or has no caffe-nets"
  exit 0
fi
export OMP_WAIT_POLICY=passive
exec "$python" tests/models/opencv/opencv_test.py tests/models/opencv/dump_outputs \
  "$GF_DATA_DIR/caffe-nets"
