#!/usr/bin/env bash
exec /usr/bin/python3 tests/kernel_code/listing_test.py -v
