"""Bytes and FLOPs of training steps of ResNet-50 and AlexNet-BN from their published architectures,
beside what gfbench step --cost says.

Usage: step_cost_test.py NET BATCH FP16|BF16 FIGURES.json
"""
import json
import sys

HALF, FLOAT, LABEL = 2, 4, 8  # bytes
SGD = 4 * FLOAT + 2 * HALF  # per parameter: weight and velocity both ways, gradient, copy


class Step:
    def __init__(self, batch, compute):
        self.batch, self.bytes, self.flops, self.parameters = batch, 0, 0, 0
        self.sums = compute == "FP16"  # cuDNN's convolutions add up their results

    def image(self, channels, side):
        return self.batch * channels * side * side * HALF

    def input(self, side):
        pixels = self.image(3, side) // HALF
        self.bytes += 3 * self.batch * LABEL + pixels + pixels + HALF * pixels

    # `unread`: bytes of x that neither forward nor the gradient of the weights reads.
    def product(self, x, y, weights, multiply_adds, passes, unread=0):
        self.bytes += passes * (x + y + weights * HALF) - 2 * unread
        self.flops += passes * 2 * multiply_adds
        self.parameters += weights

    def convolution(self, inputs, outputs, side, kernel, out, groups=1, first=False):
        weights = outputs * inputs // groups * kernel * kernel
        x = self.image(inputs, side)
        # 1x1 filters with a stride see one pixel of each block.
        unread = x - self.image(inputs, out) if kernel == 1 else 0
        self.product(x, self.image(outputs, out), weights, self.batch * out * out * weights,
                     2 if first else 3, unread)

    def inner_product(self, inputs, outputs):
        self.product(self.batch * inputs * HALF, self.batch * outputs * HALF, inputs * outputs,
                     self.batch * inputs * outputs, 3)

    def bias(self, outputs, y, relu):
        self.parameters += outputs
        self.bytes += y * (3 if relu else 1)  # reads dy; reads y and writes dy

    # Parameters, and a pass over x, unless the convolution before it may add up its results.
    def statistics(self, channels, x, sums):
        self.parameters += 2 * channels
        self.bytes += 2 * 2 * channels * FLOAT if sums and self.sums else x

    # `forward`, `backward`: tensors beside x, y and x, dy, dx of the two passes of each direction.
    def batch_norm(self, channels, y, forward=0, backward=0, sums=False):
        self.statistics(channels, y, sums)
        self.bytes += y * (2 + forward) + y * (2 + backward + 3)

    # The result between them is in no memory: backward's two passes read where the maxima were.
    def batch_norm_max_pool(self, channels, side, out):
        x, y = self.image(channels, side), self.image(channels, out)
        self.statistics(channels, x, True)
        self.bytes += 4 * x + 3 * (y + y // HALF)

    def max_pool(self, channels, side, out, relu=False):
        x, y = self.image(channels, side), self.image(channels, out)
        self.bytes += 2 * (x + y + y // HALF) + (y if relu else 0)

    def loss(self, classes):
        scores = self.batch * classes
        self.bytes += 2 * (scores * (HALF + FLOAT) + self.batch * LABEL)

    def update(self):
        self.bytes += self.parameters * SGD


# He et al., arXiv 1512.03385, table 1; with the strides of the blocks in their 3 x 3 convolutions.
def resnet50(batch, compute):
    step = Step(batch, compute)
    step.input(224)
    step.convolution(3, 64, 224, 7, 112, first=True)
    step.batch_norm_max_pool(64, 112, 56)
    step.bytes += 3 * step.image(64, 56)  # the two gradients of its result are added up
    channels, side = 64, 56
    for width, blocks in (64, 3), (128, 4), (256, 6), (512, 3):
        for block in range(blocks):
            out = side // 2 if block == 0 and width > 64 else side
            last = width == 512 and block == blocks - 1
            step.convolution(channels, width, side, 1, side)
            step.batch_norm(width, step.image(width, side), sums=True)
            step.convolution(width, width, side, 3, out)
            step.batch_norm(width, step.image(width, out), sums=True)
            step.convolution(width, 4 * width, out, 1, out)
            # The shortcut, and both ways a bit per element that says where y > 0; backward its own
            # gradient and, but for the last block's, the second one of two readers.
            bits = 1 / (8 * HALF)
            # A convolution's shortcut is normalized in the same passes: backward's first one reads
            # it, the second one reads it and writes its gradient.
            own = 3 if block == 0 else 0
            step.batch_norm(4 * width, step.image(4 * width, out), 1 + bits,
                            (1 if last else 2) + bits + own, sums=True)
            if block == 0:
                step.convolution(channels, 4 * width, side, 1, out)
                step.statistics(4 * width, step.image(4 * width, out), True)
            channels, side = 4 * width, out
    step.bytes += 2 * (step.image(2048, 7) + step.image(2048, 1))
    step.inner_product(2048, 1000)
    step.bias(1000, batch * 1000 * HALF, False)
    step.loss(1000)
    step.update()
    return step


# Krizhevsky et al., NIPS 2012, with batch norms behind the pooling (Sun et al., arXiv 1902.06855).
def alexnet_bn(batch, compute):
    step = Step(batch, compute)
    step.input(227)
    side, inputs = 227, 3
    # Outputs, kernel, groups, side of the result, side of the pooled result.
    for i, (outputs, kernel, groups, out, pooled) in enumerate(
            ((96, 11, 1, 55, 27), (256, 5, 2, 27, 13), (384, 3, 1, 13, 0), (384, 3, 2, 13, 0),
             (256, 3, 2, 13, 6))):
        step.convolution(inputs, outputs, side, kernel, out, groups, first=i == 0)
        # Pooling takes the gradient of the ReLU upon itself, which reads its own result.
        step.bias(outputs, step.image(outputs, out), not pooled)
        if pooled:
            step.max_pool(outputs, out, pooled, relu=True)
        side, inputs = pooled or out, outputs
        step.batch_norm(outputs, step.image(outputs, side))
    for inputs, outputs in (256 * 6 * 6, 4096), (4096, 4096), (4096, 1000):
        y = batch * outputs * HALF
        step.inner_product(inputs, outputs)
        step.bias(outputs, y, outputs == 4096)
        if outputs == 4096:
            step.bytes += 2 * (2 * y + y // HALF)  # dropout, with a byte per element
    step.loss(1000)
    step.update()
    return step


def main():
    net, batch, compute, path = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
    with open(path, encoding="utf-8") as source:
        figures = json.load(source)
    expected = {"resnet50": resnet50, "alexnet_bn": alexnet_bn}[net](batch, compute)
    total = figures["total"]
    print("%s: %.4f GB, expected %.4f; %.5f TFLOP, expected %.5f" %
          (net, total["bytes"] / 1e9, expected.bytes / 1e9, total["flops"] / 1e12,
           expected.flops / 1e12))
    assert figures["batch"] == batch and figures["estimate"] is True, figures
    assert figures["parameters"] == expected.parameters, (figures["parameters"],
                                                          expected.parameters)
    assert total["flops"] == expected.flops
    assert abs(total["bytes"] / expected.bytes - 1) < 1e-3
    # The table's parts are the whole, and its times those of the GPU.
    for key in "launches", "bytes", "flops", "stated_ms", "assumed_ms":
        parts = sum(kind[key] for kind in figures["kinds"])
        assert abs(parts / total[key] - 1) < 1e-9, (key, parts, total[key])
    gpu = figures["gpu"]
    least = max(total["bytes"] / gpu["bytes_per_s"], total["flops"] / gpu["fp16_flops_per_s"])
    assert least <= total["stated_ms"] * 1e-3 < total["assumed_ms"] * 1e-3, (least, total)
    assert abs(figures["stated_images_per_s"] * total["stated_ms"] * 1e-3 / batch - 1) < 1e-9
    layers = figures["layers"]
    assert sum(layer[way]["flops"] for layer in layers for way in ("forward", "backward")) == \
        expected.flops


main()
