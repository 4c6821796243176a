#!/usr/bin/env python3
"""Measures how data parallelism over MPI scales on this machine: R ranks against one, in turns.

    bazel build //apps:benchmark //bench:peak_main
    bench/scaling.py --models vgg16_cifar10:12,resnet20_cifar10:60 --ranks 2 --pairs 5 \\
                     --out bench/results/scaling/MACHINE.jsonl

Every rank has one thread and 64 samples per step (weak scaling), on random data. Machines drift: a
round runs one rank, then R, within the same minute; the result is the median of the rounds' ratios
of samples/s; rounds in which the machine's FMA peak falls below 92 % of the best seen are dropped.
*Exposed* is the share of the training time in which ranks do nothing but wait for gradients, as the
launcher prints it. *Unconnected* is what as many processes reach that exchange nothing: what sharing
memory and clock leaves of R, which no exchange can improve. `--launcher` replaces mpirun, for
instance by one that limits the links between the ranks; `--flags` go to the launcher's program.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys


def begin(options, launcher, model, steps, samples):
    command = launcher + [
        options.binary, f"--model={model}", "--dataset=synthetic",
        f"--synthetic-train-samples={samples}", f"--steps-per-epoch={steps}", "--num-epochs=1",
        "--batch-size=64", "--validation-split=0", "--synthetic-pattern=classes",
        "--schedulers=", "--optimizer=adam"]
    if launcher[0] != "taskset":
        command += ["--parallel=data"] + shlex.split(options.flags)
    if model.startswith("simplecnn"):
        command.append("--synthetic-input-shape=1,28,28")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def end(process):
    text, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{shlex.join(process.args)}: exit status {process.returncode}\n{text}")

    def number(pattern):
        found = re.search(pattern, text)
        return float(found.group(1)) if found else None

    return {"samples_per_second": number(r"Throughput: ([0-9.]+) samples/s"),
            "exposed_percent": number(r"Exposed communication: ([0-9.]+)%")}


def run(options, model, steps, ranks):
    launcher = shlex.split(options.launcher.format(ranks=ranks))
    return end(begin(options, launcher, model, steps, 64 * ranks))


def run_apart(options, model, steps):
    """As many processes as ranks, on a processor each, that know nothing of each other: samples/s
    of all."""
    processors = sorted(os.sched_getaffinity(0))
    processes = [begin(options, ["taskset", "-c", str(processors[i % len(processors)])], model,
                       steps, 64) for i in range(options.ranks)]
    return sum(end(process)["samples_per_second"] for process in processes)


def peak(options):
    """GFLOP/s of all processors, float32."""
    text = subprocess.run([options.peak], text=True, stdout=subprocess.PIPE, check=True).stdout
    return float(re.search(r"FMA float32:.* ([0-9.]+) on", text).group(1))


def processor():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/apps/benchmark",
                        help="the launcher's program [%(default)s]")
    parser.add_argument("--peak", default="bazel-bin/bench/peak_main",
                        help="program that measures the FMA peak [%(default)s]")
    parser.add_argument("--launcher",
                        default="mpirun -np {ranks} --oversubscribe --allow-run-as-root --bind-to core",
                        help="command before the program, {ranks} filled in [%(default)s]")
    parser.add_argument("--models", required=True, metavar="NAME:STEPS,...",
                        help="networks, each with the steps of a run")
    parser.add_argument("--ranks", type=int, default=2,
                        help="that are compared with one [%(default)s]")
    parser.add_argument("--pairs", type=int, default=5, help="rounds per network [%(default)s]")
    parser.add_argument("--flags", default="--use-blocking-mpi=False",
                        help="more flags of the program; write --flags=\"...\" [%(default)s]")
    parser.add_argument("--setting", default="shared memory",
                        help="how the ranks are linked, as the results shall say [%(default)s]")
    parser.add_argument("--out", required=True,
                        help="file of results, a JSON line per network, appended to")
    options = parser.parse_args()
    if not all(re.fullmatch(r"\w+:\d+", item) for item in options.models.split(",")):
        parser.error(f"--models={options.models}: expected NAME:STEPS[,NAME:STEPS...]")

    for item in options.models.split(","):
        model, steps = item.split(":")
        rounds = []
        before = peak(options)
        for _ in range(options.pairs):
            one = run(options, model, steps, 1)
            all_ranks = run(options, model, steps, options.ranks)
            apart = run_apart(options, model, steps)
            after = peak(options)
            rounds.append({"one": one, "all": all_ranks, "peak": min(before, after),
                           "ratio": all_ranks["samples_per_second"] / one["samples_per_second"],
                           "apart_ratio": apart / one["samples_per_second"]})
            print(f"{model}: {one['samples_per_second']:.1f} -> "
                  f"{all_ranks['samples_per_second']:.1f} samples/s, {rounds[-1]['ratio']:.2f}x, "
                  f"exposed {all_ranks['exposed_percent']} %, unconnected "
                  f"{rounds[-1]['apart_ratio']:.2f}x", flush=True)
            before = after
        best = max(r["peak"] for r in rounds)
        rounds = [r for r in rounds if r["peak"] >= 0.92 * best]
        result = {"model": model, "cpu": processor(), "processors": os.cpu_count(), "peak": best,
                  "ranks": options.ranks, "batch": 64,
                  "setting": options.setting, "flags": options.flags,
                  "ratio": statistics.median(r["ratio"] for r in rounds),
                  "apart_ratio": statistics.median(r["apart_ratio"] for r in rounds),
                  "exposed_percent": statistics.median(r["all"]["exposed_percent"] for r in rounds),
                  "one": statistics.median(r["one"]["samples_per_second"] for r in rounds),
                  "all": statistics.median(r["all"]["samples_per_second"] for r in rounds),
                  "rounds": rounds}
        with open(options.out, "a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{model}: median {result['ratio']:.2f}x, exposed {result['exposed_percent']} %, "
              f"unconnected {result['apart_ratio']:.2f}x")


if __name__ == "__main__":
    main()
