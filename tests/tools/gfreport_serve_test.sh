#!/usr/bin/env bash
exec python3 tests/tools/gfreport_serve_test.py -v
