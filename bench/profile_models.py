#!/usr/bin/env python3
"""Profiles some steps of training of several networks, for PERFORMANCE.md.

    bazel build //apps:benchmark
    bench/profile_models.py --out bench/results/profiles/MACHINE.jsonl

Line 1 of the file names machine and batch, each further line is what --profile=FILE.json says of a
network. bench/make_performance.py makes a table of it.
"""
import argparse
import json
import os
import subprocess
import tempfile


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/apps/benchmark")
    parser.add_argument("--models", default="vgg16_cifar10,resnet20_cifar10,densenet_cifar10")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out", required=True, help="JSON lines, overwritten")
    options = parser.parse_args()

    head = {"cpu": cpu(), "threads": options.threads, "batch": options.batch}
    lines = [json.dumps(head)]
    environment = dict(os.environ, OMP_NUM_THREADS=str(options.threads))
    for model in options.models.split(","):
        with tempfile.NamedTemporaryFile(suffix=".json") as profile:
            subprocess.run(
                [options.binary, f"--model={model}", "--dataset=synthetic", "--quiet",
                 f"--synthetic-train-samples={options.batch * options.steps}",
                 f"--batch-size={options.batch}", "--validation-split=0", "--optimizer=adam",
                 "--schedulers=", f"--profile={profile.name}"],
                env=environment, check=True, stdout=subprocess.DEVNULL)
            found = {"model": model, **json.load(open(profile.name))}
        lines.append(json.dumps(found))
        print(f"{model}: {1e3 * found['seconds'] / found['steps']:.1f} ms per step")
    with open(options.out, "w") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
