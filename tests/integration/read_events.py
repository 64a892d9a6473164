"""Prints "step name value" of TensorBoard's event files; written from the description of the
format alone. Exits with 1 if a record's length or sum is wrong."""
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def check(data, stored):
    crc = crc32c(data)
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    if masked != struct.unpack("<I", stored)[0]:
        sys.exit("wrong sum")


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of a message of protobuf's wire format."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            code, size = {1: ("<d", 8), 5: ("<f", 4)}[kind]
            value = struct.unpack(code, data[at:at + size])[0]
            at += size
        yield key >> 3, value


def records(path):
    with open(path, "rb") as source:
        data = source.read()
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        check(head, data[at + 8:at + 12])
        size = struct.unpack("<Q", head)[0]
        message = data[at + 12:at + 12 + size]
        check(message, data[at + 12 + size:at + 16 + size])
        at += 16 + size
        yield dict(fields(message)) | {"summary": [v for n, v in fields(message) if n == 5]}


assert crc32c(b"123456789") == 0xE3069283  # the published check value
for name in sys.argv[1:]:
    events = list(records(name))
    if events[0].get(3) != b"brain.Event:2":
        sys.exit("no file version")
    for event in events[1:]:
        for summary in event["summary"]:
            for _, item in fields(summary):
                scalar = dict(fields(item))
                print(event[2], scalar[1].decode(), repr(scalar[2]))
