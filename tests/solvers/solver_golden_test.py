"""Compares 20 updates of each solver with PyTorch: LARS and LAMB with the published rules, written
here with PyTorch's operations in double precision, other solvers with torch.optim."""

import json
import subprocess
import sys
import unittest

import torch

DUMP = sys.argv.pop(1)
SHAPES = {"fc.bias": (10,), "fc.weight": (10, 77), "conv.weight": (16, 3, 11, 11)}


def tensor(function, shape):
    """The values as the program makes them: in double, rounded once to float."""
    count = torch.Size(shape).numel()
    return function(torch.arange(count, dtype=torch.double)).float().double().reshape(shape)


class Lars(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum, weight_decay, eta):
        super().__init__(params, dict(lr=lr, momentum=momentum, decay=weight_decay, eta=eta))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                plain = p.dim() == 1 and group.get("plain", False)
                decay = 0 if plain else group["decay"]
                w, g = torch.linalg.norm(p), torch.linalg.norm(p.grad)
                trust = 1.0 if plain else group["eta"] * w / (g + decay * w)
                v = self.state[p].setdefault("v", torch.zeros_like(p))
                v.mul_(group["momentum"]).add_(p.grad + decay * p, alpha=float(group["lr"] * trust))
                p.sub_(v)


class Lamb(torch.optim.Optimizer):
    def __init__(self, params, lr, weight_decay, betas=(0.9, 0.999), eps=1e-6):
        super().__init__(params, dict(lr=lr, decay=weight_decay, betas=betas, eps=eps))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                state["m"].lerp_(p.grad, 1 - b1)
                state["v"].mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
                m, v = state["m"] / (1 - b1 ** state["t"]), state["v"] / (1 - b2 ** state["t"])
                r = m / (v.sqrt() + group["eps"]) + group["decay"] * p
                p.sub_(r, alpha=float(group["lr"] * torch.linalg.norm(p) / torch.linalg.norm(r)))


class Muon(torch.optim.Optimizer):
    """Matrices by Muon, as torch.optim.Muon of PyTorch 2.9, but in double precision and with a
    tensor's other axes as columns; others by AdamW."""

    def __init__(self, params, lr, weight_decay, momentum=0.95, nesterov=True, steps=5,
                 original=False):
        super().__init__([p for p in params if p.dim() > 1],
                         dict(lr=lr, decay=weight_decay, momentum=momentum, nesterov=nesterov,
                              steps=steps, original=original))
        self.others = torch.optim.AdamW([p for p in params if p.dim() <= 1], lr,
                                        weight_decay=weight_decay)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad.flatten(1)
                mean = self.state[p].setdefault("mean", torch.zeros_like(grad))
                mean.lerp_(grad, 1 - group["momentum"])
                x = grad.lerp(mean, group["momentum"]) if group["nesterov"] else mean.clone()
                rows, columns = x.shape
                x = x.T if rows > columns else x
                x = x / x.norm().clamp(min=1e-7)
                for _ in range(group["steps"]):
                    gram = x @ x.T
                    x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
                x = x.T if rows > columns else x
                factor = (max(1, rows / columns) ** 0.5 if group["original"]
                          else 0.2 * max(rows, columns) ** 0.5)
                p.mul_(1 - group["lr"] * group["decay"])
                p.sub_(x.reshape(p.shape), alpha=group["lr"] * factor)
        self.others.param_groups[0]["lr"] = self.param_groups[0]["lr"]
        self.others.step()


def reference(make, average=None):
    """The parameters after 20 steps, or what `average` makes of them after each step."""
    params = {name: torch.nn.Parameter(tensor(lambda i: torch.sin(0.37 * i), shape))
              for name, shape in SHAPES.items()}
    optimizer = make(list(params.values()))
    for step in range(20):
        for name, p in params.items():
            p.grad = tensor(lambda i: torch.cos(0.11 * i + 0.5 * step), SHAPES[name])
        for group in optimizer.param_groups:
            group["lr"] = 0.1 / (1 + 0.1 * step)
        optimizer.step()
        if average:
            average.step(params, step + 1)
    return average.mean if average else params


class Ema:
    """torch.optim.swa_utils.AveragedModel; keep(n) is the share that update n from 0 keeps."""

    def __init__(self, keep, interval=1):
        self.keep, self.interval, self.model = keep, interval, None

    def step(self, params, steps):
        model = torch.nn.ParameterDict({name.replace(".", "_"): p for name, p in params.items()})
        if self.model is None:
            start = {name: torch.nn.Parameter(tensor(lambda i: torch.sin(0.37 * i), p.shape))
                     for name, p in model.items()}
            self.model = torch.optim.swa_utils.AveragedModel(
                torch.nn.ParameterDict(start),
                avg_fn=lambda mean, x, n: mean + (1 - self.keep(int(n) - 1)) * (x - mean))
            self.model.n_averaged.fill_(1)  # at 0 the first update would copy
        if steps % self.interval == 0:
            self.model.update_parameters(model)

    @property
    def mean(self):
        return {name: self.model.module[name.replace(".", "_")] for name in SHAPES}


class Lookahead:
    """Zhang et al., 2019: training goes on from the slow weights."""

    def __init__(self, keep, interval, last):
        self.keep, self.interval, self.last, self.mean = keep, interval, last, None

    @torch.no_grad()
    def step(self, params, steps):
        if self.mean is None:
            self.mean = {name: tensor(lambda i: torch.sin(0.37 * i), p.shape)
                         for name, p in params.items()}
        if steps % self.interval == 0:
            for name, p in params.items():
                self.mean[name].lerp_(p, 1 - self.keep(steps))
        if steps % self.interval == 0 or steps == self.last:
            for name, p in params.items():
                p.copy_(self.mean[name])


class SolverGoldenTest(unittest.TestCase):
    def check(self, config, make, average=None, tolerance=1e-6):
        output = subprocess.run([DUMP, config], check=True, capture_output=True, text=True).stdout
        ours = json.loads(output)
        for name, expected in reference(make, average).items():
            mine = torch.tensor(ours[name], dtype=torch.double).reshape(expected.shape)
            worst = ((mine - expected).abs().max() / expected.abs().max()).item()
            self.assertLess(worst, tolerance, f"{config}: {name}")

    def test_sgd(self):
        for nesterov in False, True:
            self.check(f"type: 'SGD' momentum_form: RATE_OUTSIDE weight_decay: 0.01 "
                       f"nesterov: {str(nesterov).lower()}",
                       lambda p, n=nesterov: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01,
                                                             nesterov=n))

    def test_lars(self):
        self.check("type: 'LARS' weight_decay: 0.01 trust_coefficient: 0.02",
                   lambda p: Lars(p, 0.1, 0.9, 0.01, 0.02))

    def test_lars_leaves_biases_plain(self):
        def make(p):
            optimizer = Lars(p, 0.1, 0.9, 0.01, 0.02)
            optimizer.param_groups[0]["plain"] = True
            return optimizer
        self.check("type: 'LARS' weight_decay: 0.01 trust_coefficient: 0.02 "
                   "plain_bias_and_norm: true", make)

    def test_lamb(self):
        self.check("type: 'LAMB' weight_decay: 0.01", lambda p: Lamb(p, 0.1, 0.01))

    def test_adam(self):
        self.check("type: 'Adam' weight_decay: 0.01",
                   lambda p: torch.optim.Adam(p, 0.1, weight_decay=0.01))

    def test_adamw(self):
        self.check("type: 'AdamW' weight_decay: 0.01",
                   lambda p: torch.optim.AdamW(p, 0.1, weight_decay=0.01))

    def test_adagrad(self):
        self.check("type: 'AdaGrad' weight_decay: 0.01",
                   lambda p: torch.optim.Adagrad(p, 0.1, weight_decay=0.01, eps=1e-8))

    # Their means are not corrected, so 1 - beta2 must be the same number: exact in FP32.
    def test_rmsprop(self):
        self.check("type: 'RMSProp' weight_decay: 0.01 beta2: 0.9375",
                   lambda p: torch.optim.RMSprop(p, 0.1, alpha=0.9375, weight_decay=0.01))

    def test_adadelta(self):
        # A large epsilon makes large steps.
        self.check("type: 'AdaDelta' weight_decay: 0.01 beta2: 0.9375 epsilon: 0.0625",
                   lambda p: torch.optim.Adadelta(p, 0.1, rho=0.9375, eps=0.0625,
                                                  weight_decay=0.01))

    # The gradients have rank 2; the iterations magnify what rounding adds, about 500 times.
    def test_muon(self):
        self.check("type: 'Muon' weight_decay: 0.01", lambda p: Muon(p, 0.1, 0.01),
                   tolerance=1e-4)
        self.check("type: 'Muon' weight_decay: 0.01 muon { momentum: 0.9 nesterov: false "
                   "iterations: 4 rate: ORIGINAL }",
                   lambda p: Muon(p, 0.1, 0.01, 0.9, False, 4, True), tolerance=1e-4)

    SGD = "type: 'SGD' momentum_form: RATE_OUTSIDE "

    def test_average(self):
        def sgd(p):
            return torch.optim.SGD(p, 0.1, 0.9)
        self.check(self.SGD + "average { decay: 0.75 }", sgd, Ema(lambda n: 0.75))
        self.check(self.SGD + "average { decay: 0.25 interval_steps: 3 }", sgd,
                   Ema(lambda n: 0.25, interval=3))
        self.check(self.SGD + "average { decay: 0.5 warmup: true }", sgd,
                   Ema(lambda n: min(0.5, (1 + n) / (10 + n))))

    def test_lookahead(self):
        # As in airbench94: every few steps, with a share that grows with the third power.
        self.check(self.SGD + "average { decay: 0.774 interval_steps: 3 decay_power: 3 "
                   "lookahead: true }", lambda p: torch.optim.SGD(p, 0.1, 0.9),
                   Lookahead(lambda steps: 0.774 * (steps / 20) ** 3, interval=3, last=20))


if __name__ == "__main__":
    unittest.main()
