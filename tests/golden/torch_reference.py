#!/usr/bin/python3
"""Loss, logits and gradients of a shipped network as PyTorch computes them.

  torch_reference.py --net NAME --weights W.safetensors --input I.safetensors --output O.safetensors
                     [--mode train|eval] [--label_smoothing E] [--class_weights W0,W1,...]
                     [--double]

--weights  A checkpoint's weights: "<layer>.weight" and "<layer>.bias" in FP32, convolutions
           [outputs, inputs / groups, height, width], inner products [outputs, inputs]; for each
           batch normalisation also "<layer>.running_mean" and "<layer>.running_var". Exactly these
           names must be there (load_state_dict with strict=True).
--input    "data" FP32 [N, C, H, W], what enters the first layer; "label" INT64 (or INT32) [N].
--output   All FP32. "loss" [1]: mean cross entropy over the batch; "logits" [N, classes]; and in
           mode train "grad/<name>" for every parameter, of the mean loss, without weight decay;
           "state/<name>" for every running mean and variance after this one step.
--mode     train: batch statistics, dropout off (the other side must set its ratios to 0).
           eval: running statistics, no gradients.
--class_weights  of the loss, as CrossEntropyLoss(weight=...); default: none.
--double   Computes in FP64; only the results are rounded to FP32.

How close two right answers are. A ReLU or a maximum whose arguments differ by less than the
rounding falls the other way in another program, and batch normalisation spreads that: with
PyTorch's own initial weights and random images, FP32 and FP64 gradients of resnet50 differ by 3 %
of their norm (batch 4), of alexnet_bn by up to 0.7 % in single tensors. Shifting the ReLUs away
from 0 removes this:
  alexnet_owt, alexnet
               batch 2, biases of all layers 1.5 +-20 %                               (1e-6)
  alexnet_bn   batch 2, biases of the convolutions, fc6 and fc7 1.5 +-20 %            (5e-5)
  resnet50     batch 8 of 96x96, gammas 0.5 +-20 % but bn3's 0.1, betas 1 +-20 %      (1e-5)
where the figure is |FP32 - FP64| / (|FP64| + 1e-4 |whole gradient|), worst tensor. The second
term is for gradients that are 0 in exact arithmetic, such as that of a bias which only a batch
normalisation sees.

Needs PyTorch and torchvision (Debian: python3-torch, python3-torchvision).
"""

import argparse

import torch
import torch.nn.functional as F

import safetensors_io
from torch_networks import NETWORKS


def compute(net, weights, data, label, mode="train", label_smoothing=0.0, double=False,
            class_weights=None):
    """{name: numpy array} of results, from numpy arrays; as the module's docstring says."""
    dtype = torch.float64 if double else torch.float32
    model = NETWORKS[net]()
    model.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()}, strict=True)
    model.to(dtype).train(mode == "train")
    with torch.set_grad_enabled(mode == "train"):
        logits = model(torch.from_numpy(data).to(dtype))
        loss = F.cross_entropy(logits, torch.from_numpy(label).long(),
                               weight=class_weights and torch.tensor(class_weights, dtype=dtype),
                               label_smoothing=label_smoothing)
    results = {"loss": loss.reshape(1), "logits": logits}
    if mode == "train":
        loss.backward()
        for name, parameter in model.named_parameters():
            results["grad/" + name] = parameter.grad
        for name, state in model.named_buffers():
            if not name.endswith("num_batches_tracked"):
                results["state/" + name] = state
    return {name: tensor.detach().float().numpy() for name, tensor in results.items()}


def numbers(text):
    """Of a flag, with commas."""
    return [float(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", required=True, choices=sorted(NETWORKS))
    parser.add_argument("--weights", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--mode", choices=["train", "eval"], default="train")
    parser.add_argument("--label_smoothing", type=float, default=0.0)
    parser.add_argument("--class_weights", type=numbers)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    batch = safetensors_io.read(args.input)
    results = compute(args.net, safetensors_io.read(args.weights), batch["data"], batch["label"],
                      args.mode, args.label_smoothing, args.double, args.class_weights)
    safetensors_io.write(args.output, results)
    print(f"{args.net} {args.mode}: loss {results['loss'][0]:.6f}, {len(results)} tensors")


if __name__ == "__main__":
    main()
