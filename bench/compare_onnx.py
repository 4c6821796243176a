#!/usr/bin/env python3
"""Networks to ONNX and back, and weights of PyTorch, beside ONNX Runtime and PyTorch: the largest
difference of their outputs, in proportion to the distances between the answers to different images.

Needs the packages onnx and onnxruntime, for --torch and --weights torch and torchvision, for --timm
timm too, and for --int8 pillow:

  bazel build //apps:export //apps:import //apps:quantize //models/c:libdtnn.so
  bench/compare_onnx.py --zoo=all            # export, new weights, import, predict
  bench/compare_onnx.py --int8=all           # the same, then quantize, export in 8 bits, predict in 8 bits
  bench/compare_onnx.py --torch=all          # torch.onnx.export, import, predict
  bench/compare_onnx.py --weights=all        # torch.save, import --model, predict: beside PyTorch
  bench/compare_onnx.py --timm=all           # the same with timm's networks and names
  bench/compare_onnx.py --table              # of all that was measured: that of docs/onnx.md

Each result is a line of bench/results/onnx/networks.jsonl; the last of a network and way counts.

Weights are random, statistics of batch normalisations are measured, images are spots of colour:
structure and arithmetic are what is compared, where images differ in the answers.
"""

import argparse
import ctypes
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

onnxruntime.set_default_logger_severity(3)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST = 1e-3  # of the distances between answers: random weights spread each rounding
MOST_INT8 = 1.5  # of the distance between 8 bits and float32
RESULTS = os.path.join(ROOT, "bench/results/onnx/networks.jsonl")


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


def pictures(rng, shape):
    """Bytes (n, height, width, channels): spots of colour. Noise would be the same to a network whose
    windows take means, whatever the image."""
    n, height, width, channels = shape
    coarse = rng.uniform(0, 256, (n, 5, 5, channels))
    rows, columns = np.arange(height) * 5 // height, np.arange(width) * 5 // width
    spots = coarse[:, rows][:, :, columns] + rng.normal(0, 12, shape)
    return np.clip(spots, 0, 255).astype(np.uint8)


def floats(pictures):
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)).astype(np.float32) / np.float32(255)


def input_shape(model, images):
    """(n, height, width, channels)"""
    channels, height, width = [
        d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim][1:]
    return images, height, width, channels


def measure_statistics(model, x):
    """Sets the statistics of all batch normalisations to those of their inputs for `x`."""
    graph = onnx.GraphProto()
    graph.CopyFrom(model.graph)
    del graph.node[:], graph.output[:]
    flat = numpy_helper.from_array(np.array([-1]), "flat")
    graph.initializer.append(flat)
    images = {v.name for v in onnx.shape_inference.infer_shapes(model).graph.value_info
              if len(v.type.tensor_type.shape.dim) == 4}
    measured = []
    for node in model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        if node.op_type == "BatchNormalization":
            value, (mean, variance) = node.input[0], node.input[3:5]
            names = [mean + part for part in ("/kept", "/centred", "/square", "/new")]
            axes = [0, 2, 3] if value in images else [0]
            graph.node.extend([
                helper.make_node("ReduceMean", [value], names[:1], axes=axes, keepdims=1),
                helper.make_node("Sub", [value, names[0]], names[1:2]),
                helper.make_node("Mul", [names[1], names[1]], names[2:3]),
                helper.make_node("ReduceMean", names[2:3], [variance + "/new"], axes=axes,
                                 keepdims=0),
                helper.make_node("Reshape", [names[0], "flat"], names[3:]),
            ])
            copy.input[3:5] = [mean + "/new", variance + "/new"]
            measured += [mean, variance]
        graph.node.append(copy)
    if not measured:
        return
    graph.output.extend(helper.make_tensor_value_info(name + "/new", onnx.TensorProto.FLOAT, None)
                        for name in measured)
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    whole.graph.CopyFrom(graph)
    session = onnxruntime.InferenceSession(whole.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    values = dict(zip(measured, session.run(None, {session.get_inputs()[0].name: x})))
    for tensor in model.graph.initializer:
        if tensor.name in values:
            tensor.CopyFrom(numpy_helper.from_array(values[tensor.name], tensor.name))


def renew(model, rng):
    """Weights by which images differ in the answers as they do in a trained network: filters that
    keep the size of values behind a relu, statistics of batch normalisations as measured, other
    values than 1 and 0 in gammas and biases. And no softmax, which would hide differences."""
    last = model.graph.node[-1]
    if last.op_type == "Softmax":
        for node in model.graph.node:
            node.output[:] = ["output" if name == last.input[0] else name for name in node.output]
        model.graph.node.remove(last)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.data_type != onnx.TensorProto.FLOAT or values.ndim == 0:
            continue  # neither a rate of dropout nor a shape
        if values.ndim > 1:
            drawn = values * np.float32(np.sqrt(2))
        else:
            low, high = (0.5, 1) if tensor.name.endswith("_gamma") else (-0.2, 0.4)
            drawn = rng.uniform(low, high, values.shape)
        tensor.CopyFrom(numpy_helper.from_array(drawn.astype(values.dtype), tensor.name))
    measure_statistics(model, floats(pictures(rng, input_shape(model, 8))))


def difference(onnx_file, folder, rng, images=4, arguments=()):
    """The model of `onnx_file` as DTNN and ONNX Runtime see it: (difference, largest output)."""
    saved = os.path.join(folder, "imported.safetensors")
    run(program("import"), onnx_file, saved, *arguments)
    session = onnxruntime.InferenceSession(onnx_file, providers=["CPUExecutionProvider"])
    shape = [images if isinstance(n, str) or i == 0 else n
             for i, n in enumerate(session.get_inputs()[0].shape)]
    x = floats(pictures(rng, [shape[0], shape[2], shape[3], shape[1]]))
    theirs = session.run(None, {session.get_inputs()[0].name: x})[0]
    ours = predict(saved, np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    if theirs.ndim == 4:
        theirs = theirs.transpose(0, 2, 3, 1)
    return compare(ours, theirs.reshape(ours.shape))


def compare(ours, theirs):
    """(largest difference, largest distance of an answer from the mean of all images)"""
    apart = np.abs(theirs - theirs.mean(axis=0)).max()
    return float(np.abs(ours - theirs).max()), float(apart)


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


def int8(name, folder, rng, images=32):
    """8 bits here, and as QuantizeLinear and DequantizeLinear in ONNX Runtime: the largest distances,
    of the two from each other, and of each from float32. A value on the edge of two bytes goes either
    way, and a deep network spreads it: the two are as far from each other as from float32, but not
    farther."""
    from PIL import Image

    file, saved = os.path.join(folder, "float.onnx"), os.path.join(folder, "float.safetensors")
    bytes8, onnx8 = os.path.join(folder, "int8.safetensors"), os.path.join(folder, "int8.onnx")
    run(program("export"), name, file)
    model = onnx.load(file)
    renew(model, rng)
    onnx.save(model, file)
    run(program("import"), file, saved)
    x = pictures(rng, input_shape(model, images))
    os.mkdir(os.path.join(folder, "samples"))
    for i, image in enumerate(x):
        Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image).save(
            os.path.join(folder, "samples", f"{i}.png"))
    run(program("quantize"), saved, bytes8, "--calibrate=" + os.path.join(folder, "samples"))
    run(program("export"), bytes8, onnx8, "--math-mode=int8")
    session = onnxruntime.InferenceSession(onnx8, providers=["CPUExecutionProvider"])
    theirs = session.run(None, {session.get_inputs()[0].name: floats(x)})[0]
    samples = np.ascontiguousarray(floats(x).transpose(0, 2, 3, 1))
    ours, exact = predict(bytes8, samples, b"math-mode=int8"), predict(saved, samples)
    theirs = theirs.reshape(ours.shape)
    apart = float(np.abs(exact - exact.mean(axis=0)).max())
    both, here, there = [float(np.abs(a - b).max())
                         for a, b in ((ours, theirs), (ours, exact), (theirs, exact))]
    return both, apart, here, there


def settle(network, x):
    """Biases other than 0, statistics of batch normalisations as measured on `x`."""
    import torch as t

    for module in network.modules():
        if isinstance(module, t.nn.BatchNorm2d):
            module.momentum = 1
        elif isinstance(module, (t.nn.Conv2d, t.nn.Linear)) and module.bias is not None:
            t.nn.init.uniform_(module.bias, -0.1, 0.1)
    with t.no_grad():
        network.train()(x)
    return network.eval()


# Where heads have as many features as images of one size give; others take 160 x 192.
SIZES = {"alexnet": (224, 224), "vgg11": (224, 224), "vgg16": (224, 224), "vgg16_bn": (224, 224),
         "vgg19": (224, 224), "vision_transformer": (64, 64), "vit_b_16": (224, 224)}


def torch(name, folder, rng, dynamo, opset):
    """Beside PyTorch in float64."""
    import torch as t
    from torch_networks import networks

    t.manual_seed(1)
    network = networks()[name](num_classes=10)
    file, saved = os.path.join(folder, "torch.onnx"), os.path.join(folder, "torch.safetensors")
    height, width = SIZES.get(name, (160, 192))
    x = t.from_numpy(floats(pictures(rng, (8, height, width, 3))))
    settle(network, x)
    if dynamo:
        batch = t.export.Dim("batch")
        t.onnx.export(network, (x,), file, dynamo=True, opset_version=opset,
                      dynamic_shapes=({0: batch},), external_data=True, verbose=False)
    else:
        t.onnx.export(network, x, file, dynamo=False, opset_version=opset,
                      input_names=["image"], dynamic_axes={"image": {0: "batch"}})
    run(program("import"), file, saved)
    x = x[:4]
    with t.no_grad():
        theirs = network.double()(x.double()).numpy()
    ours = predict(saved, np.ascontiguousarray(x.numpy().transpose(0, 2, 3, 1)))
    if theirs.ndim == 4:
        theirs = theirs.transpose(0, 2, 3, 1)
    return compare(ours, theirs.reshape(ours.shape))


# Networks of the zoo with torchvision's structure, by torchvision's names. For the others, the
# structure comes from an export with batch normalisations that are not folded.
ZOO = {name: "torchvision_" + name for name in ("resnet18", "resnet50", "resnet101", "resnet152",
                                                 "densenet121", "googlenet")} | {
    name: name for name in ("vgg11", "vgg16", "vgg16_bn", "vgg19", "mobilenet_v2",
                            "mobilenet_v3_small", "mobilenet_v3_large", "efficientnet_b0",
                            "squeezenet1_1", "regnet_y_400mf", "shufflenet_v2_x1_0",
                            "convnext_tiny")}
TIMM = {"resnet18": "torchvision_resnet18", "resnet50": "torchvision_resnet50",
        "mobilenetv2_100": "mobilenet_v2", "efficientnet_b0": "efficientnet_b0",
        "convnext_tiny": "convnext_tiny"}
WITHOUT_ZOO = ("mnasnet1_0", "regnet_x_400mf")


def filled(network, model, folder, x):
    """The network's state_dict as .pth and .safetensors, in our network, beside PyTorch."""
    import torch as t
    from safetensors.torch import save_file

    with t.no_grad():
        theirs = network(x).numpy()
    most, apart = 0, 0
    for ending, save in ((".pth", t.save), (".safetensors", save_file)):
        file, saved = os.path.join(folder, "w" + ending), os.path.join(folder, "filled.safetensors")
        save(network.state_dict(), file)
        run(program("import"), file, saved, "--model=" + model)
        ours = predict(saved, np.ascontiguousarray(x.numpy().transpose(0, 2, 3, 1)))
        difference, apart = compare(ours, theirs)
        most = max(most, difference)
    return most, apart


def weights(name, folder, rng):
    import torch as t
    import torchvision
    from torch_networks import networks

    t.manual_seed(1)
    classes = 1000 if name.startswith("squeezenet") else 10  # no last product says how many
    if name == "googlenet":  # as it is stored, with the heads that only training has
        network = torchvision.models.googlenet(num_classes=classes, init_weights=True)
    else:
        network = networks()[name](num_classes=classes)
    x = t.from_numpy(floats(pictures(rng, (8, 224, 224, 3))))
    settle(network, x)
    model = ZOO.get(name)
    if model is None:
        file, model = os.path.join(folder, "s.onnx"), os.path.join(folder, "s.safetensors")
        t.onnx.export(network, x, file, dynamo=False, do_constant_folding=False,
                      training=t.onnx.TrainingMode.PRESERVE, opset_version=17)
        run(program("import"), file, model)
    return filled(network, model, folder, x)


def timm(name, folder, rng):
    import timm as library
    import torch as t

    t.manual_seed(1)
    network = library.create_model(name, num_classes=10)
    x = t.from_numpy(floats(pictures(rng, (8, 224, 224, 3))))
    settle(network, x)
    return filled(network, TIMM[name], folder, x)


COLUMNS = (("export", ("export",)), ("import", ("torch", "dynamo")), ("weights", ("weights",)),
           ("int8", ("int8",)), ("int8 from float32", ("int8",)))


def table():
    """One row per network: zoo's names, or torchvision's of those that the zoo does not have."""
    found, order = {}, zoo_names()
    for line in open(RESULTS):
        result = json.loads(line)
        name = result["network"]
        if result["way"] == "timm":
            continue
        if result["way"] in ("torch", "dynamo", "weights"):
            name = ZOO.get(name, name + " of torchvision" if name in order else name)
        found.setdefault(name, {})[result["way"]] = result
    print("| network | " + " | ".join(column for column, _ in COLUMNS) + " |\n|" +
          " --- |" * (1 + len(COLUMNS)))
    for name in sorted(found, key=lambda n: (order.index(n) if n in order else len(order), n)):
        cells = []
        for column, ways in COLUMNS:
            key = "from_float32" if column.endswith("float32") else "difference"
            values = [found[name][way][key] for way in ways if way in found[name]]
            form = ".1%" if column.startswith("int8") else ".1e"
            cells.append(format(max(values), form).replace("e-0", "e-").replace("%", " %")
                         if values else "")
        print(f"| `{name}` | " + " | ".join(cells) + " |")


def exceeds(most, apart, here=None, there=None):
    """Whether a result is beyond the bound; `here` and `there`: of 8 bits from float32."""
    return most > MOST * apart if here is None else max(here, most) > MOST_INT8 * there


def keep(name, way, most, apart, here=None):
    result = {"network": name, "way": way, "difference": float(f"{most / apart:.3g}"),
              "date": datetime.date.today().isoformat(), "onnxruntime": onnxruntime.__version__}
    if here is not None:
        result["from_float32"] = float(f"{here / apart:.3g}")
    with open(RESULTS, "a") as file:
        print(json.dumps(result), file=file)


def jobs_of(options):
    """(network, way, function of a folder and random numbers) of all that is asked for."""
    def names(asked, every):
        return list(every()) if asked == "all" else [name for name in asked.split(",") if name]

    def of_torch():
        from torch_networks import networks
        return networks()

    jobs = [(n, "export", zoo) for n in names(options.zoo, zoo_names)]
    for n in names(options.torch, of_torch):
        for way, dynamo in (("torch", False), ("dynamo", True)):
            jobs.append((n, way, lambda name, folder, rng, dynamo=dynamo:
                         torch(name, folder, rng, dynamo, options.opset)))
    jobs += [(n, "weights", weights) for n in names(options.weights, lambda: (*ZOO, *WITHOUT_ZOO))]
    jobs += [(n, "timm", timm) for n in names(options.timm, lambda: TIMM)]
    jobs += [(n, "int8", int8) for n in names(options.int8, zoo_names)]
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zoo", default="", help="names of the zoo, comma-separated, or all")
    parser.add_argument("--int8", default="", help="names of the zoo, or all")
    parser.add_argument("--torch", default="", help="names of torchvision, or all")
    parser.add_argument("--weights", default="", help="names of torchvision, or all")
    parser.add_argument("--timm", default="", help="names of timm, or all")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--table", action="store_true", help="print the table of all results")
    options = parser.parse_args()
    if options.table:
        table()
        return False
    failed = 0
    for name, way, job in jobs_of(options):
        with tempfile.TemporaryDirectory() as folder:
            try:
                most, apart, *more = job(name, folder, np.random.default_rng(1))
                failed += exceeds(most, apart, *more)
                from_float32 = "".join(f", {distance / apart:.1e} from float32 {where}"
                                       for distance, where in zip(more, ("here", "there")))
                print(f"{name}, {way}: {most / apart:.1e} of {apart:.3g}{from_float32}", flush=True)
                keep(name, way, most, apart, *more[:1])
            except Exception as error:  # a table of all is worth more than the first error
                failed += 1
                print(f"{name}, {way}: {str(error)[:300]}", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
