#!/usr/bin/env python3
"""PyTorch's side of bench:models on a GPU: how fast the same networks train and answer.

    torch_gpu.py [--seconds=1] [--limit=30] [--variants=eager,graph] SETTING...

A SETTING is MODEL:BATCH:MATH_MODE[:PHASES], as resnet50_imagenet:128:bf16:train,infer. A JSON line for each
setting, phase (train, infer) and variant: samples/s, the median of blocks timed by events, after steps to warm
up. Data are random and stay on the GPU; Adam; a phase that fails or outlasts its limit says so in its line.

  eager    channels last; bf16, fp16: autocast; tf32: TF32 in products and convolutions
  graph    the same, and the whole step (forward, backward, update) captured as one CUDA graph
  compile  the network through torch.compile, then as eager

Convolutions before a normalisation have a bias where the network's paper has one: resnet20_cifar10, not
resnet50_imagenet, which is faster without, and the same network.
"""

import argparse
import contextlib
import json
import signal
import statistics
import sys

import torch
from torch import nn
from torch.nn import functional

WARM_UP = 8
BLOCKS = 7


def normalized(inputs, outputs, window, stride=1, bias=False):
    """A convolution that keeps the extent (divided by the stride), and its normalisation."""
    return [
        nn.Conv2d(inputs, outputs, window, stride, window // 2, bias=bias),
        nn.BatchNorm2d(outputs),
    ]


class Residual(nn.Module):
    def __init__(self, trunk, shortcut):
        super().__init__()
        self.trunk = nn.Sequential(*trunk)
        self.shortcut = nn.Sequential(*shortcut)  # of nothing: the identity

    def forward(self, x):
        return functional.relu(self.trunk(x) + self.shortcut(x))


def bottlenecks(channels, width, count, stride):
    blocks = []
    for i in range(count):
        step = stride if i == 0 else 1
        trunk = [*normalized(channels, width, 1), nn.ReLU(),
                 *normalized(width, width, 3, step), nn.ReLU(),
                 *normalized(width, 4 * width, 1)]
        blocks.append(Residual(trunk, normalized(channels, 4 * width, 1, step) if i == 0 else []))
        channels = 4 * width
    return blocks


def resnet50_imagenet():
    stages = []
    channels = 64
    for width, count, stride in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        stages += bottlenecks(channels, width, count, stride)
        channels = 4 * width
    return nn.Sequential(*normalized(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *stages,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def resnet20_cifar10():
    layers = normalized(3, 16, 3, bias=True)
    channels = 16
    for width, stride in [(16, 1), (32, 2), (64, 2)]:
        for i in range(3):
            step = stride if i == 0 else 1
            trunk = [*normalized(channels, width, 3, step, bias=True), nn.ReLU(),
                     *normalized(width, width, 3, bias=True)]
            changes = channels != width
            layers.append(Residual(trunk, normalized(channels, width, 1, step, bias=True) if changes else []))
            channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 64),
                         nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))


def vgg16_cifar10():
    layers = []
    channels = 3
    for width, count in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]:
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    hidden = [nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5)]
    again = [nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.5)]
    return nn.Sequential(*layers, nn.Flatten(), *hidden, *again, nn.Linear(512, 10))


# What makes it, the shape of a sample, classes.
MODELS = {
    "resnet50_imagenet": (resnet50_imagenet, (3, 224, 224), 1000),
    "resnet20_cifar10": (resnet20_cifar10, (3, 32, 32), 10),
    "vgg16_cifar10": (vgg16_cifar10, (3, 32, 32), 10),
}


class Setup:
    def __init__(self, model, batch, mode, device):
        make, sample, classes = MODELS[model]
        torch.manual_seed(1)
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = mode != "fp32"
        self.net = make().to(device, memory_format=torch.channels_last)
        self.x = torch.rand(batch, *sample, device=device).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, classes, (batch,), device=device)
        self.half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(mode)
        self.device = device
        options = {"fused": True, "capturable": True} if device == "cuda" else {}
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3, **options)

    def precision(self):
        if self.half is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device, self.half)

    def train(self, net):
        self.optimizer.zero_grad(set_to_none=True)
        with self.precision():
            loss = functional.cross_entropy(net(self.x), self.labels)
        loss.backward()
        self.optimizer.step()

    def infer(self, net):
        with torch.inference_mode(), self.precision():
            net(self.x)


def captured(step):
    """The step as one CUDA graph, after some on a stream of their own, as PyTorch asks for."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def rate(step, batch, seconds):
    for _ in range(WARM_UP):
        step()

    def milliseconds(steps):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(steps):
            step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    steps = max(1, int(seconds * 1000 / BLOCKS / (milliseconds(3) / 3)))
    return statistics.median(steps * batch / milliseconds(steps) * 1000 for _ in range(BLOCKS))


def measure(model, batch, mode, phase, variant, seconds):
    setup = Setup(model, batch, mode, "cuda")
    setup.net.train(phase == "train")
    net = torch.compile(setup.net) if variant == "compile" else setup.net
    step = (lambda: setup.train(net)) if phase == "train" else (lambda: setup.infer(net))
    return rate(captured(step) if variant == "graph" else step, batch, seconds)


def give_up(*_):
    raise TimeoutError("outlasted its limit")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="+", metavar="SETTING")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--limit", type=int, default=30, help="seconds for a phase of a setting, warming up included")
    parser.add_argument("--variants", default="eager,graph")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("torch_gpu.py: PyTorch sees no GPU")
    card = torch.cuda.get_device_name()
    signal.signal(signal.SIGALRM, give_up)
    for setting in arguments.settings:
        model, batch, mode, *phases = setting.split(":")
        for variant in arguments.variants.split(","):
            for phase in (phases or ["train,infer"])[0].split(","):
                line = {"peer": "torch " + torch.__version__, "card": card, "model": model, "batch": int(batch),
                        "math_mode": mode, "variant": variant, "phase": phase}
                torch._dynamo.reset()
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats()
                signal.alarm(arguments.limit)
                try:
                    line["samples_per_second"] = round(
                        measure(model, int(batch), mode, phase, variant, arguments.seconds), 1)
                    line["memory_peak_bytes"] = torch.cuda.max_memory_allocated()
                except Exception as error:  # the next setting may do
                    line["error"] = f"{type(error).__name__}: {error}"[:300]
                finally:
                    signal.alarm(0)
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
