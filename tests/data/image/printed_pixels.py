"""Reads what print_pixels writes."""

import subprocess

import numpy

TYPES = {"UINT8": numpy.uint8, "UINT16": numpy.uint16, "FP32": numpy.float32}


def decode(print_pixels, paths):
    """The samples of each file as an array of height x width x channels."""
    output = subprocess.run([print_pixels] + paths, stdout=subprocess.PIPE, check=True).stdout
    for path in paths:
        line, _, output = output.partition(b"\n")
        height, width, channels, name = line.decode().split()
        shape = int(height), int(width), int(channels)
        kind = numpy.dtype(TYPES[name])
        size = numpy.prod(shape) * kind.itemsize
        yield path, numpy.frombuffer(output[:size], kind).reshape(shape)
        output = output[size:]


def expect_equal(path, ours, theirs):
    """Equal to the bit, and of one type."""
    theirs = theirs.reshape(theirs.shape[0], theirs.shape[1], -1)
    assert ours.dtype == theirs.dtype, f"{path}: {ours.dtype}, expected {theirs.dtype}"
    assert ours.shape == theirs.shape, f"{path}: {ours.shape}, expected {theirs.shape}"
    different = (ours.view(numpy.uint8) != numpy.ascontiguousarray(theirs).view(numpy.uint8)).sum()
    assert different == 0, f"{path}: {different} bytes differ"
