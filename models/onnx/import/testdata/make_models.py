#!/usr/bin/env python3
"""Small networks as ONNX files, and what ONNX Runtime answers: make_models.py DIR

The structures of ResNet, VGG, MobileNetV2, SqueezeNet, DenseNet, GoogLeNet, ShuffleNetV2, ConvNeXt,
U-Net, attention, paddings, slices and normalisations of groups with few channels and random weights, exported by PyTorch in its two
ways and by opsets 11 to 20; and a graph as TensorFlow's converters write them. Needs torch,
torchvision, onnx, onnxscript and onnxruntime. Each NAME.onnx has NAME.npy beside it: the output
for the input x[i] = 37 * i mod 101 / 50 - 1.
"""

import os
import sys

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from torch import nn
from torchvision.models import DenseNet, MobileNetV2, ShuffleNetV2
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.ops import SqueezeExcitation


def conv(inputs, outputs, kernel=3, stride=1, padding=None, groups=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if padding is None else padding,
                  groups=groups, bias=False),
        nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, groups=1):
        super().__init__()
        self.path = nn.Sequential(conv(inputs, width, 1), nn.ReLU(),
                                  conv(width, width, 3, stride, groups=groups), nn.ReLU(),
                                  conv(width, 2 * width, 1))
        self.short = conv(inputs, 2 * width, 1, stride)

    def forward(self, x):
        return torch.relu(self.path(x) + self.short(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 6, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Bottleneck(6, 4, 1), Bottleneck(8, 6, 2, groups=3))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(12, 5)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2),
                                      nn.Conv2d(5, 7, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, 2))
        self.pool = nn.AdaptiveAvgPool2d((11, 3))
        self.classifier = nn.Sequential(nn.Linear(231, 9), nn.ReLU(), nn.Dropout(), nn.Linear(9, 4))

    def forward(self, x):
        x = self.pool(self.features(x))
        return torch.softmax(self.classifier(x.view(x.size(0), -1)), 1)


class Fire(nn.Module):
    def __init__(self, inputs, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeeze, 1)
        self.one, self.three = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)


class SqueezeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.ReLU(),
                                      nn.MaxPool2d(3, 2, ceil_mode=True), Fire(6, 2, 4),
                                      nn.MaxPool2d(3, 2, ceil_mode=True), Fire(8, 3, 5))
        self.classifier = nn.Sequential(nn.Dropout(), nn.Conv2d(10, 4, 1), nn.ReLU(),
                                        nn.AdaptiveAvgPool2d(1))

    def forward(self, x):
        return torch.flatten(self.classifier(self.features(x)), 1)


class Inception(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.paths = nn.ModuleList([
            nn.Sequential(conv(inputs, width, 1), nn.ReLU()),
            nn.Sequential(conv(inputs, 2, 1), nn.ReLU(), conv(2, width, 3), nn.ReLU()),
            nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), conv(inputs, 3, 1), nn.ReLU()),
            nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), conv(inputs, 1, 1))])

    def forward(self, x):
        return torch.cat([path(x) for path in self.paths], 1)


class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 5, 5, 2), nn.LeakyReLU(),
                                  nn.MaxPool2d(3, 2, ceil_mode=True))
        self.blocks = nn.Sequential(Inception(5, 3), Inception(10, 4))
        self.fc = nn.Linear(12, 3)

    def forward(self, x):
        return torch.sigmoid(self.fc(self.blocks(self.stem(x)).mean([2, 3])))


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(conv(3, 5, 3, 3), nn.SiLU(), conv(5, 6, 3, 2), nn.GELU(),
                                    SqueezeExcitation(6, 2),
                                    conv(6, 7, 3, 2), nn.Hardswish(), conv(7, 4, 1),
                                    nn.Hardsigmoid(), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.layers(x)


class MoreActivations(nn.Module):
    """With numbers of their own, and with slopes that are learned."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(conv(3, 5, 3, 3), nn.ELU(0.7), conv(5, 6, 3, 2), nn.PReLU(6),
                                    nn.Hardtanh(-0.5, 2), conv(6, 7, 3, 2), nn.Mish(), nn.PReLU(),
                                    conv(7, 4, 1), nn.Softplus(), nn.AdaptiveAvgPool2d(1),
                                    nn.Flatten(), nn.Linear(4, 5), nn.LeakyReLU(0.2),
                                    nn.PReLU(5))

    def forward(self, x):
        return self.layers(x)


class UNet(nn.Module):
    """Two ways up, learnt and interpolated, each beside what the way down had there."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.bottom = conv(3, 4), conv(4, 6), conv(6, 8)
        self.up2 = nn.ConvTranspose2d(8, 6, 3, 2, padding=1, output_padding=1)
        self.join2, self.join1 = conv(12, 6), conv(10, 4)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.half_pixel = nn.Upsample(scale_factor=(2, 3), mode="bilinear")
        self.nearest = nn.Upsample(scale_factor=2)
        self.head = nn.ConvTranspose2d(4, 6, 2, 2, groups=2)

    def forward(self, x):
        first = torch.relu(self.down1(x))
        second = torch.relu(self.down2(nn.functional.max_pool2d(first, 2)))
        x = torch.relu(self.bottom(nn.functional.max_pool2d(second, 2)))
        x = torch.relu(self.join2(torch.cat([self.up2(x), second], 1)))
        x = torch.relu(self.join1(torch.cat([self.up1(x), first], 1)))
        return self.head(self.nearest(self.half_pixel(x))).mean([2, 3])


class Attention(nn.Module):
    """The block of SAGAN, whose keys and values have fewer pixels."""

    def __init__(self, channels=8):
        super().__init__()
        self.stem, self.queries = conv(3, channels, 3, 4), nn.Conv2d(channels, 2, 1)
        self.keys, self.values = nn.Conv2d(channels, 2, 1), nn.Conv2d(channels, channels // 2, 1)
        self.last = nn.Conv2d(channels // 2, channels, 1)
        self.gamma = nn.Parameter(torch.full((1,), 0.75))

    def forward(self, x):
        x = torch.relu(self.stem(x))
        n, c, h, w = x.shape
        small = nn.functional.max_pool2d(x, 2)
        queries = self.queries(x).view(n, -1, h * w).permute(0, 2, 1)
        keys, values = self.keys(small).flatten(2), self.values(small).flatten(2)
        weights = torch.softmax(torch.bmm(queries, keys), -1)
        gathered = torch.bmm(values, weights.permute(0, 2, 1)).view(n, c // 2, h, w)
        return (self.gamma * self.last(gathered) + x).mean([2, 3])


class Transformer(nn.Module):
    """Multi-head attention of PyTorch, and as vision transformers write it, over pixels."""

    def __init__(self, channels=12, heads=3):
        super().__init__()
        self.stem, self.heads = conv(3, channels, 3, 4), heads
        self.attention = nn.MultiheadAttention(channels, 2, batch_first=True)
        self.norm, self.qkv = nn.LayerNorm(channels), nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.mlp = nn.Sequential(nn.Linear(channels, 20), nn.ReLU(), nn.Linear(20, channels))

    def forward(self, x):
        x = self.stem(x)
        n, c, h, w = x.shape
        x = x.flatten(2).transpose(1, 2)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        parts = self.qkv(self.norm(x)).reshape(n, h * w, 3, self.heads, c // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4).unbind(0)
        weights = ((c // self.heads) ** -0.5 * queries @ keys.transpose(-2, -1)).softmax(-1)
        x = x + self.out((weights @ values).transpose(1, 2).reshape(n, h * w, c))
        x = x + self.mlp(x)
        return x.transpose(1, 2).reshape(n, c, h, w).mean([2, 3])


class Tokens(nn.Module):
    """Queries, keys and values side by side, GELU, and the mean of all pixels."""

    def __init__(self, channels=8, heads=2):
        super().__init__()
        self.stem, self.heads = conv(3, channels, 3, 4), heads
        self.attention = nn.MultiheadAttention(channels, heads, batch_first=True)
        self.norm, self.parts = nn.LayerNorm(channels), nn.Linear(channels, 3 * channels)
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, channels))
        self.mlp = nn.Sequential(nn.Linear(channels, 12), nn.GELU(), nn.Linear(12, channels))
        self.head = nn.Linear(channels, 5)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        n, pixels, channels = x.shape
        x = x + self.attention(x, x, x, need_weights=False)[0]
        queries, keys, values = [
            part.view(n, pixels, self.heads, channels // self.heads).transpose(1, 2)
            for part in self.parts(self.norm(x)).chunk(3, -1)]
        y = nn.functional.scaled_dot_product_attention(queries, keys, values)
        x = x + self.scale * y.transpose(1, 2).reshape(n, pixels, channels)
        return self.head((x + self.mlp(x)).mean(1))


class Vision(nn.Module):
    """A vision transformer: two tokens before the pixels, positions, and the first token's classes."""

    def __init__(self, channels=8, heads=2, pixels=20):
        super().__init__()
        self.stem = conv(3, channels, 3, 4)
        self.tokens = nn.Parameter(torch.randn(1, 2, channels))
        self.positions = nn.Parameter(torch.randn(1, 2 + pixels, channels))
        self.norm, self.last = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.attention = nn.MultiheadAttention(channels, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(channels, 12), nn.GELU(), nn.Linear(12, channels))
        self.head = nn.Linear(channels, 5)

    def forward(self, x):
        x = (0.75 * self.stem(x)).flatten(2).transpose(1, 2)
        x = torch.cat([self.tokens.expand(x.shape[0], -1, -1), x], 1) + self.positions
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return self.head(self.last(x + self.mlp(x))[:, 0])


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ReflectionPad2d((3, 1, 2, 4)), conv(3, 5, 3, 2, padding=0), nn.ReLU(),
            nn.ReplicationPad2d((0, 2, 1, 0)), conv(5, 6, 3, 2), nn.ConstantPad2d((1, 0, 2, 3), 0.5),
            nn.AvgPool2d(2), nn.ZeroPad2d((2, 1, 0, 1)), nn.MaxPool2d(2), nn.Tanh(),
            nn.ZeroPad2d((1, 0, 2, 0)), nn.Conv2d(6, 4, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.layers(x)


class Slices(nn.Module):
    """YOLO's focus, a crop, and the two halves of the rows."""

    def __init__(self):
        super().__init__()
        self.stem, self.fc = conv(12, 5, 3, 1), nn.Linear(5, 4)

    def forward(self, x):
        x = torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        x = torch.tanh(self.stem(x)[:, :, 1:-1, 2:])
        top, bottom = x.chunk(2, 2)
        return self.fc((top + torch.relu(bottom)).mean([2, 3]))


class Groups(nn.Module):
    """Normalisations of two and of three groups, of numbers that are learned and of none."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 6, 3, 3), nn.GroupNorm(2, 6), nn.ReLU(), nn.Conv2d(6, 6, 3),
            nn.GroupNorm(3, 6, eps=0.01, affine=False), nn.Tanh(), nn.Conv2d(6, 8, 3, 2),
            nn.GroupNorm(4, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

    def forward(self, x):
        return self.layers(x)


def group_normalization():
    """ONNX's own operator for it, of opset 21, which PyTorch does not write."""
    rng = np.random.default_rng(4)
    draw = lambda *shape: rng.uniform(-1, 1, shape).astype(np.float32)
    constants = {"w": draw(6, 3, 3, 3), "gamma": draw(6), "beta": draw(6)}
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], "conv"),
        helper.make_node("GroupNormalization", ["c", "gamma", "beta"], ["g"], "norm", num_groups=3,
                         epsilon=0.001),
        helper.make_node("Tanh", ["g"], ["t"]),
        helper.make_node("GlobalAveragePool", ["t"], ["p"]),
        helper.make_node("Flatten", ["p"], ["features"]),
    ]
    graph = helper.make_graph(
        nodes, "group_normalization",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 7, 9])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 6])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def tensorflow():
    """Channels last, paddings of one side, and a matrix product with its bias beside it."""
    rng = np.random.default_rng(3)
    draw = lambda *shape: rng.uniform(-0.5, 0.5, shape).astype(np.float32)
    constants = {"w1": draw(5, 3, 3, 3), "w2": draw(5, 1, 3, 3), "w3": draw(4, 5, 2, 2),
                 "dense": draw(3 * 3 * 4, 6), "bias": draw(6),
                 "pads": np.array([0, 0, 0, 1, 0, 0, 2, 1]), "shape": np.array([-1, 36])}
    nodes = [
        helper.make_node("Transpose", ["image"], ["nchw"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["nchw", "w1"], ["c1"], "conv1", auto_pad="SAME_UPPER",
                         strides=[2, 2]),
        helper.make_node("Clip", ["c1", "zero", "six"], ["r1"]),
        helper.make_node("Pad", ["r1", "pads"], ["p1"]),
        helper.make_node("Conv", ["p1", "w2"], ["c2"], "depthwise", group=5),
        helper.make_node("MaxPool", ["c2"], ["m"], kernel_shape=[2, 2], strides=[2, 2],
                         auto_pad="SAME_UPPER"),
        helper.make_node("Conv", ["m", "w3"], ["c3"], "conv3", auto_pad="SAME_LOWER"),
        helper.make_node("Transpose", ["c3"], ["nhwc"], perm=[0, 2, 3, 1]),
        helper.make_node("Tanh", ["nhwc"], ["t"]),
        helper.make_node("Reshape", ["t", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "dense"], ["product"], "fc"),
        helper.make_node("Add", ["product", "bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["probabilities"]),
    ]
    constants["zero"], constants["six"] = np.float32(0), np.float32(6)
    graph = helper.make_graph(
        nodes, "tensorflow",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 9, 11, 3])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 6])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def renew(network):
    network.eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.3, 0.3)
            module.running_var.uniform_(0.5, 1.5)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.3, 0.3)
    return network


def forget_sources(file):
    """Without the lines of code that dynamo keeps of each node."""
    model = onnx.load(file, load_external_data=False)
    model.ClearField("metadata_props")
    model.graph.ClearField("metadata_props")
    for value in [*model.graph.node, *model.graph.value_info, *model.graph.initializer,
                  *model.graph.input, *model.graph.output]:
        value.ClearField("metadata_props")
    onnx.save(model, file)


def write(folder, name, shape):
    file = os.path.join(folder, name + ".onnx")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    x = (np.arange(np.prod(shape)) * 37 % 101 / 50 - 1).astype(np.float32).reshape(shape)
    y = session.run(None, {session.get_inputs()[0].name: x})[0]
    np.save(os.path.join(folder, name + ".npy"), y)
    print(f"{name}: {os.path.getsize(file)} bytes, {shape} -> {y.shape}")


class Samples(quantization.CalibrationDataReader):
    def __init__(self, shape):
        rng = np.random.default_rng(1)
        self.left = [{"image": rng.uniform(-1, 1, shape).astype(np.float32)} for _ in range(8)]

    def get_next(self):
        return self.left.pop() if self.left else None


def activations(folder, shape):
    network = renew(Activations())
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "activations.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "activations", shape)


def unet(folder):
    torch.manual_seed(8)
    shape = (2, 3, 12, 8)
    torch.onnx.export(renew(UNet()), torch.zeros(shape), os.path.join(folder, "unet.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "unet", shape)


def attention(folder):
    torch.manual_seed(11)
    shape = (2, 3, 36, 29)
    torch.onnx.export(renew(Attention()), torch.zeros(shape),
                      os.path.join(folder, "attention.onnx"), dynamo=False, opset_version=17,
                      dynamic_axes={"image": {0: "batch"}}, input_names=["image"])
    write(folder, "attention", shape)
    network = renew(Transformer())
    for bias in [network.attention.in_proj_bias, network.attention.out_proj.bias]:
        nn.init.uniform_(bias, -0.5, 0.5)
    torch.onnx.export(network, (torch.zeros(shape),), os.path.join(folder, "transformer.onnx"),
                      dynamo=True, opset_version=18, external_data=False, verbose=False,
                      dynamic_shapes=({0: torch.export.Dim("batch")},))
    forget_sources(os.path.join(folder, "transformer.onnx"))
    write(folder, "transformer", shape)


def padded(folder):
    torch.manual_seed(12)
    shape = (2, 3, 36, 29)
    torch.onnx.export(renew(Padded()), (torch.zeros(shape),), os.path.join(folder, "padded.onnx"),
                      dynamo=True, opset_version=18, external_data=False, verbose=False,
                      dynamic_shapes=({0: torch.export.Dim("batch")},))
    forget_sources(os.path.join(folder, "padded.onnx"))
    write(folder, "padded", shape)


def dynamo(folder, name, network, shape):
    file = os.path.join(folder, name + ".onnx")
    torch.onnx.export(network, (torch.zeros(shape),), file, dynamo=True, external_data=False,
                      verbose=False, dynamic_shapes=({0: torch.export.Dim("batch")},))
    forget_sources(file)
    write(folder, name, shape)


def more_activations(folder):
    """By both exporters."""
    torch.manual_seed(15)
    shape = (2, 3, 20, 13)
    network = renew(MoreActivations())
    for module in network.modules():
        if isinstance(module, nn.PReLU):
            nn.init.uniform_(module.weight, -0.5, 0.5)
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "more_activations.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "more_activations", shape)
    dynamo(folder, "more_activations_dynamo", network, shape)


def slices(folder):
    """By both exporters."""
    torch.manual_seed(16)
    shape = (2, 3, 20, 16)
    network = renew(Slices())
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "slices.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "slices", shape)
    dynamo(folder, "slices_dynamo", network, shape)


def groups(folder):
    torch.manual_seed(17)
    shape = (2, 3, 20, 17)
    network = renew(Groups())
    for module in network.modules():
        if isinstance(module, nn.GroupNorm) and module.affine:
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "groups.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "groups", shape)
    onnx.save(group_normalization(), os.path.join(folder, "group_normalization.onnx"))
    write(folder, "group_normalization", (2, 3, 7, 9))


def tokens(folder):
    """By both exporters."""
    torch.manual_seed(13)
    shape = (2, 3, 20, 13)
    network = renew(Tokens())
    for bias in [network.attention.in_proj_bias, network.attention.out_proj.bias]:
        nn.init.uniform_(bias, -0.5, 0.5)
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "tokens.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "tokens", shape)
    dynamo(folder, "tokens_dynamo", network, shape)


def vision(folder):
    """By both exporters."""
    torch.manual_seed(14)
    shape = (2, 3, 20, 13)
    network = renew(Vision())
    for bias in [network.attention.in_proj_bias, network.attention.out_proj.bias]:
        nn.init.uniform_(bias, -0.5, 0.5)
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "vision.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "vision", shape)
    dynamo(folder, "vision_dynamo", network, shape)


def convnext(folder):
    torch.manual_seed(10)
    shape = (2, 3, 20, 17)
    network = ConvNeXt([CNBlockConfig(4, 8, 1), CNBlockConfig(8, None, 2)],
                       stochastic_depth_prob=0, layer_scale=0.5, num_classes=5).eval()
    for parameter in network.parameters():
        nn.init.uniform_(parameter, -0.5, 0.5)
    dynamo(folder, "convnext_dynamo", network, shape)
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "convnext.onnx"),
                      dynamo=False, opset_version=17, do_constant_folding=False,
                      dynamic_axes={"image": {0: "batch"}}, input_names=["image"])
    write(folder, "convnext", shape)


def shufflenet(folder):
    torch.manual_seed(9)
    shape = (2, 3, 36, 41)
    network = renew(ShuffleNetV2([2, 1, 1], [4, 6, 8, 12, 10], num_classes=4))
    torch.onnx.export(network, torch.zeros(shape), os.path.join(folder, "shufflenet.onnx"),
                      dynamo=False, opset_version=17, dynamic_axes={"image": {0: "batch"}},
                      input_names=["image"])
    write(folder, "shufflenet", shape)


def main(folder):
    torch.manual_seed(7)
    dense = DenseNet(growth_rate=3, block_config=(2, 2), num_init_features=4, bn_size=2,
                     num_classes=4)
    networks = [("resnet", ResNet(), 13, True), ("vgg", Vgg(), 11, True),
                ("mobilenet_v2", MobileNetV2(num_classes=4, width_mult=0.1, inverted_residual_setting=[
                    [1, 16, 1, 1], [6, 24, 2, 2], [6, 48, 1, 2]]), 12, True),
                ("squeezenet", SqueezeNet(), 17, True), ("densenet", dense, 15, False),
                ("googlenet", GoogLeNet(), 20, True)]
    shape = (2, 3, 44, 37)
    for name, network, opset, folds in networks:
        file = os.path.join(folder, name + ".onnx")
        torch.onnx.export(renew(network), torch.zeros(shape), file, dynamo=False,
                          opset_version=opset, do_constant_folding=folds,
                          training=torch.onnx.TrainingMode.EVAL if folds
                          else torch.onnx.TrainingMode.PRESERVE,
                          input_names=["image"], dynamic_axes={"image": {0: "batch"}})
        write(folder, name, shape)
    # Without the relus, since bytes begin at 0.
    quantization.quantize_static(os.path.join(folder, "resnet.onnx"),
                                 os.path.join(folder, "resnet_int8.onnx"), Samples(shape),
                                 quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                 activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)
    write(folder, "resnet_int8", shape)
    torch.onnx.export(renew(ResNet()), (torch.zeros(shape),), os.path.join(folder, "dynamo.onnx"),
                      dynamo=True, opset_version=18, external_data=True, verbose=False,
                      dynamic_shapes=({0: torch.export.Dim("batch")},))
    forget_sources(os.path.join(folder, "dynamo.onnx"))
    write(folder, "dynamo", shape)
    onnx.save(tensorflow(), os.path.join(folder, "tensorflow.onnx"))
    write(folder, "tensorflow", (2, 9, 11, 3))
    activations(folder, shape)
    unet(folder)
    shufflenet(folder)
    convnext(folder)
    more_activations(folder)
    attention(folder)
    padded(folder)
    tokens(folder)
    vision(folder)
    slices(folder)
    groups(folder)


if __name__ == "__main__":
    main(sys.argv[1])
