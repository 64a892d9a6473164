"""Ways to exchange gradients in NumPy: the weights of dump_exchange.cc's tensors after 20 steps."""

import functools

import numpy as np

SHAPES = {"fc.bias": (10,), "fc.weight": (70, 1000), "conv.weight": (16, 3, 11, 11)}
STEPS = 20
RATE = 0.02  # small enough that rounding errors do not turn factors of low rank
MOMENTUM = 0.9
DECAY = 0.01
F = np.float32


def number(x, loss):
    """Of the loss."""
    return F(np.rint(x * 4194304) / 4194304 if loss else x)


@functools.lru_cache(maxsize=None)
def slope(name, loss):
    return number(1 + 0.5 * np.sin(0.13 * np.arange(np.prod(SHAPES[name]), dtype=float)), loss)


@functools.lru_cache(maxsize=None)
def target(name, rank, step, loss):
    rows = SHAPES[name][0]
    row = np.arange(rows, dtype=float)[:, None]
    column = np.arange(np.prod(SHAPES[name]) // rows, dtype=float)
    values = sum(2.0 ** -c * np.sin(c * (0.9 * row + 0.3 * rank + 1)) *
                 np.cos(c * (0.37 * column + 0.05 * step + 1)) for c in range(1, 9))
    return number(values, loss).ravel()


def gradient_of(name, weights, rank, step, loss=""):
    """Of the loss of a rank, as the program computes it."""
    if loss == "linear":
        weights = F(0)
    return slope(name, loss) * (weights - target(name, rank, step, loss))


def gradients(name, weights, world, step, loss=""):
    """Those of all ranks."""
    return [gradient_of(name, weights, rank, step, loss) for rank in range(world)]


class Momentum:
    """SGD of one tensor; `carried` changes the weights, but not the velocity."""

    def __init__(self, name, nesterov=False, loss=""):
        count = np.prod(SHAPES[name])
        self.weights = number(np.sin(0.37 * np.arange(count)), loss)
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


def largest(x, density):
    """The places of this share of x; of equal elements those in front."""
    count = max(1, round(density * x.size))
    magnitudes = np.abs(x)
    least = np.partition(magnitudes, -count)[-count]
    larger = np.flatnonzero(magnitudes > least)
    return np.append(larger, np.flatnonzero(magnitudes == least)[:count - larger.size])


class DeepGradientCompression:
    """Lin et al., arXiv 1712.01887, of one tensor on one rank."""

    def __init__(self, count, rounding, nesterov, masking=True, clip=0):
        self.u = np.zeros(count, F)
        self.v = np.zeros(count, F)
        self.rounding, self.nesterov, self.masking, self.clip = rounding, nesterov, masking, clip

    def send(self, g, density):
        norm = np.linalg.norm(g.astype(float))
        if self.clip and norm > self.clip:
            g = F(self.clip / norm) * g
        self.u = F(MOMENTUM) * self.u + g
        self.v = self.v + (F(MOMENTUM) * self.u + g if self.nesterov else self.u)
        order = largest(self.v, density)
        sent = np.zeros_like(self.v)
        sent[order] = self.rounding(self.v[order])
        self.v = self.v - sent
        if self.masking:
            self.u[order] = 0
        return sent


def topk(name, world, density, rounding=lambda x: x, nesterov=False, masking=True, clip=0,
         warmup=0):
    """The weights after all steps; the density falls in the first `warmup` ones."""
    solver = Momentum(name, nesterov)
    ranks = [DeepGradientCompression(solver.weights.size, rounding, nesterov, masking,
                                     clip / world ** 0.5) for _ in range(world)]
    for step in range(STEPS):
        grads = gradients(name, solver.weights, world, step)
        share = density ** min(1, step / warmup) if warmup else density
        # Gathered values take 6 bytes with their places, those of an allreduce 4 in each direction.
        if name.endswith("bias") or share == 1 or share * 6 * world > 2 * 4:
            solver.step(sum(grads) / F(world))
            continue
        total = sum(rank.send(g, share) for rank, g in zip(ranks, grads))
        solver.step(F(0), carried=total / F(world))
    return solver.weights


class SentWhole:
    """A way for the ranks' vectors to travel: as they are."""

    def mean(self, vectors):
        return sum(vectors) / F(len(vectors))


class SentLargest:
    """A way for vectors to travel: each rank's largest elements, with error feedback."""

    def __init__(self, world, count, density):
        self.residuals = [np.zeros(count, F) for _ in range(world)]
        self.density = density

    def mean(self, vectors):
        total = np.zeros_like(vectors[0])
        for rank, vector in enumerate(vectors):
            v = self.residuals[rank] + vector
            order = largest(v, self.density)
            sent = np.zeros_like(v)
            sent[order] = v[order]
            self.residuals[rank] = v - sent
            total = total + sent
        return total / F(len(vectors))


def in_part(name, world, density):
    whole = name.endswith("bias")
    return SentWhole() if whole else SentLargest(world, np.prod(SHAPES[name]), density)


def random_factor(column, rows):
    """The start of a factor's column in the first step: SplitMix64's finalizer of column and row.
    """
    golden = 0x9e3779b97f4a7c15
    with np.errstate(over="ignore"):
        x = np.zeros(rows, np.uint64)
        for more in (np.full(rows, column, np.uint64), np.arange(rows, dtype=np.uint64)):
            x = x + more + np.uint64(golden)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
            x = x ^ (x >> np.uint64(31))
    return ((x >> np.uint64(40)).astype(float) - 2 ** 23) / 2 ** 23


class SentInFactors:
    """A way for vectors to travel: PowerSGD, Vogels et al., arXiv 1905.13727, in double."""

    def __init__(self, name, world, rank):
        rows = SHAPES[name][0]
        self.shape = rows, int(np.prod(SHAPES[name])) // rows
        first = {"fc.weight": 0, "conv.weight": 1}[name] * rank
        self.right = np.stack([random_factor(first + k, self.shape[1]) for k in range(rank)], 1)
        self.residuals = [np.zeros(self.shape) for _ in range(world)]

    def mean(self, vectors):
        right = self.right / np.linalg.norm(self.right, axis=0)
        matrices = [v.reshape(self.shape).astype(float) + h
                    for v, h in zip(vectors, self.residuals)]
        left, upper = np.linalg.qr(sum(m @ right for m in matrices))
        left = left * np.sign(np.diag(upper))
        rights = [m.T @ left for m in matrices]
        self.residuals = [m - left @ q.T for m, q in zip(matrices, rights)]
        self.right = sum(rights)
        return F((left @ self.right.T).reshape(-1)) / F(len(vectors))


def in_factors(name, world, rank):
    """What is not halved at least travels whole."""
    rows = SHAPES[name][0]
    columns = int(np.prod(SHAPES[name])) // rows
    halved = not name.endswith("bias") and 2 * rank * (rows + columns) <= rows * columns
    return SentInFactors(name, world, rank) if halved else SentWhole()


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


class SentInCodes:
    """A way for vectors to travel, with error feedback in both directions. Each block belongs to a
    rank, which keeps what the sum's rounding takes."""

    def __init__(self, name, world, bits, rotates):
        offset = {"fc.weight": 32, "conv.weight": 32 + 70016}[name]
        self.coder = Quantizer(np.prod(SHAPES[name]), offset, bits, rotates)
        count = self.coder.signs.shape[0]
        # One bucket per tensor.
        self.owner = np.arange(count) // -(-count // world)
        self.residuals = [np.zeros((count, BLOCK), F) for _ in range(world)]

    def mean(self, vectors):
        coder = self.coder
        total = np.zeros_like(self.residuals[0])
        for rank, vector in enumerate(vectors):
            x = coder.rotated(coder.blocks(vector) + self.residuals[rank])
            sent = coder.rounded(x)
            self.residuals[rank] = coder.back(x - sent)
            total = total + sent
        result = coder.rounded(total)
        lost = coder.back(total - result)
        for rank, residual in enumerate(self.residuals):
            residual[self.owner == rank] += lost[self.owner == rank]
        return coder.flat(coder.back(result)) * F(1 / len(vectors))


def in_codes(name, world, bits, rotates):
    return SentWhole() if name.endswith("bias") else SentInCodes(name, world, bits, rotates)


def every_step(name, world, way, loss=""):
    """The weights after all steps, in each of which gradients travel."""
    solver = Momentum(name, loss=loss)
    for step in range(STEPS):
        solver.step(way.mean(gradients(name, solver.weights, world, step, loss)))
    return solver.weights


class OuterStep:
    """DiLoCo's outer step, PyTorch's SGD with Nesterov momentum, of one tensor."""

    def __init__(self, rate, momentum, count):
        self.rate, self.momentum = F(rate), F(momentum)
        self.velocity = np.zeros(count, F)

    def step(self, weights, mean):
        self.velocity = self.momentum * self.velocity + mean
        return weights - self.rate * (self.momentum * self.velocity + mean)


def periodic(name, world, round_steps, warmup=0, rate=1, momentum=0, way=None, loss=""):
    """Local SGD with outer momentum; the weights after all steps."""
    solvers = [Momentum(name, loss=loss) for _ in range(world)]
    anchor = solvers[0].weights
    outer = OuterStep(rate, momentum, anchor.size)
    way = way or SentWhole()
    for step in range(STEPS):
        grads = [gradient_of(name, solver.weights, rank, step, loss)
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
