#!/usr/bin/env python3
"""Sizes of an installation's libraries and programs, and how long a predictor takes to its first answer.

    bazel run //:install -- --prefix=$PWD/installed && bench/installed.py installed

Builds the installed examples as docs/installing.md says, makes a model of resnet20 for images of
32 x 32, and prints the tables of bench/notes/installed.md. Times are those of whole processes, which
start, load the model, read a JPEG, print the answer and end; programs take turns.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

IMAGE = pathlib.Path(__file__).parent.parent / "data/images/testdata/fuzz/image/jpeg_grey"


def megabytes(path):
    return f"{path.stat().st_size / 1e6:.1f} MB"


def stripped(path, flag, folder):
    """The file without symbols that only debuggers and linkers of programs need."""
    result = folder / f"stripped-{path.name}"
    subprocess.run(["strip", flag, "-o", result, path], check=True)
    return result


def start(command):
    """Of a process: seconds, seconds of processor time, megabytes of memory at most."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def build(prefix, folder):
    """The examples answer and train in C++, answer in C."""
    shutil.copytree(prefix / "share/doc/dtnn/examples", folder / "examples")
    run = lambda *command: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    run("cmake", "-S", folder / "examples/cmake", "-B", folder / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", folder / "build")
    os.environ["PKG_CONFIG_PATH"] = str(prefix / "lib/pkgconfig")
    run("make", "-C", folder / "examples/c")
    return folder / "build/answer", folder / "build/train", folder / "examples/c/answer"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path, help="of an installation of all components")
    parser.add_argument("--image", type=pathlib.Path, default=IMAGE, help="a JPEG")
    parser.add_argument("--runs", type=int, default=21, help="of each program; default: 21")
    arguments = parser.parse_args()
    prefix = arguments.prefix.absolute()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        answer, train, answer_in_c = build(prefix, folder)
        model = folder / "resnet20.safetensors"
        subprocess.run(
            [prefix / "bin/benchmark", "--model=resnet20", "--dataset=synthetic",
             "--synthetic-input-shape=3,32,32", "--num-epochs=1", "--steps-per-epoch=1",
             f"--save-model={model}"], check=True, stdout=subprocess.DEVNULL)

        print("| file | size | stripped |\n| --- | --- | --- |")
        library = next(path for path in prefix.glob("lib/libdtnn.so.*") if not path.is_symlink())
        for path in (*sorted(prefix.glob("lib/*.a")), library, *sorted(prefix.glob("bin/*"))):
            flag = "--strip-debug" if path.suffix == ".a" else "--strip-unneeded"
            print(f"| `{path.relative_to(prefix)}` | {megabytes(path)} | "
                  f"{megabytes(stripped(path, flag, folder))} |")

        sizes = {path: megabytes(stripped(path, "--strip-all", folder))
                 for path in (answer, train, answer_in_c, library)}
        programs = {
            f"`examples/cmake/answer`, static | {sizes[answer]}": answer,
            f"`examples/c/answer`, with `libdtnn.so` | {sizes[answer_in_c]} and {sizes[library]}":
                answer_in_c,
        }
        runs = {name: [] for name in programs}
        for _ in range(arguments.runs):
            for name, program in programs.items():
                runs[name].append(start([program, model, arguments.image]))
        print(f"\nThe model has {megabytes(model)}.\n\n"
              "| program | stripped | start to first answer | of processor time | memory |\n"
              "| --- | --- | --- | --- | --- |")
        for name, found in runs.items():
            seconds, busy, memory = (statistics.median(column) for column in zip(*found))
            print(f"| {name} | {1000 * seconds:.0f} ms | {1000 * busy:.0f} ms | {memory:.0f} MB |")
        print(f"| `examples/cmake/train`, static | {sizes[train]} | | | |")


if __name__ == "__main__":
    main()
