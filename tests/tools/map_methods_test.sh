#!/usr/bin/env bash
exec python3 tests/tools/map_methods_test.py -v
