"""Networks as ONNX on random parameters: the results of onnxruntime against ours.

Usage: onnx_test.py layers|shipped|public DUMP_ONNX FOLDER [PART OF A NAME]

Every model must also pass onnx.checker. "layers" are the small nets of layer_cases.py, the others
the prototxt files of FOLDER."""

import glob
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

sys.path.insert(0, "tests/golden")
sys.path.insert(0, "tests/export")
import layer_cases
import safetensors_io

TOLERANCE = 1e-4  # largest |ours - onnxruntime's| / largest |ours|
# Why a network is not exported, by a part of its file's name.
NOT_COMPARED = {"mnist_autoencoder": "no data layer of phase TEST without a stage"}
OPSET, IR_VERSION = 13, 8


def size_flags(name):
    if "cifar" in name or "quickstart" in name:
        return ["--side=32"]
    if "siamese_train_test" in name:
        return ["--channels=2", "--side=28"]
    if "mnist" in name or "lenet" in name:
        return ["--channels=1", "--side=28"]
    return []


def softmax(scores):
    powers = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def run_model(path, images):
    """{output: values} of onnxruntime, from the same images for every input."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": "f4", "tensor(uint8)": "u1", "tensor(uint16)": "u2"}
    feeds = {value.name: images.astype(types[value.type]) for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def check_form(path, flags):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", OPSET)]
    assert model.ir_version == IR_VERSION and model.producer_name == "gradientflow"
    for value in model.graph.input:
        batch = value.type.tensor_type.shape.dim[0]
        if "--fixed_batch" in flags:
            assert batch.dim_value > 0, "the batch is not fixed"
        else:
            assert batch.dim_param == "N", "the batch is not open"
    return model


def compare(dump, net, folder, flags=(), expect=None):
    """(whether the outputs agree, a line about them)"""
    ran = subprocess.run([dump, "--net=" + net, "--out=" + folder, *flags],
                         stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        said = ran.stderr.strip().splitlines() or [f"exit {ran.returncode}"]
        return False, "is not exported: " + said[-1]
    path = folder + "/model.onnx"
    try:
        model = check_form(path, flags)
        ops = {node.op_type for node in model.graph.node}
        for op in expect or ():
            assert (op.lstrip("!") in ops) != op.startswith("!"), f"nodes {sorted(ops)}, not {op}"
        theirs = run_model(path, safetensors_io.read(folder + "/input.safetensors")["images"])
    except Exception as error:  # of any of the libraries: the test goes on with the other nets
        return False, f"{type(error).__name__}: {' '.join(str(error).split())}"
    ours = safetensors_io.read(folder + "/ours.safetensors")
    if "--softmax" in flags:
        ours["prob"] = softmax(next(iter(ours.values())))
    if set(ours) != set(theirs):
        return False, f"outputs {sorted(theirs)}, expected {sorted(ours)}"
    agree, texts = True, []
    for name, values in ours.items():
        if values.shape != theirs[name].shape:
            return False, f"{name}: {values.shape}, onnxruntime {theirs[name].shape}"
        error = numpy.abs(values - theirs[name]).max() / numpy.abs(values).max()
        agree = agree and error <= TOLERANCE and numpy.ptp(values) > 0
        texts.append(f"{name} {error:.1e}")
    return bool(agree), ", ".join(texts)


def cases(kind, folder, part):
    """(name, file, flags, nodes to expect) of the networks to compare."""
    if kind == "layers":
        for name, text, flags, expect in layer_cases.all_cases():
            path = f"{folder}/{name}.prototxt"
            with open(path, "w") as file:
                file.write(text)
            if part in name:
                yield name, path, flags, expect
        return
    for path in sorted(glob.glob(sys.argv[3] + "/*.prototxt")):
        name = os.path.basename(path)[:-len(".prototxt")]
        if part not in path or any(skipped in name for skipped in NOT_COMPARED):
            continue
        flags = size_flags(name) + (["--batch=2"] if kind == "public" else [])
        yield name, path, flags, None
        if kind == "shipped":
            yield name + " unfolded", path, size_flags(name) + ["--nofold_batch_norm"], None


def main():
    kind, dump = sys.argv[1:3]
    part = sys.argv[4] if len(sys.argv) > 4 else ""
    equal, different = 0, []
    with tempfile.TemporaryDirectory() as nets:
        for name, path, flags, expect in cases(kind, nets, part):
            with tempfile.TemporaryDirectory() as folder:
                agrees, text = compare(dump, path, folder, flags, expect)
                if not agrees and "--batch=N" in text:  # the net fixes its batch
                    flags = flags + ["--fixed_batch"]
                    agrees, text = compare(dump, path, folder, flags, expect)
            print("equal    " if agrees else "DIFFERENT", name, text, flush=True)
            equal += agrees
            if not agrees:
                different.append(name)
    print(f"{equal} models have our results to {TOLERANCE:g} in onnxruntime")
    if different or not equal:
        sys.exit("different: " + ", ".join(different))


if __name__ == "__main__":
    main()
