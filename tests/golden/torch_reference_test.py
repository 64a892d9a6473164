"""Checks the reference itself: its files, and its gradients where they are known in closed form."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import safetensors_io
import torch_reference
from torch_networks import NETWORKS

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_reference.py")


def random_weights(net, seed=1):
    random = numpy.random.default_rng(seed)
    weights = {}
    for name, tensor in NETWORKS[net]().state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        values = random.normal(0, tensor[0].numel() ** -0.5, tuple(tensor.shape))
        if tensor.dim() == 1:
            values = 1 + 0.1 * random.random(tuple(tensor.shape))
        weights[name] = values.astype("f4")
    return weights


def random_batch(channels, size, count=4, seed=2):
    random = numpy.random.default_rng(seed)
    data = random.normal(0, 1, (count, channels, size, size)).astype("f4")
    return data, random.integers(0, 10, count)


class TorchReferenceTest(unittest.TestCase):
    def test_the_file_round_trip_keeps_every_bit_and_shape(self):
        tensors = {"a.b": numpy.arange(6, dtype="f4").reshape(2, 3), "scalar": numpy.float32(7),
                   "label": numpy.array([1, -2], "i8"), "empty": numpy.zeros((0, 4), "f4")}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.safetensors")
            safetensors_io.write(path, tensors)
            back = safetensors_io.read(path)
        self.assertEqual(list(back), list(tensors))
        for name, values in tensors.items():
            numpy.testing.assert_array_equal(back[name], values)
            self.assertEqual(back[name].shape, numpy.shape(values))

    def test_the_last_bias_gradient_is_softmax_minus_target(self):
        for smoothing in (0.0, 0.1):
            data, label = random_batch(1, 28)
            out = torch_reference.compute("lenet", random_weights("lenet"), data, label,
                                          label_smoothing=smoothing, double=True)
            exp = numpy.exp(out["logits"] - out["logits"].max(1, keepdims=True))
            softmax = exp / exp.sum(1, keepdims=True)
            target = (1 - smoothing) * numpy.eye(10)[label] + smoothing / 10
            loss = -(target * numpy.log(softmax)).sum(1).mean()
            self.assertAlmostEqual(out["loss"][0], loss, places=5)
            numpy.testing.assert_allclose(out["grad/ip2.bias"], (softmax - target).mean(0),
                                          atol=1e-6)

    def test_class_weights_multiply_the_targets_and_the_count(self):
        data, label = random_batch(1, 28)
        weights = numpy.linspace(0, 3, 10)
        out = torch_reference.compute("lenet", random_weights("lenet"), data, label,
                                      label_smoothing=0.1, double=True,
                                      class_weights=list(weights))
        exp = numpy.exp(out["logits"] - out["logits"].max(1, keepdims=True))
        softmax = exp / exp.sum(1, keepdims=True)
        target = weights * (0.9 * numpy.eye(10)[label] + 0.1 / 10)
        loss = -(target * numpy.log(softmax)).sum() / weights[label].sum()
        self.assertAlmostEqual(out["loss"][0], loss, places=5)
        gradient = softmax * target.sum(1, keepdims=True) - target
        numpy.testing.assert_allclose(out["grad/ip2.bias"],
                                      gradient.sum(0) / weights[label].sum(), atol=1e-6)

    def test_single_and_double_precision_agree(self):
        data, label = random_batch(3, 32)
        weights = random_weights("resnet20_cifar")
        single = torch_reference.compute("resnet20_cifar", weights, data, label)
        double = torch_reference.compute("resnet20_cifar", weights, data, label, double=True)
        self.assertEqual(set(single), set(double))
        for name, expected in double.items():
            error = numpy.linalg.norm(single[name] - expected)
            self.assertLess(error, 1e-4 * numpy.linalg.norm(expected) + 1e-6, name)

    def test_running_statistics_move_a_tenth_of_the_way(self):
        data, label = random_batch(3, 32)
        weights = random_weights("resnet20_cifar")
        weights["conv1.weight"][:] = 0
        out = torch_reference.compute("resnet20_cifar", weights, data, label)
        for name in ("bn1.running_mean", "bn1.running_var"):
            numpy.testing.assert_allclose(out["state/" + name], 0.9 * weights[name], rtol=1e-6)

    def test_eval_uses_the_running_statistics(self):
        data, label = random_batch(3, 32)
        weights = random_weights("resnet20_cifar")
        whole = torch_reference.compute("resnet20_cifar", weights, data, label, mode="eval")
        alone = torch_reference.compute("resnet20_cifar", weights, data[:1], label[:1], "eval")
        self.assertEqual(set(whole), {"loss", "logits"})
        numpy.testing.assert_allclose(whole["logits"][:1], alone["logits"], rtol=1e-4, atol=1e-4)

    def test_every_network_has_the_tensors_and_parameters_of_its_prototxt(self):
        expected = {"airbench94": (21, 1972792),
                    "alexnet": (16, 60965224), "alexnet_bn": (26, 60967976),
                    "alexnet_owt": (16, 61100840), "lenet": (8, 431080),
                    "resnet18": (62, 11689512), "resnet20_cifar": (65, 272474),
                    "resnet50": (161, 25557032), "resnet50_blur": (167, 25581224),
                    "resnet50_v2": (153, 25549352)}
        self.assertEqual(set(expected), set(NETWORKS))
        for name, counts in expected.items():
            sizes = [p.numel() for p in NETWORKS[name]().parameters()]
            self.assertEqual((len(sizes), sum(sizes)), counts, name)

    def test_the_command_writes_gradients_of_every_parameter_and_refuses_a_missing_one(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = {key: os.path.join(folder, key) for key in ("weights", "input", "output")}
            weights = random_weights("lenet")
            data, label = random_batch(1, 28)
            safetensors_io.write(paths["weights"], weights)
            safetensors_io.write(paths["input"], {"data": data, "label": label})
            command = [sys.executable, SCRIPT, "--net", "lenet"]
            for key, path in paths.items():
                command += ["--" + key, path]
            subprocess.run(command, check=True)
            names = set(safetensors_io.read(paths["output"]))
            self.assertEqual(names, {"loss", "logits"} | {"grad/" + name for name in weights})
            del weights["ip1.bias"]
            safetensors_io.write(paths["weights"], weights)
            result = subprocess.run(command, capture_output=True, text=True)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("ip1.bias", result.stderr)


if __name__ == "__main__":
    unittest.main()
