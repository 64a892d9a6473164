#!/usr/bin/env bash
# Runs opencv_test.py where OpenCV's Python module and the networks are.
set -uo pipefail
if [[ ! -d ${GF_DATA_DIR-}/caffe-nets ]]; then
  echo "SKIPPED: GF_DATA_DIR is not set or has no caffe-nets"
  exit 0
fi
exec tests/golden/with_modules.sh cv2,numpy python3-opencv \
  tests/models/opencv/opencv_test.py tests/models/opencv/dump_outputs "$GF_DATA_DIR/caffe-nets"
