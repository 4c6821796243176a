#!/usr/bin/env python3
"""Processor time of training from arrays in Python, against that of the launcher; they take turns.

    bazel build //apps:benchmark //apps/python:wheel && bench/compare_python.py

Both train simplecnn8 on Fashion-MNIST by one thread, with the same options. Each is run with one
epoch and with several: the difference is the time of steps, without start and end.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import zipfile

BUILT = pathlib.Path(__file__).absolute().parent.parent / "bazel-bin"
OPTIONS = {"batch_size": 64, "optimizer": "adam", "learning_rate": 0.001, "random_seed": 1,
           "validation_split": 0, "steps_per_epoch": 200}
PROGRAM = """
import ast, gzip, pathlib, sys
import dtnn
import numpy as np

folder, options, callbacks = pathlib.Path(sys.argv[1]), *map(ast.literal_eval, sys.argv[2:])

def read(name, header):
    with gzip.open(folder / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)

x = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
data = dtnn.Arrays(x, read("train-labels-idx1-ubyte.gz", 8))

class Watch(dtnn.Callback):
    def on_batch_end(self, batch, metrics):
        pass

dtnn.Run("simplecnn8", data, callbacks=[Watch()] if callbacks else [], **options).fit()
"""


def seconds(command, environment):
    """Of processor time."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=6, help="of 200 steps; default: 6")
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--callback", action="store_true", help="one in Python after every batch")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(next((BUILT / "apps/python/wheel").glob("*.whl"))).extractall(folder)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": folder}

        def launcher(epochs):
            options = {**OPTIONS, "num_epochs": epochs, "dataset_path": arguments.data}
            flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
            return [BUILT / "apps/benchmark", "--model=simplecnn8", "--dataset=mnist",
                    "--schedulers=", *flags]

        def python(epochs):
            options = {**OPTIONS, "num_epochs": epochs, "schedulers": []}
            return ["/usr/bin/python3", "-c", PROGRAM, arguments.data, repr(options),
                    repr(arguments.callback)]

        times = {launcher: [], python: []}
        for done in range(arguments.rounds):
            for program, found in times.items():
                long, short = (seconds(program(n), environment) for n in (arguments.epochs, 1))
                found.append(long - short)
            print(f"round {done + 1}: launcher {times[launcher][-1]:.2f} s, Python "
                  f"{times[python][-1]:.2f} s", file=sys.stderr)
    ratios = [ours / theirs for theirs, ours in zip(times[launcher], times[python])]
    print(f"{200 * (arguments.epochs - 1)} steps: launcher {min(times[launcher]):.2f} s, Python "
          f"{min(times[python]):.2f} s (least of {arguments.rounds}); Python / launcher, median: "
          f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
