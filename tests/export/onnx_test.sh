#!/usr/bin/env bash
# onnx_test.sh layers|shipped|public: runs onnx_test.py with a Python that has onnx and onnxruntime:
# GF_ONNX_PYTHON, or Debian's.
set -uo pipefail
python=${GF_ONNX_PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import numpy, onnx, onnxruntime' 2> /dev/null; then
  echo "SKIPPED: $python has no onnx and onnxruntime: name one that has with GF_ONNX_PYTHON" \
    "(python3 -m venv FOLDER && FOLDER/bin/pip install numpy onnx onnxruntime)"
  exit 0
fi
networks=models
if [[ $1 == public ]]; then
  networks=${GF_DATA_DIR-}/caffe-nets
  if [[ ! -d $networks ]]; then
    echo "SKIPPED: GF_DATA_DIR is not set or has no caffe-nets"
    exit 0
  fi
fi
export OMP_WAIT_POLICY=passive
exec "$python" tests/export/onnx_test.py "$1" tests/export/dump_onnx "$networks"
