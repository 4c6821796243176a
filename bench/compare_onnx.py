#!/usr/bin/env python3
"""Networks to ONNX and back, and weights of PyTorch, beside ONNX Runtime and PyTorch: the largest
difference of their outputs.

Needs the packages onnx and onnxruntime, and for --torch torch and torchvision:

  bazel build //apps:export //apps:import //models/c:libdtnn.so
  bench/compare_onnx.py --zoo=all            # export, new weights, import, predict
  bench/compare_onnx.py --torch=all          # torch.onnx.export, import, predict
  bench/compare_onnx.py --weights=all        # torch.save, import --model, predict: beside PyTorch

Weights are random, statistics of batch normalisations too: structure and arithmetic are what is
compared. Images are random, of an odd size where the network takes any.
"""

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST = 1e-4  # of the largest output


def program(name):
    return os.path.join(ROOT, "bazel-bin/apps", name, name)


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def predict(file, x, options=None):
    """The answers of the library for C, of samples as the network takes them."""
    dtnn = ctypes.CDLL(os.path.join(ROOT, "bazel-bin/models/c/libdtnn.so"))
    dtnn.dtnn_load.restype = dtnn.dtnn_last_error.restype = ctypes.c_void_p
    dtnn.dtnn_num_outputs.restype = ctypes.c_int64
    model = ctypes.c_void_p(dtnn.dtnn_load(file.encode(), options))
    outputs = np.zeros((len(x), dtnn.dtnn_num_outputs(model) if model else 0), np.float32)
    pointer = [a.ctypes.data_as(ctypes.POINTER(ctypes.c_float)) for a in (x, outputs)]
    if not model or dtnn.dtnn_predict_floats(model, pointer[0], ctypes.c_size_t(len(x)), pointer[1],
                                             ctypes.c_size_t(outputs.size)) != 0:
        raise RuntimeError(ctypes.string_at(dtnn.dtnn_last_error()).decode())
    dtnn.dtnn_free(model)
    return outputs


def renew(model, rng):
    """Other values than 1 and 0 in batch normalisations and biases, and no softmax, which would hide
    differences of large values. Normalisations are damped: values grow from block to block."""
    last = model.graph.node[-1]
    if last.op_type == "Softmax":
        for node in model.graph.node:
            node.output[:] = ["output" if name == last.input[0] else name for name in node.output]
        model.graph.node.remove(last)
    for tensor in model.graph.initializer:
        if len(tensor.dims) != 1 or tensor.data_type != onnx.TensorProto.FLOAT:
            continue  # neither a rate of dropout nor a shape
        values = numpy_helper.to_array(tensor)
        low, high = -0.2, 0.4
        if tensor.name.endswith("_running_var"):
            low, high = 1, 3
        elif tensor.name.endswith("_gamma"):
            low, high = 0.2, 0.5
        drawn = rng.uniform(low, high, values.shape).astype(values.dtype)
        tensor.CopyFrom(numpy_helper.from_array(drawn, tensor.name))


def difference(onnx_file, folder, rng, images=2, arguments=()):
    """The model of `onnx_file` as DTNN and ONNX Runtime see it: (difference, largest output)."""
    saved = os.path.join(folder, "imported.safetensors")
    run(program("import"), onnx_file, saved, *arguments)
    session = onnxruntime.InferenceSession(onnx_file, providers=["CPUExecutionProvider"])
    shape = [images if isinstance(n, str) or i == 0 else n
             for i, n in enumerate(session.get_inputs()[0].shape)]
    x = rng.uniform(-1, 1, shape).astype(np.float32)
    theirs = session.run(None, {session.get_inputs()[0].name: x})[0]
    ours = predict(saved, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    if theirs.ndim == 4:
        theirs = theirs.transpose(0, 2, 3, 1)
    theirs = theirs.reshape(ours.shape)
    return float(np.abs(ours - theirs).max()), float(np.abs(theirs).max())


def zoo_names():
    """Those whose weights fit into a file of 2 GB."""
    source = os.path.join(ROOT, "models/zoo/zoo_test.cc")
    names = re.findall(r'^ +{"(\w+)", (\d+)', open(source).read(), re.M)
    return [name for name, parameters in names if int(parameters) < 5e8]


def zoo(name, folder, rng):
    file = os.path.join(folder, "zoo.onnx")
    run(program("export"), name, file)
    model = onnx.load(file)
    onnx.checker.check_model(model)
    renew(model, rng)
    onnx.save(model, file)
    return difference(file, folder, rng)


def torch_networks():
    import torchvision.models as m

    makers = {
        "resnet18": m.resnet18, "resnet50": m.resnet50, "resnext50_32x4d": m.resnext50_32x4d,
        "vgg11": m.vgg11, "vgg16": m.vgg16, "vgg16_bn": m.vgg16_bn, "alexnet": m.alexnet,
        "mobilenet_v2": m.mobilenet_v2, "squeezenet1_0": m.squeezenet1_0,
        "squeezenet1_1": m.squeezenet1_1, "densenet121": m.densenet121,
        "googlenet": lambda **k: m.googlenet(aux_logits=False, init_weights=True, **k),
        "inception_v3": lambda **k: m.inception_v3(aux_logits=False, init_weights=True, **k),
        "mnasnet1_0": m.mnasnet1_0, "regnet_x_400mf": m.regnet_x_400mf,
        "shufflenet_v2_x1_0": m.shufflenet_v2_x1_0, "convnext_tiny": m.convnext_tiny,
    }
    return makers


def torch(name, folder, rng, dynamo, opset):
    import torch as t

    t.manual_seed(1)
    network = torch_networks()[name](num_classes=10).eval()
    for module in network.modules():
        if isinstance(module, t.nn.BatchNorm2d):
            for values, low in [(module.running_mean, -0.2), (module.running_var, 0.5)]:
                values.uniform_(low, low + 0.6)
    file = os.path.join(folder, "torch.onnx")
    height, width = (224, 224) if "net" not in name or name in ("alexnet",) else (160, 192)
    x = t.zeros(2, 3, height, width)
    if dynamo:
        batch = t.export.Dim("batch")
        t.onnx.export(network, (x,), file, dynamo=True, opset_version=opset,
                      dynamic_shapes=({0: batch},), external_data=True, verbose=False)
    else:
        t.onnx.export(network, x, file, dynamo=False, opset_version=opset,
                      input_names=["image"], dynamic_axes={"image": {0: "batch"}})
    return difference(file, folder, rng)


# Networks of the zoo with torchvision's structure. For the others, the structure comes from an
# export with batch normalisations that are not folded.
ZOO = {"resnet50": "resnet50v15", "vgg11": "vgg11", "vgg16": "vgg16",
       "shufflenet_v2_x1_0": "shufflenet_v2_x1_0", "convnext_tiny": "convnext_tiny"}


def weights(name, folder, rng):
    import torch as t

    t.manual_seed(1)
    network = torch_networks()[name](num_classes=10).eval()
    x = t.from_numpy(rng.uniform(-1, 1, (2, 3, 224, 224)).astype(np.float32))
    model, saved = ZOO.get(name), os.path.join(folder, "filled.safetensors")
    if model is None:
        file, model = os.path.join(folder, "s.onnx"), os.path.join(folder, "s.safetensors")
        t.onnx.export(network, x, file, dynamo=False, do_constant_folding=False,
                      training=t.onnx.TrainingMode.PRESERVE, opset_version=17)
        run(program("import"), file, model)
    for module in network.modules():
        if isinstance(module, t.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.2, 0.4)
            module.running_var.uniform_(0.5, 1.1)
        elif isinstance(module, (t.nn.Conv2d, t.nn.Linear)) and module.bias is not None:
            t.nn.init.uniform_(module.bias, -0.1, 0.1)
    t.save(network.state_dict(), os.path.join(folder, "weights.pth"))
    run(program("import"), os.path.join(folder, "weights.pth"), saved, "--model=" + model)
    with t.no_grad():
        theirs = network(x).numpy()
    ours = predict(saved, np.ascontiguousarray(x.numpy().transpose(0, 2, 3, 1)))
    return float(np.abs(ours - theirs).max()), float(np.abs(theirs).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", default="", help="names of the zoo, comma-separated, or all")
    parser.add_argument("--torch", default="", help="names of torchvision, or all")
    parser.add_argument("--weights", default="", help="names of torchvision, or all")
    parser.add_argument("--opset", type=int, default=17)
    options = parser.parse_args()
    names = zoo_names() if options.zoo == "all" else filter(None, options.zoo.split(","))
    jobs = [(n, "export, import", lambda f, r, n=n: zoo(n, f, r)) for n in names]
    names = torch_networks() if options.torch == "all" else filter(None, options.torch.split(","))
    for n in names:
        for dynamo in (False, True):
            jobs.append((n, "torch, dynamo" if dynamo else f"torch, opset {options.opset}",
                         lambda f, r, n=n, d=dynamo: torch(n, f, r, d, options.opset)))
    every = ("resnet18", "resnet50", "vgg11", "vgg16", "mobilenet_v2", "densenet121", "googlenet",
             "squeezenet1_1", "mnasnet1_0", "regnet_x_400mf", "shufflenet_v2_x1_0", "convnext_tiny")
    names = every if options.weights == "all" else filter(None, options.weights.split(","))
    jobs += [(n, "torch.save, import", lambda f, r, n=n: weights(n, f, r)) for n in names]
    failed = 0
    print("| network | way | largest difference | largest output |\n| --- | --- | --- | --- |")
    for name, way, job in jobs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                most, largest = job(folder, np.random.default_rng(1))
                failed += most > MOST * max(largest, 1)
                print(f"| `{name}` | {way} | {most:.1e} | {largest:.3g} |", flush=True)
            except Exception as error:  # a table of all is worth more than the first error
                failed += 1
                print(f"| `{name}` | {way} | {str(error)[:300]} | |", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
