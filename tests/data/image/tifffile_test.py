"""TIFFs that tifffile writes: our samples equal the samples of tifffile.imread, to the bit.

Usage: tifffile_test.py PRINT_PIXELS"""

import itertools
import os
import sys
import tempfile

import numpy
import tifffile

sys.path.insert(0, "tests/data/image")
import printed_pixels

HEIGHT, WIDTH = 37, 53
TYPES = ["uint8", "uint16", "float32"]
CHANNELS = [1, 2, 3, 4, 5, 8, 16]


def samples(channels, planar, kind):
    """In tifffile's order: channels first if they are stored in planes."""
    rng = numpy.random.RandomState(channels)
    shape = (HEIGHT, WIDTH) if channels == 1 else (HEIGHT, WIDTH, channels)
    if kind == "float32":
        image = ((rng.rand(*shape) - 0.5) * 1000).astype(kind)
    else:
        image = rng.randint(0, numpy.iinfo(kind).max + 1, shape).astype(kind)
    planes = channels > 1 and planar == "separate"
    return numpy.ascontiguousarray(image.transpose(2, 0, 1)) if planes else image


def channels_last(image, channels, planar):
    planes = channels > 1 and planar == "separate"
    return image.transpose(1, 2, 0) if planes else image


def main():
    print_pixels = sys.argv[1]
    cases = itertools.product(TYPES, CHANNELS, ["contig", "separate"], [None, (16, 16)],
                              [None, "zlib", "lzw"], ["<", ">"])
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (kind, channels, planar, tile, compression, order) in enumerate(cases):
            path = os.path.join(folder, f"{number}.tif")
            image = samples(channels, planar, kind)
            settings = {"byteorder": order, "tile": tile, "compression": compression}
            settings["photometric"] = "rgb" if channels in (3, 4) else "minisblack"
            if channels > 1:
                settings["planarconfig"] = planar
                extra = channels - (3 if channels in (3, 4) else 1)
                if extra:
                    settings["extrasamples"] = ["unspecified"] * extra
            tifffile.imwrite(path, image, **settings)
            files[path] = channels, planar, settings
        for path, ours in printed_pixels.decode(print_pixels, list(files)):
            channels, planar, settings = files[path]
            theirs = channels_last(tifffile.imread(path), channels, planar)
            theirs = theirs.astype(theirs.dtype.newbyteorder("="))
            printed_pixels.expect_equal(f"{channels} channels, {planar}, {settings}", ours, theirs)
    print(f"{len(files)} files have tifffile's samples")
    assert len(files) == 3 * 7 * 2 * 2 * 3 * 2


if __name__ == "__main__":
    main()
