"""Loss, logits, gradients and statistics of one training step, and evaluation logits, of a shipped
network on random parameters: ours against PyTorch's. See torch_reference.py for the metric.

  golden_test.py DUMP_GRADIENTS NET [--label_smoothing=E] [--class_weights=W0,W1,...] [FLAGS...]

Ours must agree with PyTorch in FP32 or in FP64. Where two arguments of a maximum are equal but for
rounding, gradients of programs and types differ by up to 1 %, and the batches where that happens
depend on the processor. So gradients must agree on one of SEEDS batches, everything else and
gradients within LIMIT on each."""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, "tests/golden")
import safetensors_io
import torch_reference

TOLERANCE = 1e-4
LIMIT = 2e-2  # of gradients that differ on a batch
SEEDS = range(7, 13)


def error(ours, expected, floor=0.0):
    difference = numpy.linalg.norm(ours.astype("f8").ravel() - expected.ravel())
    return difference / (numpy.linalg.norm(expected) + floor) if difference else 0.0


def differing(net, loss, ours, weights, batch, double):
    """{name: error} of tensors that differ from PyTorch's by more than TOLERANCE. loss: settings of
    the training loss."""
    def reference(mode, **settings):
        return torch_reference.compute(net, weights, batch["data"], batch["label"], mode=mode,
                                       double=double, **settings)

    train, evaluated = reference("train", **loss), reference("eval")
    expected = dict(train)
    expected["eval_loss"] = evaluated["loss"]
    expected["eval_logits"] = expected["eval_alone_logits"] = evaluated["logits"]
    if set(ours) != set(expected):
        sys.exit(f"{net}: tensors differ: {sorted(set(ours) ^ set(expected))}")
    whole = numpy.sqrt(sum(numpy.square(values.astype("f8")).sum()
                           for name, values in train.items() if name.startswith("grad/")))
    errors = {}
    for name, values in expected.items():
        if ours[name].shape != values.shape:
            sys.exit(f"{net}: {name} is {ours[name].shape}, expected {values.shape}")
        floor = 1e-4 * whole if name.startswith("grad/") else 0.0
        errors[name] = error(ours[name], values, floor)
    worst = sorted(errors, key=lambda name: -errors[name])
    print(f"{net}, FP{64 if double else 32}: {len(errors)} tensors, "
          f"whole gradient {whole:.4g}; worst:")
    for name in worst[:5]:
        print(f"  {errors[name]:.2e} {name}")
    return {name: errors[name] for name in worst if not errors[name] <= TOLERANCE}


def differing_on(dump, net, loss, flags, seed):
    """{name: error} of tensors that differ from PyTorch's in FP32 and in FP64 on a batch."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([dump, "--net=" + net, "--out=" + folder, f"--seed={seed}"] + flags,
                       check=True)
        files = [safetensors_io.read(os.path.join(folder, name + ".safetensors"))
                 for name in ("weights", "input", "ours")]
    weights, batch, ours = files
    single = differing(net, loss, ours, weights, batch, double=False)
    double = single and differing(net, loss, ours, weights, batch, double=True)
    return {name: min(by, single.get(name, 0)) for name, by in double.items()}


def main():
    dump, net, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
    parser = argparse.ArgumentParser()
    parser.add_argument("--label_smoothing", type=float, default=0.0)
    parser.add_argument("--class_weights", type=torch_reference.numbers)
    loss = vars(parser.parse_known_args(flags)[0])
    for seed in SEEDS:
        bad = differing_on(dump, net, loss, flags, seed)
        if not bad:
            return
        print(f"{net}, batch {seed}: {len(bad)} tensors differ by more than {TOLERANCE}: "
              f"{list(bad)[:20]}")
        wrong = [name for name, by in bad.items()
                 if not name.startswith("grad/") or not by <= LIMIT]
        if wrong:
            sys.exit(f"{net}: these differ for another reason than ties of maxima: {wrong[:20]}")
    sys.exit(f"{net}: tensors differ on all batches")


if __name__ == "__main__":
    main()
