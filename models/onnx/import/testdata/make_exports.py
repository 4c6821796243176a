#!/usr/bin/env python3
"""Imports networks of this folder, exports them again as NAME_export.onnx, and writes what ONNX
Runtime answers to these files, for the input x[i] = 37 * i mod 101 / 50 - 1, as NAME_export.npy.

Needs onnxruntime, and `bazel build //apps:import //apps:export`.
"""

import os
import subprocess
import tempfile

import numpy as np
import onnxruntime

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(FOLDER, "../../../../bazel-bin/apps")


def main():
    for name in ("resnet", "shufflenet", "convnext", "slices", "groups"):
        file = os.path.join(FOLDER, name + "_export.onnx")
        with tempfile.TemporaryDirectory() as folder:
            saved = os.path.join(folder, "saved.safetensors")
            subprocess.run([os.path.join(PROGRAMS, "import/import"),
                            os.path.join(FOLDER, name + ".onnx"), saved], check=True)
            subprocess.run([os.path.join(PROGRAMS, "export/export"), saved, file], check=True)
        session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        shape = [2] + session.get_inputs()[0].shape[1:]
        x = (np.arange(np.prod(shape)) * 37 % 101 / 50 - 1).astype(np.float32).reshape(shape)
        np.save(os.path.join(FOLDER, name + "_export.npy"),
                session.run(None, {session.get_inputs()[0].name: x})[0])


if __name__ == "__main__":
    main()
