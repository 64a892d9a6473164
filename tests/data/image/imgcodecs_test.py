"""Formats that OpenCV writes: our pixels equal the pixels of cv2.imread, to the bit, and LogLuv to
1e-5.

Usage: imgcodecs_test.py PRINT_PIXELS"""

import os
import struct
import sys
import tempfile

import cv2
import numpy

sys.path.insert(0, "tests/data/image")
import printed_pixels

HEIGHT, WIDTH = 37, 53


def pixels(channels, kind):
    rng = numpy.random.RandomState(channels)
    shape = (HEIGHT, WIDTH, channels) if channels > 1 else (HEIGHT, WIDTH)
    if kind == numpy.float32:
        return (rng.rand(*shape) * 50).astype(kind)
    return rng.randint(0, numpy.iinfo(kind).max + 1, shape).astype(kind)


def sun_raster(path):
    """24 bits, blue first, rows padded to 2 bytes, as the format's "standard" type says."""
    bgr = pixels(3, numpy.uint8)
    stride = (3 * WIDTH + 1) // 2 * 2
    header = struct.pack(">8I", 0x59a66a95, WIDTH, HEIGHT, 24, stride * HEIGHT, 1, 0, 0)
    with open(path, "wb") as file:
        file.write(header)
        for row in bgr:
            file.write(row.tobytes().ljust(stride, b"\0"))


# Ending, channels, type, parameters of imwrite, whether the file stores the pixels exactly.
CASES = [
    (".webp", 3, numpy.uint8, [cv2.IMWRITE_WEBP_QUALITY, 101], True),
    (".webp", 4, numpy.uint8, [cv2.IMWRITE_WEBP_QUALITY, 101], False),
    (".webp", 3, numpy.uint8, [cv2.IMWRITE_WEBP_QUALITY, 80], False),
    (".bmp", 1, numpy.uint8, [], True),
    (".bmp", 3, numpy.uint8, [], True),
    (".bmp", 4, numpy.uint8, [], False),
    (".jp2", 1, numpy.uint8, [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, 1000], False),
    (".jp2", 3, numpy.uint8, [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, 1000], False),
    (".jp2", 3, numpy.uint16, [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, 1000], False),
    (".exr", 1, numpy.float32, [cv2.IMWRITE_EXR_TYPE, cv2.IMWRITE_EXR_TYPE_FLOAT], False),
    (".exr", 3, numpy.float32, [cv2.IMWRITE_EXR_TYPE, cv2.IMWRITE_EXR_TYPE_FLOAT], True),
    (".hdr", 3, numpy.float32, [], False),
    (".pgm", 1, numpy.uint8, [], True),
    (".pgm", 1, numpy.uint16, [], True),
    (".ppm", 3, numpy.uint8, [], True),
    (".ppm", 3, numpy.uint16, [], True),
    (".pam", 3, numpy.uint8, [], False),
    (".pfm", 1, numpy.float32, [], True),
    (".pfm", 3, numpy.float32, [], True),
]


def to_rgb(image):
    if image.ndim == 3 and image.shape[2] == 3:
        return image[..., ::-1]
    if image.ndim == 3 and image.shape[2] == 4:
        return image[..., [2, 1, 0, 3]]
    return image


def main():
    print_pixels = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        paths, missing = [], []
        for number, (ending, channels, kind, parameters, exact) in enumerate(CASES):
            path = os.path.join(folder, f"{number}{ending}")
            image = pixels(channels, kind)
            try:
                written = cv2.imwrite(path, image, parameters)
            except cv2.error:
                written = False
            read = cv2.imread(path, cv2.IMREAD_UNCHANGED) if written else None
            if read is None:
                missing.append(f"{ending} of {channels} x {kind.__name__}")
                continue
            assert not exact or numpy.array_equal(read, image), f"{path}: the file is not exact"
            paths.append(path)
        path = os.path.join(folder, "sun.ras")
        sun_raster(path)
        if cv2.imread(path, cv2.IMREAD_UNCHANGED) is None:
            missing.append(".ras")
        else:
            paths.append(path)
        # OpenCV 4 writes colors in floating point as LogLuv, without which they are exact.
        log_luv = os.path.join(folder, "log_luv.tif")
        assert cv2.imwrite(log_luv, pixels(3, numpy.float32))
        paths.append(log_luv)
        for path, ours in printed_pixels.decode(print_pixels, paths):
            theirs = to_rgb(cv2.imread(path, cv2.IMREAD_UNCHANGED))
            if path == log_luv:
                assert ours.dtype == theirs.dtype == numpy.float32
                assert numpy.abs(ours - theirs).max() < 1e-5 * numpy.abs(theirs).max()
            else:
                printed_pixels.expect_equal(path, ours, theirs)
            print(f"equal {os.path.basename(path)} {ours.shape} {ours.dtype}")
    print(f"{len(paths)} files have OpenCV's pixels; this OpenCV does not write or read: {missing}")
    assert len(missing) <= 4, "too few formats are compared"


if __name__ == "__main__":
    main()
