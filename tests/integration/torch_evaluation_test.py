"""gfeval's accuracy is PyTorch's: the same weights on the same real images, on 1, 2 and 3 ranks.

Usage: torch_evaluation_test.py GFEVAL. The network is a resnet18 with random features and a last
layer fitted to them (ridge regression), so that some images are right, some wrong and many between
two classes: a level more or less in some pixels would change the side of one image in a hundred.
Images of 224x224 cut (center 112), and resized (shorter side 128) and cut by torchvision and by
gfeval; the latter also with the mean over each image and its mirror image, and over images moved by
some pixels: at most one image in a thousand may be right in one and wrong in the other.
"""
import glob
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile

import numpy
import torch
import torchvision
from PIL import Image
from torchvision import transforms

sys.path.insert(0, "tests/golden")
import safetensors_io  # noqa: E402

CLASSES, FITTED, CHANNEL_MEAN, CHANNEL_STD = 10, 600, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CONFIG = """
name: "evaluation"
net: "%s/models/resnet18.prototxt"
input { height: 112 width: 112 }
train_data { source: "%s" batch_size: 1 crop_size: 112 }
validation_data {
  source: "%s" batch_size: 40 resize_shorter: %d crop_size: 112
  mean: [123.675, 116.28, 103.53] std: [58.395, 57.12, 57.375] test_flips: %s test_shifts: %d
}
solver { base_lr: 1 max_steps: 1 }
"""


def read_images(pattern, shorter_side, most=None):
    """(keys, labels, normalised images) of the shards, in order."""
    prepare = transforms.Compose([
        transforms.Resize(shorter_side), transforms.CenterCrop(112), transforms.ToTensor(),
        transforms.Normalize(CHANNEL_MEAN, CHANNEL_STD)])
    keys, labels, images = [], {}, {}
    for path in sorted(glob.glob(pattern)):
        with tarfile.open(path) as tar:
            for member in tar:
                key, ending = os.path.splitext(member.name)
                data = tar.extractfile(member).read()
                if ending == ".cls":
                    labels[key] = int(data)
                elif most is None or len(keys) < most:
                    keys.append(key)
                    images[key] = prepare(Image.open(io.BytesIO(data)).convert("RGB"))
    return keys, numpy.array([labels[key] for key in keys]), torch.stack(
        [images[key] for key in keys])


def in_batches(net, images):
    with torch.no_grad():
        return torch.cat([net(images[i:i + 40]) for i in range(0, len(images), 40)])


def averaged(net, images, flips, shift):
    """Logits over images, their mirror images and images moved by `shift` pixels."""
    def mean_over_flips(some):
        logits = in_batches(net, some)
        return (logits + in_batches(net, some.flip(3))) / 2 if flips else logits
    logits = mean_over_flips(images)
    if shift == 0:
        return logits
    side = images.shape[3]
    padded = torch.nn.functional.pad(images, (shift,) * 4, "reflect")
    moved = [mean_over_flips(padded[:, :, at:at + side, at:at + side]) for at in (0, 2 * shift)]
    return 0.5 * logits + 0.25 * (moved[0] + moved[1])


def fitted_network(train):
    torch.manual_seed(1)
    net = torchvision.models.resnet18()
    _, labels, images = read_images(train, 128, FITTED)
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = None  # statistics are plain means
    net.train()
    in_batches(net, images[:200])
    net.eval()
    last, net.fc = net.fc, torch.nn.Identity()
    features = torch.cat([in_batches(net, images), torch.ones(len(images), 1)], 1).double()
    wanted = torch.nn.functional.one_hot(torch.tensor(labels), CLASSES).double()
    gram = features.T @ features
    ridge = 0.1 * gram.diag().mean() * torch.eye(len(gram), dtype=torch.double)
    weights = torch.linalg.solve(gram + ridge, features.T @ wanted).T.float()
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(-100)
        last.weight[:CLASSES] = weights[:, :-1]
        last.bias[:CLASSES] = weights[:, -1]
    net.fc = last
    return net


def main():
    gfeval, mpirun = (os.path.abspath(path) for path in sys.argv[1:])
    root = os.getcwd()
    data = os.environ.get("GF_DATA_DIR", "")
    folder = os.path.join(data, "imagenette224")
    if not os.path.isdir(folder):
        print("SKIPPED: no imagenette224 in GF_DATA_DIR=%s: nothing is compared" % data)
        return
    train = os.path.join(folder, "imagenette224-train-*.tar")
    net = fitted_network(train)
    work = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    os.chdir(work)
    safetensors_io.write("weights.safetensors", {
        name: value.numpy() for name, value in net.state_dict().items()
        if not name.endswith("num_batches_tracked")})
    validation = os.path.join(folder, "imagenette224-val-*.tar")
    for shorter_side, worlds, flips, shift in (224, (1,), False, 0), (128, (1, 2, 3), False, 0), (
            128, (2,), True, 0), (128, (2,), False, 3):
        print("resized to", shorter_side, "flips:", flips, "shift:", shift)
        with open("job.prototxt", "w", encoding="utf-8") as out:
            out.write(CONFIG % (root, train, validation, shorter_side, str(flips).lower(), shift))
        keys, labels, images = read_images(validation, shorter_side)
        logits = averaged(net, images, flips, shift)
        if flips or shift > 0:
            plain = in_batches(net, images).argmax(1)
            assert (logits.argmax(1) != plain).float().mean() > 0.005, "means change nothing"
        compare(gfeval, mpirun, worlds, keys, labels, logits.numpy())


def compare(gfeval, mpirun, worlds, keys, labels, logits):
    """Runs gfeval and holds its results against PyTorch's logits."""
    right = logits.argmax(1) == labels
    print("PyTorch: %d of %d images right" % (right.sum(), len(labels)))
    assert 0.2 < right.mean() < 0.98, "a network of which nothing can be learnt"
    results = []
    for ranks in worlds:
        command = [gfeval, "--config=job.prototxt", "--weights=weights.safetensors",
                   "--json=%d.json" % ranks, "--misclassified=%d.tsv" % ranks]
        if ranks > 1:
            command = [mpirun, "-n", str(ranks)] + command
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open("%d.json" % ranks, encoding="utf-8") as source:
            results.append(json.load(source))
        with open("%d.tsv" % ranks, encoding="utf-8") as source:
            wrong = {re.match(r".*\.tar:(.*):\d+$", line.split("\t")[0]).group(1)
                     for line in source}
        ours = numpy.array([key not in wrong for key in keys])
        print("gfeval, %d ranks: %d right, %d images differ" %
              (ranks, ours.sum(), (ours != right).sum()))
        assert results[-1]["images"] == len(labels)
        assert abs(results[-1]["top1"] - ours.mean()) < 1e-9
        assert (ours != right).mean() <= 0.001, "another accuracy"
    for name in ("top1", "top5", "images"):
        assert len({r[name] for r in results}) == 1, name + " depends on the number of ranks"


main()
