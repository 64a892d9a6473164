"""PyTorch's version of the networks in models/, written without looking at the prototxt files'
layers one by one: torchvision's own classes where they exist, small classes elsewhere. Parameters
have the names that our checkpoints give them."""

from collections import OrderedDict

from torch import nn
import torch.nn.functional as F
import torchvision


class LeNet(nn.Module):
    """1x28x28 -> 10; no non-linearity after the convolutions but max pooling."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.ip1 = nn.Linear(800, 500)
        self.ip2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 2)
        x = F.max_pool2d(self.conv2(x), 2)
        return self.ip2(F.relu(self.ip1(x.flatten(1))))


class AlexNet(nn.Module):
    """3x227x227 -> 1000, with groups. Normalised by LRN (`batch_norm` False: BVLC AlexNet) or by
    batch normalisation after the pooling (the GradientFlow paper's network)."""

    def __init__(self, batch_norm):
        super().__init__()
        self.batch_norm = batch_norm
        self.conv1 = nn.Conv2d(3, 96, 11, stride=4)
        self.conv2 = nn.Conv2d(96, 256, 5, padding=2, groups=2)
        self.conv3 = nn.Conv2d(256, 384, 3, padding=1)
        self.conv4 = nn.Conv2d(384, 384, 3, padding=1, groups=2)
        self.conv5 = nn.Conv2d(384, 256, 3, padding=1, groups=2)
        if batch_norm:
            for i, channels in enumerate([96, 256, 384, 384, 256], 1):
                self.add_module(f"bn{i}", nn.BatchNorm2d(channels, eps=1e-4, momentum=0.1))
        self.lrn = nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=1)
        self.fc6 = nn.Linear(9216, 4096)
        self.fc7 = nn.Linear(4096, 4096)
        self.fc8 = nn.Linear(4096, 1000)

    def forward(self, x):
        for i in range(1, 6):
            x = F.relu(getattr(self, f"conv{i}")(x))
            if not self.batch_norm and i in (1, 2):
                x = self.lrn(x)
            if i in (1, 2, 5):
                x = F.max_pool2d(x, 3, 2, ceil_mode=True)
            if self.batch_norm:
                x = getattr(self, f"bn{i}")(x)
        x = F.relu(self.fc6(x.flatten(1)))
        return self.fc8(F.relu(self.fc7(x)))


class ResNet20(nn.Module):
    """3x32x32 -> 10, of torchvision's residual blocks."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = self._stage(16, 16, 1)
        self.layer2 = self._stage(16, 32, 2)
        self.layer3 = self._stage(32, 64, 2)
        self.fc = nn.Linear(64, 10)

    @staticmethod
    def _stage(inputs, width, stride):
        block = torchvision.models.resnet.BasicBlock
        downsample = None
        if stride != 1:
            downsample = nn.Sequential(
                nn.Conv2d(inputs, width, 1, stride=stride, bias=False), nn.BatchNorm2d(width))
        return nn.Sequential(block(inputs, width, stride, downsample), block(width, width),
                             block(width, width))

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def blur(channels):
    return nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)


def resnet50_blur():
    """ResNet-50 with a filter before each convolution of a block that has a stride."""
    net = torchvision.models.resnet50()
    for layer in (net.layer2, net.layer3, net.layer4):
        block = layer[0]
        block.blur2 = blur(block.conv2.in_channels)
        block.conv2.register_forward_pre_hook(lambda _, x, filters=block.blur2: filters(x[0]))
        block.downsample = nn.Sequential(OrderedDict([
            ("blur", blur(block.downsample[0].in_channels)),
            ("0", block.downsample[0]), ("1", block.downsample[1])]))
    return net


class PreActivationBottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, x):
        active = F.relu(self.bn1(x))
        shortcut = x if self.downsample is None else self.downsample(active)
        y = self.conv1(active)
        y = self.conv2(F.relu(self.bn2(y)))
        y = self.conv3(F.relu(self.bn3(y)))
        return y + shortcut


class ResNet50V2(nn.Module):
    """3x224x224 -> 1000, full pre-activation."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        inputs = 64
        for stage, blocks in enumerate([3, 4, 6, 3]):
            width, layers = 64 << stage, OrderedDict()
            for i in range(blocks):
                stride = 2 if i == 0 and stage > 0 else 1
                layers[str(i)] = PreActivationBottleneck(inputs, width, stride)
                inputs = 4 * width
            self.add_module(f"layer{stage + 1}", nn.Sequential(layers))
        self.bn = nn.BatchNorm2d(inputs)
        self.fc = nn.Linear(inputs, 1000)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 3, 2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.relu(self.bn(x)).mean((2, 3)))


class AirbenchBlock(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(width, eps=1e-12, momentum=0.4)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width, eps=1e-12, momentum=0.4)

    def forward(self, x):
        x = F.gelu(self.norm1(F.max_pool2d(self.conv1(x), 2)))
        return F.gelu(self.norm2(self.conv2(x)))


class Airbench94(nn.Module):
    """3x32x32 -> 10, of Jordan's airbench94; its recipe fixes conv0.weight and the batch norms'
    weights."""

    def __init__(self):
        super().__init__()
        self.conv0 = nn.Conv2d(3, 24, 2)
        self.block1 = AirbenchBlock(24, 64)
        self.block2 = AirbenchBlock(64, 256)
        self.block3 = AirbenchBlock(256, 256)
        self.fc = nn.Linear(256, 10, bias=False)

    def forward(self, x):
        x = self.block3(self.block2(self.block1(F.gelu(self.conv0(x)))))
        return self.fc(F.max_pool2d(x, 3).flatten(1)) / 9


NETWORKS = {
    "airbench94": Airbench94,
    "alexnet": lambda: AlexNet(batch_norm=False),
    "alexnet_bn": lambda: AlexNet(batch_norm=True),
    "alexnet_owt": lambda: torchvision.models.alexnet(dropout=0.0),
    "lenet": LeNet,
    "resnet18": torchvision.models.resnet18,
    "resnet20_cifar": ResNet20,
    "resnet50": torchvision.models.resnet50,
    "resnet50_blur": resnet50_blur,
    "resnet50_v2": ResNet50V2,
}
