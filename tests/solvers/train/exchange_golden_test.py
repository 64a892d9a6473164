"""Compares 20 steps of ways to exchange gradients, on several ranks, with NumPy's."""

import functools
import json
import subprocess
import sys
import unittest

import numpy as np

DUMP = sys.argv.pop(1)
SHAPES = {"fc.bias": (10,), "fc.weight": (70, 1000), "conv.weight": (16, 3, 11, 11)}
STEPS = 20
RATE = 0.02  # small enough that rounding errors do not turn factors of low rank
MOMENTUM = 0.9
DECAY = 0.01
WORLDS = (1, 2, 3, 4, 7)
F = np.float32


def train(world, comm, solver="", loss=()):
    """The weights of each rank, by name."""
    settings = (f"type: 'SGD' base_lr: {RATE} momentum: {MOMENTUM} weight_decay: {DECAY} "
                f"momentum_form: RATE_OUTSIDE {solver}")
    run = subprocess.run([DUMP, str(world), str(STEPS), comm, settings, *loss], check=True,
                         capture_output=True, text=True)
    return [{name: np.array(values, F) for name, values in rank.items()}
            for rank in json.loads(run.stdout)]


def rounded(x, linear):
    """A number of the loss."""
    return F(np.rint(x * 4194304) / 4194304 if linear else x)


@functools.lru_cache(maxsize=None)
def slope(name, linear):
    return rounded(1 + 0.5 * np.sin(0.13 * np.arange(np.prod(SHAPES[name]), dtype=float)), linear)


@functools.lru_cache(maxsize=None)
def target(name, rank, step, linear):
    rows = SHAPES[name][0]
    row = np.arange(rows, dtype=float)[:, None]
    column = np.arange(np.prod(SHAPES[name]) // rows, dtype=float)
    values = sum(2.0 ** -c * np.sin(c * (0.9 * row + 0.3 * rank + 1)) *
                 np.cos(c * (0.37 * column + 0.05 * step + 1)) for c in range(1, 9))
    return rounded(values, linear).ravel()


def gradients(name, weights, world, step, linear=False):
    """Of the loss of each rank, as the program computes it; a linear one's have its bits."""
    if linear:
        weights = F(0)
    return [slope(name, linear) * (weights - target(name, rank, step, linear))
            for rank in range(world)]


class Momentum:
    """SGD of one tensor; `carried` changes the weights, but not the velocity."""

    def __init__(self, name, nesterov=False):
        count = np.prod(SHAPES[name])
        self.weights = F(np.sin(0.37 * np.arange(count)))
        self.velocity = np.zeros(count, F)
        self.decay = F(DECAY)
        self.nesterov = nesterov

    def step(self, gradient, carried=0):
        entering = gradient + self.decay * self.weights
        self.velocity = F(MOMENTUM) * self.velocity + entering
        ahead = F(MOMENTUM) * self.velocity + entering if self.nesterov else self.velocity
        self.weights = self.weights - F(RATE) * (ahead + carried)


def bf16(x):
    """Rounded to BF16, to nearest even."""
    bits = x.view(np.uint32)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000).astype(np.uint32).view(F)


class DeepGradientCompression:
    """Lin et al., arXiv 1712.01887, of one tensor on one rank."""

    def __init__(self, count, density, rounding, nesterov, masking=True, clip=0):
        self.u = np.zeros(count, F)
        self.v = np.zeros(count, F)
        self.chosen = max(1, round(density * count))
        self.rounding, self.nesterov, self.masking, self.clip = rounding, nesterov, masking, clip

    def send(self, g):
        norm = np.linalg.norm(g.astype(float))
        if self.clip and norm > self.clip:
            g = F(self.clip / norm) * g
        self.u = F(MOMENTUM) * self.u + g
        self.v = self.v + (F(MOMENTUM) * self.u + g if self.nesterov else self.u)
        order = np.argsort(-np.abs(self.v), kind="stable")[:self.chosen]
        sent = np.zeros_like(self.v)
        sent[order] = self.rounding(self.v[order])
        self.v = self.v - sent
        if self.masking:
            self.u[order] = 0
        return sent


def topk(name, world, density, rounding=lambda x: x, nesterov=False, masking=True, clip=0):
    """The weights after all steps."""
    solver = Momentum(name, nesterov)
    ranks = [DeepGradientCompression(solver.weights.size, density, rounding, nesterov, masking,
                                     clip / world ** 0.5) for _ in range(world)]
    for step in range(STEPS):
        grads = gradients(name, solver.weights, world, step)
        if name.endswith("bias"):
            solver.step(sum(grads) / F(world))
            continue
        total = sum(rank.send(g) for rank, g in zip(ranks, grads))
        solver.step(F(0), carried=total / F(world))
    return solver.weights


def random_factor(step, column, rows):
    """The start of a factor's column: SplitMix64's finalizer of step, column and row."""
    golden = 0x9e3779b97f4a7c15
    with np.errstate(over="ignore"):
        x = np.full(rows, (step * golden) % 2 ** 64, np.uint64)
        for more in (np.full(rows, column, np.uint64), np.arange(rows, dtype=np.uint64)):
            x = x + more + np.uint64(golden)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
            x = x ^ (x >> np.uint64(31))
    return ((x >> np.uint64(40)).astype(float) - 2 ** 23) / 2 ** 23


def low_rank(name, world, rank):
    """PowerSGD, Vogels et al., arXiv 1905.13727, in double; the weights after all steps."""
    rows = SHAPES[name][0]
    columns = int(np.prod(SHAPES[name])) // rows
    number = {"fc.weight": 0, "conv.weight": 1}.get(name)
    solver = Momentum(name)
    residuals = [np.zeros((rows, columns)) for _ in range(world)]
    right = None
    for step in range(STEPS):
        grads = gradients(name, solver.weights, world, step)
        if name.endswith("bias") or 2 * rank * (rows + columns) > rows * columns:
            solver.step(sum(grads) / F(world))
            continue
        if right is None:
            right = np.stack([random_factor(step, number * rank + k, columns)
                              for k in range(rank)], 1)
        right = right / np.linalg.norm(right, axis=0)
        matrices = [g.reshape(rows, columns).astype(float) + h for g, h in zip(grads, residuals)]
        left, upper = np.linalg.qr(sum(m @ right for m in matrices))
        left = left * np.sign(np.diag(upper))
        rights = [m.T @ left for m in matrices]
        residuals = [m - left @ q.T for m, q in zip(matrices, rights)]
        right = sum(rights)
        solver.step(F((left @ right.T).reshape(-1)) / F(world))
    return solver.weights


BLOCK = 256


def signs(begin):
    """The rotation's changes of sign, of the block that begins with this element of the pool."""
    with np.errstate(over="ignore"):
        x = (np.uint32(begin // 32) + np.arange(8, dtype=np.uint32) + np.uint32(0x9e3779b9))
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85ebca6b)
        x = (x ^ (x >> np.uint32(13))) * np.uint32(0xc2b2ae35)
        x = x ^ (x >> np.uint32(16))
    bits = (x[:, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return F(1) - F(2) * bits.reshape(BLOCK).astype(F)


def butterflies(x):
    """The Hadamard matrix times the rows of x, in FP32, by sums and differences, over 16."""
    if not x.size:
        return x
    for bit in range(8):
        pairs = x.reshape(x.shape[0], -1, 2, 1 << bit)
        x = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]],
                     2).reshape(x.shape)
    return x / F(16)


class Quantizer:
    """Blocks of one tensor in integers of a few bits, each with a scale."""

    def __init__(self, count, offset, bits, rotates):
        self.levels = F(2 ** (bits - 1) - 1)
        self.count = count
        self.full = count // BLOCK if rotates else 0
        self.signs = np.stack([signs(offset + BLOCK * b) for b in range(-(-count // BLOCK))])

    def blocks(self, x):
        return np.pad(x, (0, -x.size % BLOCK)).reshape(-1, BLOCK)

    def rotated(self, x):
        return np.concatenate([butterflies(x[:self.full] * self.signs[:self.full]), x[self.full:]])

    def back(self, x):
        turned = butterflies(x[:self.full]) * self.signs[:self.full]
        return np.concatenate([turned, x[self.full:]])

    def flat(self, x):
        return x.reshape(-1)[:self.count]

    def rounded(self, x):
        most = np.abs(x).max(1, keepdims=True)
        return np.rint(x * (self.levels / most)) * (most / self.levels)


def quantized(name, world, bits, rotates):
    """Error feedback in both directions; the weights after all steps of a linear loss. Each block
    belongs to a rank, which keeps what the sum's rounding takes."""
    solver = Momentum(name)
    if name.endswith("bias"):
        for step in range(STEPS):
            solver.step(sum(gradients(name, None, world, step, linear=True)) / F(world))
        return solver.weights
    offset = {"fc.weight": 32, "conv.weight": 32 + 70016}[name]
    coder = Quantizer(solver.weights.size, offset, bits, rotates)
    count = coder.signs.shape[0]
    # One bucket per tensor.
    owner = np.arange(count) // -(-count // world)
    residuals = [np.zeros((count, BLOCK), F) for _ in range(world)]
    for step in range(STEPS):
        grads = gradients(name, None, world, step, linear=True)
        total = np.zeros((count, BLOCK), F)
        for rank in range(world):
            x = coder.rotated(coder.blocks(grads[rank]) + residuals[rank])
            sent = coder.rounded(x)
            residuals[rank] = coder.back(x - sent)
            total = total + sent
        result = coder.rounded(total)
        lost = coder.back(total - result)
        for rank in range(world):
            residuals[rank][owner == rank] += lost[owner == rank]
        solver.step(coder.flat(coder.back(result)) / F(world))
    return solver.weights


class OuterStep:
    """DiLoCo's outer step, PyTorch's SGD with Nesterov momentum, of one tensor."""

    def __init__(self, rate, momentum, count):
        self.rate, self.momentum = F(rate), F(momentum)
        self.velocity = np.zeros(count, F)

    def step(self, weights, mean):
        self.velocity = self.momentum * self.velocity + mean
        return weights - self.rate * (self.momentum * self.velocity + mean)


class SentWhole:
    """A way for differences to travel: each rank's as it is."""

    def mean(self, differences):
        return sum(differences) / F(len(differences))


class SentLargest:
    """A way for differences to travel: each rank's largest, with error feedback."""

    def __init__(self, world, count, density):
        self.residuals = [np.zeros(count, F) for _ in range(world)]
        self.chosen = max(1, round(density * count))

    def mean(self, differences):
        total = np.zeros_like(differences[0])
        for rank, difference in enumerate(differences):
            v = self.residuals[rank] + difference
            order = np.argsort(-np.abs(v), kind="stable")[:self.chosen]
            sent = np.zeros_like(v)
            sent[order] = v[order]
            self.residuals[rank] = v - sent
            total = total + sent
        return total / F(len(differences))


def periodic(name, world, round_steps, warmup=0, rate=1, momentum=0, way=None):
    """Local SGD with outer momentum; the weights after all steps."""
    solvers = [Momentum(name) for _ in range(world)]
    anchor = solvers[0].weights
    outer = OuterStep(rate, momentum, anchor.size)
    way = way or SentWhole()
    for step in range(STEPS):
        grads = [gradients(name, solver.weights, world, step)[rank]
                 for rank, solver in enumerate(solvers)]
        if step < warmup:
            grads = [sum(grads) / F(world)] * world
        for solver, gradient in zip(solvers, grads):
            solver.step(gradient)
        if step < warmup:
            anchor = solvers[0].weights
        elif (step - warmup + 1) % round_steps == 0 or step + 1 == STEPS:
            anchor = outer.step(anchor, way.mean([anchor - s.weights for s in solvers]))
            for solver in solvers:
                solver.weights = anchor
    return solvers[0].weights


class ExchangeTest(unittest.TestCase):
    def check(self, reference, comm, solver="", tolerance=1e-5, loss=()):
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
        def lazy(name, world):
            solver = Momentum(name)
            for step in range(STEPS):
                solver.step(sum(gradients(name, solver.weights, world, step)) / F(world))
            return solver.weights
        self.check(lazy, "mode: LAZY algorithm: 'ring'")

    def test_topk(self):
        comm = ("mode: TOPK algorithm: 'ring' topk { density: 0.01 warmup_fraction: 0 %s } "
                "threshold_first: 1000 threshold_middle: 1000 %s")
        self.check(lambda name, world: topk(name, world, 0.01), comm % ("", ""))
        self.check(lambda name, world: topk(name, world, 0.01, nesterov=True), comm % ("", ""),
                   "nesterov: true")
        self.check(lambda name, world: topk(name, world, 0.01, masking=False),
                   comm % ("momentum_masking: false", ""))
        self.check(lambda name, world: topk(name, world, 0.01, clip=30),
                   comm % ("local_clip: 30", ""))

    def test_topk_in_bf16(self):
        comm = ("mode: TOPK algorithm: 'ring' topk { density: 0.001 warmup_fraction: 0 } "
                "wire_type: BF16")
        # Biases travel in BF16, too, rounded at each hop: only weights are compared.
        for world in WORLDS:
            ranks = train(world, comm)
            for name in ("fc.weight", "conv.weight"):
                expected = topk(name, world, 0.001, bf16)
                worst = np.abs(ranks[-1][name] - expected).max() / np.abs(expected).max()
                self.assertLess(worst, 1e-5, f"{name}, {world} ranks")

    def test_low_rank(self):
        for rank in (1, 2, 4):
            comm = ("mode: LOW_RANK algorithm: 'ring' threshold_first: 1000 threshold_middle: 1000 "
                    f"low_rank {{ rank: {rank} warmup_fraction: 0 }}")
            self.check(lambda name, world: low_rank(name, world, rank), comm)

    def test_quantized(self):
        for bits, rotates in ((8, False), (4, False), (4, True)):
            comm = ("mode: QUANTIZED algorithm: 'ring' threshold_first: 0 threshold_middle: 0 "
                    "threshold_last: 0 "
                    f"quantized {{ bits: {bits} rotate: {str(rotates).lower()} }}")
            self.check(lambda name, world: quantized(name, world, bits, rotates), comm,
                       loss=("linear",))

    def test_quantized_in_bf16(self):
        # Biases travel in BF16; codes do not.
        comm = "mode: QUANTIZED algorithm: 'ring' "
        fp32, in_bf16 = (train(3, comm + wire, loss=("linear",))[0]
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

    def test_periodic_with_largest_differences(self):
        comm = ("mode: PERIODIC algorithm: 'ring' periodic { steps: 4 warmup_fraction: 0 "
                "outer_lr: 0.7 outer_momentum: 0.5 exchange: TOPK } "
                "topk { density: 0.1 warmup_fraction: 0 }")

        def reference(name, world):
            count = int(np.prod(SHAPES[name]))
            way = SentWhole() if name.endswith("bias") else SentLargest(world, count, 0.1)
            return periodic(name, world, 4, rate=0.7, momentum=0.5, way=way)
        self.check(reference, comm)


if __name__ == "__main__":
    unittest.main()
