#!/usr/bin/env bash
# Runs imgcodecs_test.py where OpenCV's Python module is.
export OPENCV_IO_ENABLE_OPENEXR=1
exec tests/golden/with_modules.sh cv2,numpy python3-opencv \
  tests/data/image/imgcodecs_test.py tests/data/image/print_pixels
