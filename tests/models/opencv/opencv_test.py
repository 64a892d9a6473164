"""Results of public Caffe networks on random parameters: ours against OpenCV's dnn module.

Usage: opencv_test.py DUMP_OUTPUTS FOLDER [PART OF A NAME]

OpenCV reads a deploy.prototxt as its authors wrote it where it can, else our deploy form of it."""

import glob
import os
import re
import subprocess
import sys
import tempfile

import cv2
import numpy

sys.path.insert(0, "tests/golden")
import safetensors_io

TOLERANCE = 1e-4  # |ours - OpenCV's| / |OpenCV's|
LEAST = 67        # networks that must agree

# Why a network is not compared, by a part of its file's name.
NOT_COMPARED = {
    "mnist_autoencoder": "no data layer of phase TEST without a stage",
    "ShuffleNet": "OpenCV 4.6 does not read shuffle_channel_param",
}
# Read as our deploy form: data layers; OpenCV 4.6 computes a y + x for Axpy, in place of a x + y.
NOT_AS_WRITTEN = re.compile(r'type:\s*("(\w*Data|Axpy)"|\w*DATA\b)')


def size_flags(name):
    if "cifar" in name:
        return ["--side=32"]
    if "siamese_train_test" in name:
        return ["--channels=2", "--side=28"]
    if "mnist" in name:
        return ["--channels=1", "--side=28"]
    return []


def opencv_outputs(prototxt, weights, image, layers):
    net = cv2.dnn.readNetFromCaffe(prototxt, weights)
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    net.setInput(image)
    return dict(zip(layers, net.forward(layers)))


def error(ours, theirs):
    difference = numpy.linalg.norm(ours.ravel().astype("f8") - theirs.ravel())
    return difference / numpy.linalg.norm(theirs) if difference else 0.0


def compare(dump, path, folder):
    """(whether the outputs agree, a line about them)"""
    ran = subprocess.run([dump, "--net=" + path, "--out=" + folder] + size_flags(path),
                         stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        said = ran.stderr.strip().splitlines() or [f"exit {ran.returncode}"]
        return False, "does not build: " + said[-1]
    image = safetensors_io.read(folder + "/input.safetensors")["data"]
    ours = safetensors_io.read(folder + "/ours.safetensors")
    theirs, problem = None, ""
    with open(path) as file:
        as_written = not NOT_AS_WRITTEN.search(file.read())
    for prototxt in [path] * as_written + [folder + "/deploy.prototxt"]:
        try:
            theirs = opencv_outputs(prototxt, folder + "/weights.caffemodel", image, list(ours))
            break
        except cv2.error as e:
            problem = " ".join(str(e).split())
    if theirs is None:
        return False, "OpenCV: " + problem
    how = "as written" if prototxt == path else "deploy form"
    errors = {}
    for layer, values in ours.items():
        if values.size != theirs[layer].size:
            return False, f"{layer}: {values.shape}, OpenCV {theirs[layer].shape}"
        errors[layer] = error(values, theirs[layer])
    texts = [f"{layer} {e:.1e}" for layer, e in errors.items()]
    alive = all(numpy.ptp(values) > 0 for values in ours.values())
    return alive and all(e <= TOLERANCE for e in errors.values()), how + ", " + ", ".join(texts)


def main():
    dump, nets = sys.argv[1:3]
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    equal, different = 0, []
    paths = [path for path in sorted(glob.glob(nets + "/*.prototxt")) if part in path]
    for path in paths:
        name = os.path.basename(path)[:-len(".prototxt")]
        with tempfile.TemporaryDirectory() as folder:
            agrees, text = compare(dump, path, folder)
        print("equal    " if agrees else "DIFFERENT", name, text, flush=True)
        equal += agrees
        if not agrees:
            different.append(name)
    print(f"{equal} of {len(paths)} networks have OpenCV's results to {TOLERANCE:g}")
    unexpected = [name for name in different if not any(k in name for k in NOT_COMPARED)]
    if equal < min(LEAST, len(paths)) or unexpected:
        sys.exit(f"expected at least {LEAST}, and no others than these to differ: "
                 f"{', '.join(NOT_COMPARED)}; also different: {', '.join(unexpected)}")


if __name__ == "__main__":
    main()
