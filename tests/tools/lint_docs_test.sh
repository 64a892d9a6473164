#!/usr/bin/env bash
exec python3 tests/tools/lint_docs_test.py -v
