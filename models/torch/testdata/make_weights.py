#!/usr/bin/env python3
"""Small networks under torchvision's and timm's names, as files of weights, and what PyTorch answers:
make_weights.py DIR

NAME.npy has the output for the input x[i] = 37 * i mod 101 / 50 - 1. Needs torch, torchvision, timm and
safetensors.
"""

import os
import sys
import zipfile

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from timm.models import ConvNeXt as TimmConvNeXt
from timm.models.efficientnet import EfficientNet, decode_arch_def
from torchvision.models import DenseNet, GoogLeNet as TorchvisionGoogLeNet, ShuffleNetV2
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.googlenet import BasicConv2d, Inception


# Without a .pth file.
NAMES_ALONE = ("vgg_bn", "densenet", "googlenet", "timm_efficientnet", "timm_convnext")


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                        nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 2, 7, 2, 3, bias=False), nn.BatchNorm2d(2)
        self.layer1 = nn.Sequential(Bottleneck(2, 2, 1))
        self.layer2 = nn.Sequential(Bottleneck(8, 4, 2))
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        return self.fc(self.layer2(self.layer1(x)).mean([2, 3]))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(4, 5, 3, padding=1), nn.ReLU(), nn.Conv2d(5, 5, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2, 2))
        self.classifier = nn.Sequential(nn.Linear(5 * 3 * 2, 7), nn.ReLU(), nn.Dropout(),
                                        nn.Linear(7, 7), nn.ReLU(), nn.Dropout(), nn.Linear(7, 4))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


class VggBn(Vgg):
    """Convolutions have batch normalisations, the head has none."""

    def __init__(self):
        super().__init__()
        layers = []
        for module in self.features:
            layers.append(module)
            if isinstance(module, nn.Conv2d):
                layers.append(nn.BatchNorm2d(module.out_channels))
        self.features = nn.Sequential(*layers)


class GoogLeNet(TorchvisionGoogLeNet):
    """Torchvision's with a sixteenth of its filters, and with smaller heads for training."""

    def __init__(self):
        nn.Module.__init__(self)
        pool = lambda window=3: nn.MaxPool2d(window, 2, ceil_mode=True)
        block = lambda *channels: Inception(*[c // 16 for c in channels])
        self.aux_logits, self.transform_input = True, False
        self.conv1, self.maxpool1 = BasicConv2d(3, 4, kernel_size=7, stride=2, padding=3), pool()
        self.conv2 = BasicConv2d(4, 4, kernel_size=1)
        self.conv3, self.maxpool2 = BasicConv2d(4, 12, kernel_size=3, padding=1), pool()
        self.inception3a = block(192, 64, 96, 128, 16, 32, 32)
        self.inception3b, self.maxpool3 = block(256, 128, 128, 192, 32, 96, 64), pool()
        self.inception4a = block(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = block(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = block(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = block(512, 112, 144, 288, 32, 64, 64)
        self.inception4e, self.maxpool4 = block(528, 256, 160, 320, 32, 128, 128), pool(2)
        self.inception5a = block(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = block(832, 384, 192, 384, 48, 128, 128)
        self.aux1, self.aux2 = self.head(32), self.head(33)
        self.avgpool, self.dropout = nn.AdaptiveAvgPool2d(1), nn.Dropout()
        self.fc = nn.Linear(64, 4)

    @staticmethod
    def head(inputs):
        head = nn.Module()
        head.conv = BasicConv2d(inputs, 2, kernel_size=1)
        head.fc1, head.fc2 = nn.Linear(2, 3), nn.Linear(3, 4)
        return head


def view(file, offset, extents, strides, elements=16, stored=16, names="w"):
    """A file with one tensor, which may reach beyond what is stored, under names of one letter."""
    number = lambda n: b"J" + n.to_bytes(4, "little", signed=True)
    text = lambda t: b"X" + len(t).to_bytes(4, "little") + t.encode()
    pair = lambda p: number(p[0]) + number(p[1]) + b"\x86"
    pickle = (b"\x80\x02}(" + text(names[0]) + b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
              b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(elements) + b"tQ" +
              number(offset) + pair(extents) + pair(strides) + b"\x89}tRq\x01" + b"".join(text(n) + b"h\x01" for n in names[1:]) + b"u.")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("w/data.pkl", pickle)
        archive.writestr("w/data/0", np.arange(stored, dtype=np.float32).tobytes())


def convnext():
    with torch.random.fork_rng():
        torch.manual_seed(4)
        blocks = [CNBlockConfig(4, 8, 1), CNBlockConfig(8, None, 2)]
        network = ConvNeXt(blocks, stochastic_depth_prob=0, layer_scale=0.5, num_classes=5)
        for parameter in network.parameters():
            nn.init.uniform_(parameter, -0.5, 0.5)
        return network


def shufflenet():
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return ShuffleNetV2([2, 1, 1], [4, 6, 8, 12, 10], num_classes=4)


def seeded(make, seed):
    """A network whose biases and norms are no longer 0 and 1."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = make()
        for parameter in network.parameters():
            if parameter.ndim == 1:
                nn.init.uniform_(parameter, -0.5, 0.5)
        return network


def timm_efficientnet():
    blocks = decode_arch_def([["ds_r1_k3_s1_e1_c8_se0.25"], ["ir_r2_k5_s2_e6_c16_se0.25"]])
    return EfficientNet(blocks, num_classes=5, num_features=16, stem_size=8, act_layer=nn.SiLU)


def decoder():
    with torch.random.fork_rng():
        torch.manual_seed(6)
        return nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.ReLU(),
                             nn.ConvTranspose2d(4, 6, 3, 2, padding=1, output_padding=1, groups=2),
                             nn.ReLU(), nn.ConvTranspose2d(6, 4, 2, 2, bias=False), nn.ReLU(),
                             nn.Conv2d(4, 2, 1), nn.Flatten(), nn.Linear(2 * 16 * 12, 3))


def main(folder):
    torch.manual_seed(3)
    for name, network, shape in [("resnet", ResNet(), (2, 3, 21, 18)), ("vgg", Vgg(), (2, 3, 12, 8)),
                                 ("convnext", convnext(), (2, 3, 20, 17)),
                                 ("shufflenet", shufflenet(), (2, 3, 35, 37)),
                                 ("decoder", decoder(), (2, 3, 9, 7)),
                                 ("vgg_bn", seeded(VggBn, 7), (2, 3, 12, 8)),
                                 ("densenet", seeded(lambda: DenseNet(4, (2, 3), 8, num_classes=5), 8), (2, 3, 34, 39)),
                                 ("googlenet", seeded(GoogLeNet, 9), (2, 3, 65, 70)),
                                 ("timm_efficientnet", seeded(timm_efficientnet, 10), (2, 3, 21, 18)),
                                 ("timm_convnext", seeded(lambda: TimmConvNeXt(
                                     depths=(1, 2, 1, 1), dims=(4, 8, 16, 32), num_classes=5), 11), (2, 3, 36, 33))]:
        network.eval()
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.uniform_(-0.3, 0.3)
                module.running_var.uniform_(0.5, 1.5)
                nn.init.uniform_(module.weight, 0.5, 1.5)
        if name == "googlenet":  # the largest: half of the bytes
            network.half().float()
        x = torch.from_numpy((np.arange(np.prod(shape)) * 37 % 101 / 50 - 1).astype(np.float32))
        with torch.no_grad():
            np.save(os.path.join(folder, name + ".npy"), network(x.reshape(shape)).numpy())
        state = network.state_dict()
        if name == "googlenet":
            state = {k: v.half() if v.is_floating_point() else v for k, v in state.items()}
        save_file(state, os.path.join(folder, name + ".safetensors"))
        if name in NAMES_ALONE:
            continue
        # Other strides than row by row, and a checkpoint as loops of training write them.
        if name == "resnet":
            network.to(memory_format=torch.channels_last)
        state = {"epoch": 3, "state_dict": {"module." + k: v for k, v in network.state_dict().items()},
                 "best": 0.5}
        torch.save(state, os.path.join(folder, name + ".pth"))
    for name, *shape in [("view", 4, (2, 3), (1, 4)), ("view_offset", 11, (2, 3), (3, 1)),
                         ("view_stride", 0, (2, 3), (14, 1)), ("view_shared", 0, (5, 4), (0, 0)),
                         ("view_negative", -1, (2, 3), (3, 1)),
                         ("view_storage", 0, (2, 3), (3, 1), 17),
                         ("view_claim", 0, (2, 3), (3, 1), 1 << 20),
                         ("view_empty", 0, (0, 3), (3, 1)),
                         ("view_names", 0, (2, 512), (512, 1), 1024, 1024, "abcdefghijklmnop")]:
        view(os.path.join(folder, name + ".pth"), *shape)
    torch.save(Vgg(), os.path.join(folder, "whole_model.pth"))  # which is code, not only tensors


if __name__ == "__main__":
    main(sys.argv[1])
