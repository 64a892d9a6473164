"""Evaluation's pixels are those of torchvision's Resize and CenterCrop on PIL images, to the bit.

Usage: pil_test.py DUMP_SAMPLES. Draws its own pictures; with $GF_DATA_DIR also real ones.
"""
import io
import os
import subprocess
import sys
import tarfile
import tempfile

import numpy
from PIL import Image
from torchvision import transforms

FILTERS = {"TRIANGLE": transforms.InterpolationMode.BILINEAR,
           "LANCZOS": transforms.InterpolationMode.LANCZOS}


def draw(width, height, seed):
    """Smooth waves, sharp edges and noise."""
    rng = numpy.random.RandomState(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = 127 + 80 * numpy.sin(x / 7.3)[..., None] * numpy.cos(
        y[..., None] / numpy.array([3.1, 11.7, 29.0]))
    checks = ((x // 5 + y // 9) % 2 * 60)[..., None]
    noise = rng.randint(-25, 25, (height, width, 3))
    return Image.fromarray(numpy.clip(waves + checks + noise, 0, 255).astype(numpy.uint8))


def write_shard(path, mode):
    with tarfile.open(path, "w") as tar:
        sizes = [(500, 375), (375, 500), (256, 256), (259, 301), (1024, 333), (90, 64), (301, 260)]
        for i, size in enumerate(sizes):
            image = io.BytesIO()
            draw(*size, seed=i).convert(mode).save(image, "PNG" if i % 2 else "JPEG", quality=92)
            for name, data in ((f"{i}.jpg", image.getvalue()), (f"{i}.cls", b"%d" % i)):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def ours(dump, settings):
    output = subprocess.run([dump, settings], stdout=subprocess.PIPE, check=True).stdout
    while output:
        line, _, output = output.partition(b"\n")
        label, height, width, channels = map(int, line.split())
        count = height * width * channels
        pixels = numpy.frombuffer(output[:count], numpy.uint8)
        yield label, pixels.reshape(height, width, channels)
        output = output[count:]


def images(shard, mode):
    with tarfile.open(shard) as tar:
        for member in tar:
            if member.name.endswith(".jpg"):
                yield Image.open(io.BytesIO(tar.extractfile(member).read())).convert(mode)


def compare(dump, shard, shorter, crop, mode="RGB", name="TRIANGLE"):
    pipeline = transforms.Compose([transforms.Resize(shorter, FILTERS[name]),
                                   transforms.CenterCrop(crop)])
    settings = (f'source: "{shard}" resize_shorter: {shorter} crop_size: {crop} '
                f"filter: {name} channels: {len(mode)}")
    total = different = count = 0
    for (_, mine), image in zip(ours(dump, settings), images(shard, mode)):
        theirs = numpy.asarray(pipeline(image)).reshape(crop, crop, len(mode))
        assert theirs.shape == mine.shape, (theirs.shape, mine.shape)
        total += theirs.size
        different += (theirs != mine).sum()
        count += 1
    print(f"{os.path.basename(shard)} {mode} {name} {shorter} {crop}: {count} images, "
          f"{different} of {total} values differ")
    assert count > 0 and different == 0, "not as PIL resizes"


def main():
    dump = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        shard = os.path.join(folder, "drawn.tar")
        for mode in "RGB", "L":
            write_shard(shard, mode)
            for shorter, crop in ((256, 224), (64, 57), (333, 300)):
                for name in FILTERS:
                    compare(dump, shard, shorter, crop, mode, name)
    real = os.path.join(os.environ.get("GF_DATA_DIR", "/nowhere"),
                        "imagenet-sample/imagenet-sample-000000.tar")
    if os.path.exists(real):
        compare(dump, real, 256, 224)
    else:
        print("SKIPPED real images: GF_DATA_DIR has no imagenet-sample")


if __name__ == "__main__":
    main()
