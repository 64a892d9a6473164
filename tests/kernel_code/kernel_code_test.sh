#!/usr/bin/env bash
# kernel_code_test.sh ARCH [TESTS...]: runs the test for this GPU's code.
exec /usr/bin/python3 tests/kernel_code/kernel_code_test.py "$@" -v
