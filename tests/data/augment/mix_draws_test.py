"""Mixup and CutMix draw from the distributions of the papers.

Usage: mix_draws_test.py RUN_OPERATIONS
"""
import os
import subprocess
import sys
import unittest

import numpy
import torch

RUN = os.path.abspath(sys.argv.pop(1))
HEIGHT, WIDTH, COUNT = 40, 60, 20000
QUANTILES = numpy.arange(0.05, 1, 0.1)


def draws(settings):
    output = subprocess.run([RUN, "mix", settings, str(HEIGHT), str(WIDTH), str(COUNT)],
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = numpy.array([[float(n) for n in line.split()] for line in output.splitlines()])
    assert rows.shape == (COUNT, 6), rows.shape
    return rows


def beta(alpha):
    torch.manual_seed(3)
    return torch.distributions.Beta(alpha, alpha).sample((COUNT,)).double().numpy()


def cut(share, rng):
    """The window of Yun et al., algorithm 1, with torchvision's rounding."""
    x, y = rng.randint(WIDTH), rng.randint(HEIGHT)
    half_width = int(0.5 * numpy.sqrt(1 - share) * WIDTH)
    half_height = int(0.5 * numpy.sqrt(1 - share) * HEIGHT)
    left, right = max(x - half_width, 0), min(x + half_width, WIDTH)
    top, bottom = max(y - half_height, 0), min(y + half_height, HEIGHT)
    return top, left, bottom - top, right - left


class MixTest(unittest.TestCase):
    def same_distribution(self, mine, theirs, tolerance):
        numpy.testing.assert_allclose(numpy.quantile(mine, QUANTILES),
                                      numpy.quantile(theirs, QUANTILES), atol=tolerance)

    def test_shares_of_mixup_have_the_beta_distribution(self):
        for alpha in 0.2, 1, 3.5, 0.001, 1000:
            rows = draws(f"mixup: {alpha}")
            self.assertTrue((rows[:, :4] == [0, 0, HEIGHT, WIDTH]).all())
            self.assertTrue((rows[:, 4] == rows[:, 5]).all())
            shares = rows[:, 4]
            self.assertTrue(((shares >= 0) & (shares <= 1)).all())
            variance = 1 / (4 * (2 * alpha + 1))
            self.assertAlmostEqual(shares.mean(), 0.5, delta=5 * (variance / COUNT) ** 0.5)
            self.assertAlmostEqual(shares.var() / variance, 1, delta=0.05)
            if alpha < 0.1:  # where numbers of PyTorch's own underflow
                self.assertGreater(((shares < 0.01) | (shares > 0.99)).mean(), 0.98)
            else:
                self.same_distribution(shares, beta(alpha), 0.05 * variance ** 0.5)

    def test_windows_of_cutmix(self):
        rng = numpy.random.RandomState(2)
        for alpha in 1, 0.3:
            rows = draws(f"cutmix: {alpha}")
            theirs = numpy.array([cut(share, rng) for share in beta(alpha)])
            theirs[(theirs[:, 2] <= 0) | (theirs[:, 3] <= 0)] = 0
            top, left, height, width, pixel, label = rows.T
            self.assertTrue((top + height <= HEIGHT).all() and (left + width <= WIDTH).all())
            empty = height * width == 0
            self.assertTrue((pixel[~empty] == 0).all() and (pixel[empty] == 1).all())
            numpy.testing.assert_allclose(label, 1 - height * width / (HEIGHT * WIDTH), atol=1e-6)
            for column in range(4):
                self.same_distribution(rows[:, column], theirs[:, column], 1.5)
            self.same_distribution(height * width, theirs[:, 2] * theirs[:, 3], 60)

    def test_each_has_half_of_the_mixed_batches(self):
        rows = draws("mixup: 0.8 cutmix: 1 probability: 0.6")
        mixed = rows[:, 2] > 0
        blended = mixed & (rows[:, 4] > 0)
        # A window of CutMix may be empty.
        self.assertAlmostEqual(blended.mean(), 0.3, delta=0.015)
        self.assertAlmostEqual((mixed & ~blended).mean(), 0.3, delta=0.03)
        self.assertTrue((rows[~mixed][:, 4:] == 1).all())

    def test_nothing_is_mixed_without_settings(self):
        for settings in "", "probability: 1", "mixup: 1 probability: 0":
            self.assertTrue((draws(settings) == [0, 0, 0, 0, 1, 1]).all())


if __name__ == "__main__":
    unittest.main()
