#!/usr/bin/env bash
exec python3 tests/tools/test_summary_test.py -v
