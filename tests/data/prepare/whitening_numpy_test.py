"""The filters of gfdata whiten have the eigenvalues and vectors of NumPy's eigh.

Usage: whitening_numpy_test.py GFDATA.
"""
import os
import struct
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, "tests/golden")
import safetensors_io  # noqa: E402

IMAGES, HEIGHT, WIDTH, MEAN, STD, EPS = 300, 12, 15, 110, 50, 5e-4
JOB = """
net: "net.prototxt"
train_data { source: "train-images-idx3-ubyte" channels: 1 mean: %d std: %d }
solver { base_lr: 1 max_steps: 1 }
"""


def smooth_images():
    """Images in which neighbors are alike, with some noise."""
    random = numpy.random.default_rng(3)
    rows = numpy.arange(HEIGHT)[:, None] / HEIGHT
    columns = numpy.arange(WIDTH)[None, :] / WIDTH
    light, down, right = random.uniform(size=(3, IMAGES, 1, 1))
    values = 60 + 100 * light + 60 * down * rows + 40 * right * columns
    values = values + random.normal(0, 8, (IMAGES, HEIGHT, WIDTH))
    return values.clip(0, 255).astype(numpy.uint8)


def write_idx(images):
    with open("train-images-idx3-ubyte", "wb") as out:
        out.write(struct.pack(">4i", 0x803, *images.shape) + images.tobytes())
    with open("train-labels-idx1-ubyte", "wb") as out:
        out.write(struct.pack(">2i", 0x801, len(images)) + bytes(len(images)))


def mean_products(images, kernel):
    """The mean of p p^T over all patches p."""
    pixels = (images.astype(numpy.float64) - MEAN) / STD
    patches = numpy.lib.stride_tricks.sliding_window_view(pixels, (kernel, kernel), (1, 2))
    patches = patches.reshape(-1, kernel * kernel)
    return patches.T @ patches / len(patches)


def main():
    gfdata = os.path.abspath(sys.argv[1])
    os.chdir(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
    images = smooth_images()
    write_idx(images)
    with open("job.prototxt", "w", encoding="utf-8") as out:
        out.write(JOB % (MEAN, STD))
    for kernel, count in (1, IMAGES), (2, IMAGES), (3, 100), (4, 7):
        subprocess.run([gfdata, "whiten", "--config=job.prototxt", "--name=first.weight",
                        "--out=white.safetensors", "--kernel=%d" % kernel,
                        "--images=%d" % count], check=True)
        tensors = safetensors_io.read("white.safetensors")
        assert list(tensors) == ["first.weight"], list(tensors)
        size = kernel * kernel
        assert tensors["first.weight"].shape == (2 * size, 1, kernel, kernel)
        found = tensors["first.weight"].reshape(2 * size, size).astype(numpy.float64)
        assert (found[size:] == -found[:size]).all()
        products = mean_products(images[:count], kernel)
        values, vectors = numpy.linalg.eigh(products)
        values, vectors = values[::-1], vectors.T[::-1]
        print("kernel", kernel, "eigenvalues", values)
        lengths = (found[:size] ** 2).sum(1)
        assert numpy.abs(lengths * (values + EPS) - 1).max() < 1e-4
        inverse = numpy.linalg.inv(products + EPS * numpy.eye(size))
        error = numpy.abs(found[:size].T @ found[:size] - inverse).max()
        assert error < 1e-4 * numpy.abs(inverse).max(), (kernel, error)
        # The largest eigenvalue is far from the others, so its vector is well defined.
        cosine = abs(found[0] @ vectors[0]) / numpy.sqrt(lengths[0])
        assert cosine > 1 - 1e-6, (kernel, cosine)


main()
