#!/usr/bin/env python3
"""OpenVINO's side of bench:models --phases=infer on a CPU: in its default precision, and in int8.

    openvino_cpu.py [--seconds=2] [--threads=2] [--batch=64] MODEL...

A JSON line for each network and precision: samples/s, the median of blocks after steps to warm up, and the
precision that OpenVINO chose. "default" is bfloat16 where the CPU has it; "int8" is NNCF's post-training
quantisation on random samples, which decides ranges and not speed. Needs torch, openvino and nncf from PyPI.
"""

import argparse
import json
import statistics
import time

import nncf
import openvino
import torch

from torch_gpu import MODELS

WARM_UP = 2
BLOCKS = 8


def throughput(model, threads, batch, seconds):
    compiled = openvino.Core().compile_model(
        model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    images = torch.randn(*compiled.input(0).shape).numpy()
    request.set_input_tensor(openvino.Tensor(images, shared_memory=True))
    for _ in range(WARM_UP):
        request.infer()
    rates = []
    for _ in range(BLOCKS):
        begin, steps = time.perf_counter(), 0
        while steps == 0 or time.perf_counter() - begin < seconds / BLOCKS:
            request.infer()
            steps += 1
        rates.append(steps * batch / (time.perf_counter() - begin))
    return statistics.median(rates), compiled.get_property("INFERENCE_PRECISION_HINT").to_string()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("models", nargs="+", choices=MODELS)
    options = parser.parse_args()
    for name in options.models:
        make, sample, _ = MODELS[name]
        shape = (options.batch, *sample)
        images = torch.randn(*shape)
        default = openvino.convert_model(make().eval(), example_input=images, input=[shape])
        samples = nncf.Dataset([torch.randn(*shape).numpy() for _ in range(2)])
        for mode, model in [("default", default), ("int8", nncf.quantize(default, samples, subset_size=2))]:
            rate, precision = throughput(model, options.threads, options.batch, options.seconds)
            print(json.dumps({"model": name, "batch": options.batch, "mode": mode, "precision": precision,
                              "infer": round(rate, 1), "openvino": openvino.__version__}), flush=True)


if __name__ == "__main__":
    main()
