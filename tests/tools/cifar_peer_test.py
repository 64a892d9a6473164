"""cifar_peer, PyTorch's version of configs/cifar10_94.prototxt: it whitens as `gfdata whiten` does,
its rates are those of the config, and it goes on from its checkpoint."""
import csv
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys

import torch

sys.path.insert(0, "tests/golden")
import safetensors_io  # noqa: E402

GFDATA, GFTRAIN, PEER = "tools/gfdata/gfdata", "tools/gftrain", "tools/gfbench/cifar_peer"
OUT = os.environ.get("TEST_TMPDIR", "/tmp")
CONFIG = "configs/cifar10_94.prototxt"


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


loader = importlib.machinery.SourceFileLoader("cifar_peer", PEER)
peer = importlib.util.module_from_spec(importlib.util.spec_from_loader("cifar_peer", loader))
loader.exec_module(peer)

# Two steps per epoch and a rest.
folder = os.path.join(OUT, "drawn")
run(GFDATA, "draw", "--out=" + folder, "--images=2100", "--size=32")
train, test = (os.path.join(folder, name + "-*.tar") for name in ("train", "val"))

# The same filters but for their signs, in the same order.
white = os.path.join(OUT, "white.safetensors")
run(GFDATA, "whiten", "--config=" + CONFIG, "--name=conv0.weight", "--out=" + white,
    "--set", "train_data.source=" + train, "--set", "train_data.images=2100")
ours = torch.from_numpy(safetensors_io.read(white)["conv0.weight"].copy())
network = peer.new_network()
images, _ = peer.read_shards(train)
assert images.shape == (2100, 3, 32, 32), images.shape
peer.set_whitening(network.conv0, peer.normalized(images))
theirs = network.conv0.weight.detach()
for one, other in zip(ours, theirs):
    difference = min((one - other).abs().max(), (one + other).abs().max())
    assert difference < 1e-4 * other.abs().max(), (one, other)

# Rates per image of a mean loss. The config's rate rises over 109 steps of 476.
schedule = os.path.join(OUT, "schedule.csv")
with open(schedule, "w", encoding="utf-8") as file:
    subprocess.run([GFTRAIN, "--config=" + CONFIG, "--print_schedule"], stdout=file, check=True)
with open(schedule, encoding="utf-8") as file:
    rates = [float(row["lr"]) for row in csv.DictReader(file)]
assert len(rates) == 476, len(rates)
groups = peer.optimizer_of(network).param_groups
first = groups[1]["lr"] * peer.BATCH
for step in (0, 50, 109, 300, 475):
    expected = first * peer.rate_at(step, 476)
    assert abs(rates[step] / expected - 1) < 1e-3, (step, rates[step], expected)
# lr_mult: 64 of the batch norms' shifts, and one decay for all.
assert abs(groups[0]["lr"] / groups[1]["lr"] - 64) < 1e-9, groups
decay = groups[1]["lr"] * groups[1]["weight_decay"]
assert abs(decay / (rates[109] * 0.00133) - 1) < 2e-3, (decay, rates[109])
assert abs(groups[0]["lr"] * groups[0]["weight_decay"] / decay - 1) < 1e-9, groups

# It trains, and what its checkpoint continues is the same training.
command = [sys.executable, PEER, "--train=" + train, "--test=" + test, "--epochs=2",
           "--checkpoint=" + os.path.join(OUT, "state")]
printed = run(*command)
result = json.loads(printed.splitlines()[-1])
assert result["steps"] == 4 and "epoch 2 loss" in printed, printed
assert 0 <= result["accuracy"] <= 1 and 0 <= result["accuracy_of_means"] <= 1, result
again = run(*command)
assert "epoch" not in again.splitlines()[0], again
assert json.loads(again.splitlines()[-1])["accuracy_of_means"] == result["accuracy_of_means"], again
print("PASS")
