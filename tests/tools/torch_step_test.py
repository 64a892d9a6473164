"""torch_step times PyTorch alone and with the exchange of DDP, in the forms that versus and gfbench
arena read, and refuses what it does not know."""
import json
import os
import socket
import subprocess
import sys

OUT = os.environ.get("TEST_TMPDIR", "/tmp")
STEP = [sys.executable, "tools/gfbench/torch_step", "--net=lenet", "--side=28", "--batch=8",
        "--steps=2", "--warmup=3"]
RANKS = ["bazel/mpirun.sh", "-n", "2"]


def run(command, code=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == code, (command, done)
    return done.stdout + done.stderr


def figures(command, ranks, hook):
    lines = [line for line in run(command).splitlines() if line.startswith("{")]
    assert len(lines) == 1, lines
    result = json.loads(lines[0])
    assert result["ranks"] == ranks and result["ddp"] == hook, result
    assert abs(result["images_per_s"] * result["step_ms"] / 1e3 - 8 * ranks) < 1e-6, result


# Steps meet at a free port, even if another program has the usual one.
taken = socket.socket()
try:
    taken.bind(("127.0.0.1", 29500))
    taken.listen()
except OSError:
    pass  # another program has it

figures(STEP, 1, "")
for name in ("none", "fp16", "powersgd:2", "nothing"):
    figures(RANKS + STEP + ["--ddp=" + name], 2, name)
assert "expected none, fp16, powersgd:R or nothing" in run(STEP + ["--ddp=powersgd"], 2)

peer = " ".join(STEP + ["--ddp=none"])
run(RANKS + ["tools/gfbench/gfbench", "arena", "--net=models/lenet.prototxt", "--batch=8",
             "--rounds=1", "--steps=1", "--methods=LAZY BF16", "--peers=DDP = " + peer,
             "--json=" + OUT + "/arena.json"])
with open(OUT + "/arena.json", encoding="utf-8") as f:
    rows = json.load(f)["methods"]
assert [row["name"] for row in rows] == ["nothing", "LAZY BF16", "DDP"], rows
assert rows[2]["command"] == peer and rows[2]["step_ms"] > 0 and rows[2]["ratio"] > 0, rows
print("PASS")
