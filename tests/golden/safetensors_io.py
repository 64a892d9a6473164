"""A reader and a writer of safetensors files: an 8-byte little-endian header length, a JSON header
{name: {"dtype", "shape", "data_offsets": [begin, end]}}, then the raw little-endian data, without
gaps in the order of the header."""

import json
import struct

import numpy

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "|u1"}


def read(path):
    """Returns {name: numpy array}."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).copy()
    return tensors


def write(path, tensors):
    """Writes {name: numpy array}."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    arrays = {name: numpy.asarray(array, order="C") for name, array in tensors.items()}
    header, offset = {}, 0
    for name, array in arrays.items():
        span = [offset, offset + array.nbytes]
        header[name] = {"dtype": names[array.dtype.str], "shape": array.shape, "data_offsets": span}
        offset = span[1]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(array.tobytes())
