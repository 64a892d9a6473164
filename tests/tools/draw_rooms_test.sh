#!/usr/bin/env bash
exec python3 tests/tools/draw_rooms_test.py -v
