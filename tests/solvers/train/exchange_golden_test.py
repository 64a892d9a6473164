"""Compares 20 steps of ways to exchange gradients, on several ranks, with NumPy's."""

import json
import os
import subprocess
import sys
import unittest

import numpy as np

from exchange_reference import (DECAY, F, MOMENTUM, RATE, SHAPES, STEPS, SentWhole, bf16,
                                every_step, in_codes, in_factors, in_part, periodic, topk)

DUMP = sys.argv.pop(1)
WORLDS = (1, 2, 3, 4, 7)


def train(world, comm, solver="", loss=""):
    """The weights of each rank, by name. `loss`: dump_exchange.cc describes "rounded" and "linear".
    """
    environment = dict(os.environ)
    if loss == "rounded":
        # Fused multiply-adds would give weights other bits than ours.
        environment["GF_MAX_ISA"] = "baseline"
    settings = (f"type: 'SGD' base_lr: {RATE} momentum: {MOMENTUM} weight_decay: {DECAY} "
                f"momentum_form: RATE_OUTSIDE {solver}")
    run = subprocess.run([DUMP, str(world), str(STEPS), comm, settings, *loss.split()], check=True,
                         capture_output=True, text=True, env=environment)
    return [{name: np.array(values, F) for name, values in rank.items()}
            for rank in json.loads(run.stdout)]


class ExchangeTest(unittest.TestCase):
    def check(self, reference, comm, solver="", tolerance=1e-5, loss=""):
        for world in WORLDS:
            ranks = train(world, comm, solver, loss)
            for name in SHAPES:
                expected = reference(name, world)
                for rank in ranks:
                    np.testing.assert_array_equal(rank[name], ranks[0][name])
                scale = np.abs(expected).max()
                worst = np.abs(ranks[0][name] - expected).max() / scale
                self.assertLess(worst, tolerance, f"{name}, {world} ranks")

    def test_lazy(self):
        self.check(lambda name, world: every_step(name, world, SentWhole()),
                   "mode: LAZY algorithm: 'ring'")

    def test_topk(self):
        comm = ("mode: TOPK algorithm: 'ring' topk { density: 0.01 %s } "
                "threshold_first: 1000 threshold_middle: 1000")
        at_once = comm % "warmup_fraction: 0 %s"
        self.check(lambda name, world: topk(name, world, 0.01), at_once % "")
        self.check(lambda name, world: topk(name, world, 0.01, nesterov=True), at_once % "",
                   "nesterov: true")
        self.check(lambda name, world: topk(name, world, 0.01, masking=False),
                   at_once % "momentum_masking: false")
        self.check(lambda name, world: topk(name, world, 0.01, clip=30),
                   at_once % "local_clip: 30")
        self.check(lambda name, world: topk(name, world, 0.01, warmup=10),
                   comm % "warmup_fraction: 0.5")
        # The solver has the momentum.
        self.check(lambda name, world: every_step(name, world, in_part(name, world, 0.01)),
                   at_once % "momentum_correction: false momentum_masking: false")

    def test_topk_in_bf16(self):
        comm = ("mode: TOPK algorithm: 'ring' topk { density: 0.001 warmup_fraction: 0 } "
                "wire_type: BF16")
        # Biases travel in BF16, too, rounded at each hop: only weights are compared.
        for world in WORLDS:
            ranks = train(world, comm)
            for rank in ranks:
                for name in SHAPES:
                    np.testing.assert_array_equal(rank[name], ranks[0][name])
            for name in ("fc.weight", "conv.weight"):
                expected = topk(name, world, 0.001, bf16)
                worst = np.abs(ranks[-1][name] - expected).max() / np.abs(expected).max()
                self.assertLess(worst, 1e-5, f"{name}, {world} ranks")

    def test_low_rank(self):
        for rank in (1, 2, 4):
            comm = ("mode: LOW_RANK algorithm: 'ring' threshold_first: 1000 threshold_middle: 1000 "
                    f"low_rank {{ rank: {rank} warmup_fraction: 0 }}")
            self.check(lambda name, world: every_step(name, world, in_factors(name, world, rank)),
                       comm)

    def test_quantized(self):
        # Gradients of other bits would be rounded to other codes here and there.
        for bits, rotates, loss in ((8, False, "linear"), (4, False, "linear"),
                                    (4, True, "linear"), (8, False, "rounded"),
                                    (4, True, "rounded")):
            comm = ("mode: QUANTIZED algorithm: 'ring' threshold_first: 0 threshold_middle: 0 "
                    "threshold_last: 0 "
                    f"quantized {{ bits: {bits} rotate: {str(rotates).lower()} }}")
            with self.subTest(comm, loss=loss):
                self.check(lambda name, world: every_step(
                    name, world, in_codes(name, world, bits, rotates), loss), comm, loss=loss)

    def test_quantized_in_bf16(self):
        # Biases travel in BF16; codes do not.
        comm = "mode: QUANTIZED algorithm: 'ring' "
        fp32, in_bf16 = (train(3, comm + wire, loss="linear")[0]
                         for wire in ("", "wire_type: BF16"))
        for name in ("fc.weight", "conv.weight"):
            np.testing.assert_array_equal(fp32[name], in_bf16[name])
        np.testing.assert_allclose(fp32["fc.bias"], in_bf16["fc.bias"], atol=0.02)

    def test_periodic(self):
        comm = ("mode: PERIODIC algorithm: 'ring' periodic { steps: %d warmup_fraction: %g "
                "outer_lr: %g outer_momentum: %g }")
        for steps, warmup, rate, momentum in ((4, 0, 1, 0), (1, 0, 1, 0), (7, 3, 0.7, 0.9),
                                              (3, 0, 0.7, 0.9), (100, 5, 1, 0)):
            self.check(lambda name, world: periodic(name, world, steps, warmup, rate, momentum),
                       comm % (steps, warmup / STEPS, rate, momentum))

    def test_rounds_of_one_step_are_lazy(self):
        periodic_comm = "mode: PERIODIC algorithm: 'ring' periodic { steps: 1 warmup_fraction: 0 }"
        for world in WORLDS:
            lazy = train(world, "mode: LAZY algorithm: 'ring'")
            rounds = train(world, periodic_comm)
            for name in SHAPES:
                np.testing.assert_allclose(rounds[0][name], lazy[0][name], rtol=0, atol=2e-6)

    def test_periodic_with_compressed_differences(self):
        comm = ("mode: PERIODIC algorithm: 'ring' periodic { steps: 4 warmup_fraction: 0 "
                "outer_lr: 0.7 outer_momentum: 0.5 exchange: %s } "
                "threshold_first: 0 threshold_middle: 0 threshold_last: 0")
        for exchange, way, loss in (
                ("TOPK } topk { density: 0.1 warmup_fraction: 0",
                 lambda name, world: in_part(name, world, 0.1), ""),
                ("LOW_RANK } low_rank { rank: 2 warmup_fraction: 0",
                 lambda name, world: in_factors(name, world, 2), ""),
                ("QUANTIZED } quantized { bits: 4 rotate: true",
                 lambda name, world: in_codes(name, world, 4, True), "rounded")):
            with self.subTest(exchange):
                self.check(lambda name, world: periodic(name, world, 4, rate=0.7, momentum=0.5,
                                                        way=way(name, world), loss=loss),
                           comm % exchange, loss=loss)


if __name__ == "__main__":
    unittest.main()
