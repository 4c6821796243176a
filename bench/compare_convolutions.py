#!/usr/bin/env python3
"""Compares DTNN's convolutions with another library's, shape by shape, in turns.

    bazel build //bench:convolutions
    bench/compare_convolutions.py [--simd avx2] [--out bench/results/convolutions/NAME.jsonl]
    bench/compare_convolutions.py --random 40 --seed 7
    bench/compare_convolutions.py --peer './other {shapes} 2 {directions}' --shapes FILE

Each shape is measured by ours and by the peer within the same seconds; the ratio is the peer's best
time over ours (> 1: ours is faster), the median of --rounds. If neither --shapes nor --random is given,
the shapes are bench/shapes/networks.txt. If no --peer is given it is oneDNN, by
bench/peers/onednn_convolutions.cc, which is compiled first and needs g++ and libdnnl-dev; both use as many
threads as OMP_NUM_THREADS says, or else all, and --simd restricts both. A peer prints a JSON object per line
with `library`, `name`, `direction`, `ms` (the median of its calls) and `ms_min`, one for each of its
algorithms, of which the fastest counts. On a machine that others use too, --time=ms_min compares
the fastest calls of both; a round in which the FMA peak, measured beside every call, falls below 92 % is
measured again. The file written has a line about the machine, and then one per shape and
direction; bench/make_performance.py makes a page of it. Prints the geometric mean per network (what stands
before the slash of a name) and direction, the worst shapes, and how many are below 0.85. With --table FILE
it measures nothing, and prints this of what --out has written.
"""
import argparse
import collections
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile


HERE = os.path.dirname(os.path.abspath(__file__))


def build_onednn(folder, threads, seconds):
    """The command of oneDNN's program, compiled into `folder`."""
    source = os.path.join(HERE, "peers", "onednn_convolutions.cc")
    program = os.path.join(folder, "onednn_convolutions")
    command = ["g++", "-std=c++17", "-O3", "-march=native", "-fopenmp", source, "-o", program,
               "-ldnnl"]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit("compare_convolutions.py: oneDNN's program cannot be compiled; install g++ and "
                 "libdnnl-dev, or name another one with --peer")
    return f'{program} {{shapes}} {threads} "" {{directions}} {seconds}'


def lines(command):
    result = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


def cpu_name():
    with open("/proc/cpuinfo") as info:
        return next(line.split(":")[1].strip() for line in info if line.startswith("model name"))


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def print_table(records):
    """Per direction: geometric means over all and per network, and the worst shapes."""
    for direction in dict.fromkeys(record["direction"] for record in records):
        found = [(record["ratio"], record["name"], record["variant"]) for record in records
                 if record["direction"] == direction]
        networks = collections.defaultdict(list)
        for ratio, name, _ in found:
            networks[name.split("/")[0]].append(ratio)
        means = "  ".join(f"{network} {geometric_mean(values):.2f}"
                          for network, values in networks.items())
        below = sum(ratio < 0.85 for ratio, _, _ in found)
        print(f"\n{direction}: {geometric_mean([ratio for ratio, _, _ in found]):.3f} over "
              f"{len(found)} shapes, {below} below 0.85;  {means}")
        for ratio, name, variant in sorted(found)[:max(8, below)]:
            print(f"  {ratio:5.2f}  {variant:9}  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/bench/convolutions")
    parser.add_argument("--peer", default="", help="command with {shapes} and {directions}")
    parser.add_argument("--simd", choices=["avx512", "avx2"], help="restrict ours and oneDNN")
    parser.add_argument("--table", default="", help="a file of --out: print what it says")
    parser.add_argument("--shapes", default="")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--names", default="", help="only names that begin so")
    parser.add_argument("--directions", default="fwd,bwd_data,bwd_filter")
    parser.add_argument("--variants", default="auto")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--time", choices=["ms", "ms_min"], default="ms")
    parser.add_argument("--out", default="", help="JSON lines, overwritten")
    options = parser.parse_args()

    if options.table:
        with open(options.table) as file:
            print_table([json.loads(line) for line in file][1:])
        return
    if not options.shapes and not options.random:
        options.shapes = os.path.join(HERE, "shapes", "networks.txt")
    threads = os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    if options.simd:
        os.environ.update(DTNN_SIMD=options.simd,
                          DNNL_MAX_CPU_ISA={"avx2": "AVX2", "avx512": "AVX512_CORE"}[options.simd])
    with tempfile.TemporaryDirectory() as folder:
        compare(options, options.peer or build_onednn(folder, threads, options.seconds))


def measure(shape, options, peer, machine):
    """One round: the fastest line of ours and of the peer per direction, and the lowest FMA peak.

    Where that is below 92 % of the highest so far, somebody else computed too: again, up to 3 times in all.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(shape + "\n")
        file.flush()
        commands = (f"{options.binary} --shapes={file.name} --seconds={options.seconds} "
                    f"--variants={options.variants} --directions={options.directions}",
                    peer.format(shapes=file.name, directions=options.directions))
        quietest = None
        for _ in range(3):
            sides = [lines(command) for command in commands]
            if not all(sides):
                return {}, {}, 0
            machine.update(simd=sides[0][0]["simd"], threads=sides[0][0]["threads"],
                           peer=sides[1][0].get("library", "peer"))
            machine["peak"] = max(machine["peak"], *(line["fma_peak"] for line in sides[0]))
            peak = min(line.get("fma_peak", math.inf) for side in sides for line in side)
            if quietest is None or peak > quietest[2]:
                best = [{}, {}]
                for fastest, side in zip(best, sides):
                    for line in side:
                        known = fastest.setdefault(line["direction"], line)
                        if line[options.time] < known[options.time]:
                            fastest[line["direction"]] = line
                quietest = (*best, peak)
            if peak >= 0.92 * machine["peak"]:
                break
    return quietest


def compare(options, peer):
    sources = f"--names='{options.names}' --random={options.random} --seed={options.seed}"
    if options.shapes:
        sources += f" --shapes={options.shapes}"
    listed = subprocess.run(f"{options.binary} --list {sources}", shell=True, text=True,
                            stdout=subprocess.PIPE, check=True).stdout.splitlines()
    records, machine = [], {"cpu": cpu_name(), "time": options.time, "peak": 0}
    for shape in listed:
        rounds = [measure(shape, options, peer, machine) for _ in range(options.rounds)]
        name = shape.split()[13]
        for direction in options.directions.split(","):
            if not all(direction in ours and direction in theirs for ours, theirs, _ in rounds):
                print(f"{name} {direction}: not measured", file=sys.stderr)
                continue
            ms = [ours[direction][options.time] for ours, _, _ in rounds]
            peer_ms = [theirs[direction][options.time] for _, theirs, _ in rounds]
            line = rounds[0][0][direction]
            record = {"name": name, "direction": direction, "variant": line["variant"],
                      "ms": statistics.median(ms), "peer_ms": statistics.median(peer_ms),
                      "ratio": round(statistics.median(b / a for a, b in zip(ms, peer_ms)), 3),
                      "fma_peak": min(peak for _, _, peak in rounds)}
            record["gflops"] = round(line["gflops"] * line["ms"] / record["ms"], 1)
            records.append(record)
            print(f"{record['ratio']:6.2f}  {direction:10}  {line['variant']:9}  "
                  f"{record['ms']:9.3f} ms  {record['peer_ms']:9.3f} ms  {name}", flush=True)

    if options.out:
        with open(options.out, "w") as out:
            out.writelines(json.dumps(line) + "\n" for line in [machine] + records)
    print_table(records)


if __name__ == "__main__":
    main()
