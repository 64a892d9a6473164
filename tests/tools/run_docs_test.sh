#!/usr/bin/env bash
exec python3 tests/tools/run_docs_test.py -v
