"""Networks of PyTorch that compare_onnx.py exports: torchvision's by name, and some of the kinds
that people write themselves."""

import torch
import torchvision.models as m
from torch import nn


def conv(inputs, outputs, kernel=3, stride=1, activation=nn.ReLU):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs), activation(inplace=True))


class UNet(nn.Module):
    """Two convolutions at each of four sizes, and up again beside what was there on the way down."""

    def __init__(self, up, classes):
        super().__init__()
        widths = [3, 16, 32, 64, 128]
        twice = lambda a, b: nn.Sequential(conv(a, b), conv(b, b))
        self.down = nn.ModuleList(twice(a, b) for a, b in zip(widths, widths[1:]))
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList(up(b, a) for a, b in zip(widths[1:], widths[2:]))
        self.join = nn.ModuleList(twice(2 * a, a) for a in widths[1:4])
        self.head = nn.Conv2d(16, classes, 1)

    def forward(self, x):
        kept = []
        for i, layers in enumerate(self.down):
            x = layers(x if i == 0 else self.pool(x))
            kept.append(x)
        for i in (2, 1, 0):
            x = self.join[i](torch.cat([self.up[i](x), kept[i]], 1))
        return self.head(x)


class Csp(nn.Module):
    """Half of the channels pass through bottlenecks, each of whose results is kept."""

    def __init__(self, inputs, outputs, times, adds):
        super().__init__()
        self.first, half = conv(inputs, outputs, 1, activation=nn.SiLU), outputs // 2
        self.blocks = nn.ModuleList(
            nn.Sequential(conv(half, half, 3, activation=nn.SiLU),
                          conv(half, half, 3, activation=nn.SiLU)) for _ in range(times))
        self.last = conv((2 + times) * half, outputs, 1, activation=nn.SiLU)
        self.adds = adds

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            y = block(parts[-1])
            parts.append(parts[-1] + y if self.adds else y)
        return self.last(torch.cat(parts, 1))


class Sppf(nn.Module):
    """Poolings of a pooling, side by side."""

    def __init__(self, channels):
        super().__init__()
        self.first = conv(channels, channels // 2, 1, activation=nn.SiLU)
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.last = conv(2 * channels, channels, 1, activation=nn.SiLU)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """The backbone and the way up of a detector, and its head at the finest of its sizes."""

    def __init__(self, classes):
        super().__init__()
        down = lambda a, b: conv(a, b, 3, 2, nn.SiLU)
        self.fine = nn.Sequential(down(3, 16), down(16, 32), Csp(32, 32, 1, True), down(32, 64),
                                  Csp(64, 64, 2, True))
        self.coarse = nn.Sequential(down(64, 128), Csp(128, 128, 1, True), Sppf(128))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.neck = Csp(192, 64, 1, False)
        self.head = nn.Sequential(conv(64, 64, 3, activation=nn.SiLU), nn.Conv2d(64, classes, 1))

    def forward(self, x):
        x = self.fine(x)
        return self.head(self.neck(torch.cat([self.up(self.coarse(x)), x], 1)))


class Block(nn.Module):
    """Self-attention and two products of a transformer, of tokens."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.parts, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.products = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                      nn.Linear(2 * width, width))

    def forward(self, x):
        n, tokens, width = x.shape
        queries, keys, values = [
            part.view(n, tokens, self.heads, width // self.heads).transpose(1, 2)
            for part in self.parts(self.norms[0](x)).chunk(3, -1)]
        y = nn.functional.scaled_dot_product_attention(queries, keys, values)
        x = x + self.out(y.transpose(1, 2).reshape(n, tokens, width))
        return x + self.products(self.norms[1](x))


class Tokens(nn.Module):
    """Convolutions, blocks of a transformer over their pixels, and the mean of all."""

    def __init__(self, classes, width=96):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 32, 3, 4), conv(32, width, 3, 4))
        self.encoder = nn.TransformerEncoderLayer(width, 6, 2 * width, 0, batch_first=True)
        self.blocks = nn.Sequential(Block(width, 4), Block(width, 4))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.blocks(self.encoder(x)).mean(1))


def begun(network):
    """With values where training of a vision transformer begins at 0."""
    for values in (network.class_token, network.heads.head.weight):
        nn.init.normal_(values, std=0.1)
    return network


def vision_transformer(num_classes):
    return begun(m.VisionTransformer(image_size=64, patch_size=16, num_layers=3, num_heads=4,
                                     hidden_dim=96, mlp_dim=192, num_classes=num_classes))


def networks():
    """By name, functions of num_classes."""
    named = ("resnet18", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "vgg11", "vgg16",
             "vgg16_bn", "vgg19", "alexnet", "mobilenet_v2", "mobilenet_v3_small",
             "mobilenet_v3_large", "squeezenet1_0", "squeezenet1_1", "densenet121", "mnasnet1_0",
             "regnet_x_400mf", "regnet_y_400mf", "shufflenet_v2_x1_0", "efficientnet_b0",
             "convnext_tiny")
    with_heads = lambda name: lambda num_classes: getattr(m, name)(
        num_classes=num_classes, aux_logits=False, init_weights=True)
    learnt = lambda b, a: nn.ConvTranspose2d(b, a, 2, 2)
    smooth = lambda b, a: nn.Sequential(
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), conv(b, a))
    return {name: getattr(m, name) for name in named} | {
        "googlenet": with_heads("googlenet"),
        "inception_v3": with_heads("inception_v3"),
        "unet_transposed": lambda num_classes: UNet(learnt, num_classes),
        "unet_bilinear": lambda num_classes: UNet(smooth, num_classes),
        "yolo": lambda num_classes: Yolo(num_classes),
        "tokens": lambda num_classes: Tokens(num_classes),
        "vision_transformer": vision_transformer,
        "vit_b_16": lambda num_classes: begun(m.vit_b_16(num_classes=num_classes)),
    }
