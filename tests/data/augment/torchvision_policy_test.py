"""Random policies draw as torchvision's RandAugment, TrivialAugmentWide and RandomErasing do, and
the operations give the pixels that torchvision gives for PIL images, to the bit.

Usage: torchvision_policy_test.py RUN_OPERATIONS
"""
import collections
import os
import subprocess
import sys
import unittest

import numpy
import torch
from PIL import Image
from torchvision import transforms
from torchvision.transforms import InterpolationMode, autoaugment

RUN = os.path.abspath(sys.argv.pop(1))
SIZES = [(32, 32), (45, 61), (224, 224), (7, 3), (2, 5), (1, 1)]
ROUNDING = 1e-6  # of magnitudes: torch.linspace counts in FP32, with an error of its own


def draw(height, width, channels, seed):
    """Waves, edges and noise; flat and few levels, too."""
    rng = numpy.random.RandomState(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = 127 + 90 * numpy.sin(x / 5.3)[..., None] * numpy.cos(y[..., None] / [3.1, 11.7, 29.0])
    pixels = waves + ((x // 4 + y // 6) % 2 * 50)[..., None] + rng.randint(-30, 30,
                                                                          (height, width, 3))
    if seed % 4 == 1:
        pixels = pixels // 3 + 60
    if seed % 4 == 2:
        pixels[..., 0] = 77
    if seed % 4 == 3:
        pixels = pixels // 64 * 64
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8)[..., :channels]


def magnitudes(space, name):
    values, signed = space[name]
    values = [float(v) for v in values.flatten()]
    return sorted({s * v for v in values for s in ((1, -1) if signed else (1,))})


def spaces(size):
    rand, trivial = transforms.RandAugment(), transforms.TrivialAugmentWide()
    return {"RAND_AUGMENT": rand._augmentation_space(31, size),
            "TRIVIAL_AUGMENT_WIDE": trivial._augmentation_space(31)}


class PolicyTest(unittest.TestCase):
    def test_operations_equal_torchvision(self):
        compared = sum(self.compare(size, channels) for size in SIZES for channels in (3, 1))
        self.assertGreater(compared, 5000)

    def compare(self, size, channels):
        """Compares every operation of every magnitude on an image of its own; returns how many."""
        request, expected, what = [], [], []
        for space in spaces(size).values():
            for name in space:
                for magnitude in magnitudes(space, name):
                    pixels = draw(*size, channels, seed=len(request))
                    image = Image.fromarray(pixels if channels == 3 else pixels[..., 0])
                    request.append(f"{name} {magnitude!r} {size[0]} {size[1]} {channels}\n".encode()
                                   + pixels.tobytes())
                    theirs = autoaugment._apply_op(image, name, magnitude,
                                                   InterpolationMode.NEAREST, None)
                    expected.append(numpy.asarray(theirs).reshape(pixels.shape))
                    what.append((name, magnitude, size, channels))
        output = subprocess.run([RUN, "apply"], input=b"".join(request), check=True,
                                stdout=subprocess.PIPE).stdout
        self.assertEqual(len(output), sum(theirs.size for theirs in expected))
        output = numpy.frombuffer(output, numpy.uint8)
        different, at = collections.Counter(), 0
        for theirs, description in zip(expected, what):
            mine = output[at:at + theirs.size].reshape(theirs.shape)
            at += theirs.size
            if (mine != theirs).any():
                different[description[0]] += 1
                print(description, "differs in", (mine != theirs).sum(), "of", theirs.size)
        self.assertEqual(different, {})
        return len(what)

    def drawn(self, settings, size, count):
        output = subprocess.run([RUN, "draw", settings, *map(str, size), str(count)], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        lines = [line.split() for line in output.splitlines()]
        self.assertEqual(len(lines), count)
        return [[(line[i], float(line[i + 1])) for i in range(0, len(line), 2)] for line in lines]

    def check(self, drawn, allowed, count):
        """All operations are equally likely, and so are the magnitudes of one."""
        seen = collections.Counter(drawn)
        names = collections.Counter(name for name, _ in drawn)
        self.assertEqual(set(names), set(allowed))
        for name, values in allowed.items():
            self.assertAlmostEqual(names[name], count / 14, delta=6 * (count / 14) ** 0.5)
            for (other, value) in seen:
                if other == name:
                    self.assertLess(min(abs(value - v) for v in values),
                                    ROUNDING * max(1, abs(value)), (name, value))
            found = sorted({value for other, value in seen if other == name})
            self.assertEqual(len(found), len(values), (name, found, values))

    def test_trivial_augment_draws_as_torchvision(self):
        space = spaces((32, 48))["TRIVIAL_AUGMENT_WIDE"]
        drawn = self.drawn("type: TRIVIAL_AUGMENT_WIDE", (32, 48), 40000)
        self.assertEqual({len(line) for line in drawn}, {1})
        self.check([line[0] for line in drawn],
                   {name: magnitudes(space, name) for name in space}, 40000)

    def test_rand_augment_draws_as_torchvision(self):
        for operations, magnitude in (2, 9), (3, 30), (1, 0):
            space = spaces((32, 48))["RAND_AUGMENT"]
            allowed = {}
            for name, (values, signed) in space.items():
                value = float(values[magnitude]) if values.ndim else 0.0
                allowed[name] = sorted({value, -value} if signed else {value})
            drawn = self.drawn(
                f"type: RAND_AUGMENT operations: {operations} magnitude: {magnitude}", (32, 48),
                6000)
            self.assertEqual({len(line) for line in drawn}, {operations})
            self.check([o for line in drawn for o in line], allowed, 6000 * operations)

    def test_erasing_draws_as_torchvision(self):
        self.compare_erasing("", (0.02, 0.33), (0.3, 3.3))
        # torchvision's ratios are those of height / width.
        self.compare_erasing(" min_area: 0.05 max_area: 0.1 min_aspect: 0.25 max_aspect: 0.5",
                             (0.05, 0.1), (2, 4))

    def compare_erasing(self, settings, areas, ratios):
        count, size = 20000, (60, 80)
        output = subprocess.run([RUN, "erase", "probability: 0.4" + settings, *map(str, size),
                                 str(count)],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        mine = numpy.array([[int(n) for n in line.split()] for line in output.splitlines()])
        torch.manual_seed(1)
        image = torch.ones(3, *size)
        theirs = []
        for _ in range(count):
            if torch.rand(1) < 0.4:
                top, left, height, width, _ = transforms.RandomErasing.get_params(
                    image, areas, ratios, [0.0])
                theirs.append((top, left, height, width) if (height, width) != size
                              else (0, 0, 0, 0))
            else:
                theirs.append((0, 0, 0, 0))
        theirs = numpy.array(theirs)
        self.assertTrue((mine >= 0).all())
        self.assertTrue((mine[:, 0] + mine[:, 2] <= 60).all())
        self.assertTrue((mine[:, 1] + mine[:, 3] <= 80).all())
        erased = [rows[rows[:, 2] > 0] for rows in (mine, theirs)]
        self.assertAlmostEqual(len(erased[0]), len(erased[1]), delta=400)
        for column in range(4):
            quantiles = [numpy.percentile(rows[:, column], range(5, 100, 10)) for rows in erased]
            numpy.testing.assert_allclose(*quantiles, atol=2.5)
        shares = [rows[:, 2] * rows[:, 3] / 4800 for rows in erased]
        quantiles = [numpy.percentile(s, range(5, 100, 10)) for s in shares]
        numpy.testing.assert_allclose(*quantiles, atol=0.01)


if __name__ == "__main__":
    unittest.main()
