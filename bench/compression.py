#!/usr/bin/env python3
"""Measures what ranks gain from sending less: time per step, time in which ranks only wait for
gradients, and what is learnt, with gradients as they are, in 16-bit numbers, and as sparse sums.

    bazel build //apps:benchmark
    bench/compression.py --models vgg16_cifar10 --dataset-path=/data/cifar-10-binary.tar.gz

The ranks are processes of this machine, each a host of its own on a network of 1 Gbit/s (network
namespaces, comm/testing/netns_run.sh); `--launcher` replaces that. Every rank has one thread, so
with more ranks than cores a step takes longer than on a real cluster, and its exchange counts for
less. Machines drift: a round runs every variant once, in turns, on random data without validation;
time per step and waiting are medians over the rounds. Then every variant trains for `--epochs`
epochs of `--steps` steps, with `--validation-split` of the samples set apart.

Results are appended to `--out`, a JSON line per variant, and printed as a table.
"""
import argparse
import csv
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

VARIANTS = {
    "not exchanged": ["--model-sync-freq=-1"],  # what computing alone takes
    "as they are": [],
    "fp16": ["--gradient-compression=fp16"],
    "bf16": ["--gradient-compression=bf16"],
    "oktopk": ["--optimizer=oktopk"],
}


def run(options, model, arguments):
    launcher = shlex.split(options.launcher.format(ranks=options.ranks))
    command = launcher + [
        options.binary, f"--model={model}", "--parallel=data", "--use-blocking-mpi=False",
        f"--batch-size={options.batch_size}", f"--steps-per-epoch={options.steps}",
        f"--learning-rate={options.learning_rate}", "--schedulers=", "--progress=none"
    ] + shlex.split(options.flags) + arguments
    done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"no {pattern!r} in:\n{text}")
    return float(found.group(1))


def time(options, model, variant):
    samples = options.steps * options.batch_size * options.ranks
    text = run(options, model, VARIANTS[variant] + [
        "--dataset=synthetic", f"--synthetic-train-samples={samples}", "--num-epochs=1",
        "--validation-split=0"])
    return {"step_seconds": number(r"Time per epoch: ([0-9.]+) s", text) / options.steps,
            "exposed_percent": number(r"Exposed communication: ([0-9.]+)%", text)}


def learn(options, model, variant):
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.csv")
        run(options, model, VARIANTS[variant] + [
            "--dataset=cifar10", f"--dataset-path={options.dataset_path}",
            f"--num-epochs={options.epochs}", f"--validation-split={options.validation_split}",
            f"--history-file={history}"])
        with open(history, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in rows[0] if name != "epoch"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/apps/benchmark",
                        help="the launcher's program [%(default)s]")
    parser.add_argument("--launcher",
                        default="comm/testing/netns_run.sh --hosts={ranks} --rate=1gbit --",
                        help="command before the program, {ranks} filled in [%(default)s]")
    parser.add_argument("--models", default="vgg16_cifar10", help="comma list [%(default)s]")
    parser.add_argument("--variants", default="as they are,bf16,oktopk",
                        help=f"comma list of {', '.join(VARIANTS)} [%(default)s]")
    parser.add_argument("--ranks", type=int, default=4, help="[%(default)s]")
    parser.add_argument("--batch-size", type=int, default=64, help="per rank [%(default)s]")
    parser.add_argument("--steps", type=int, default=10, help="of a run or epoch [%(default)s]")
    parser.add_argument("--rounds", type=int, default=3, help="of timing [%(default)s]")
    parser.add_argument("--epochs", type=int, default=3, help="of learning; 0: none [%(default)s]")
    parser.add_argument("--learning-rate", default="0.01", help="[%(default)s]")
    parser.add_argument("--validation-split", default="0.02", help="[%(default)s]")
    parser.add_argument("--dataset-path", help="CIFAR-10, for learning")
    parser.add_argument("--flags", default="", help="more flags of the program")
    parser.add_argument("--out", help="file of results, appended to")
    options = parser.parse_args()
    variants = options.variants.split(",")
    for variant in variants:
        if variant not in VARIANTS:
            parser.error(f"--variants: {variant}: expected some of {', '.join(VARIANTS)}")
    if options.epochs > 0 and not options.dataset_path:
        parser.error("--dataset-path: missing; --epochs=0 measures the time only")

    print("| network | gradients | s per step | waiting | training loss | validation accuracy |")
    print("| --- | --- | --- | --- | --- | --- |")
    for model in options.models.split(","):
        rounds = [{variant: time(options, model, variant) for variant in variants}
                  for _ in range(options.rounds)]
        for variant in variants:
            result = {"model": model, "variant": variant, "ranks": options.ranks,
                      "batch": options.batch_size, "steps": options.steps, "flags": options.flags,
                      "launcher": options.launcher, "rounds": [r[variant] for r in rounds]}
            cells = [model, variant]
            for name, form in ("step_seconds", "{:.2f}"), ("exposed_percent", "{:.0f} %"):
                if rounds:
                    result[name] = statistics.median(r[variant][name] for r in rounds)
                cells.append(form.format(result[name]) if rounds else "")
            if options.epochs > 0:
                result["history"] = history = learn(options, model, variant)
                loss, accuracy = (next(name for name in history if name.endswith(end)
                                       and name.startswith("val_") == validated)
                                  for end, validated in (("cross_entropy", False),
                                                         ("accuracy", True)))
                cells += [f"{history[loss][-1]:.3f}", f"{history[accuracy][-1]:.1f} %"]
            else:
                cells += ["", ""]
            print("| " + " | ".join(cells) + " |", flush=True)
            if options.out:
                with open(options.out, "a", encoding="utf-8") as file:
                    file.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
