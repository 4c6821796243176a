#!/usr/bin/env python3
"""Measures DTNN against another framework on the same machine, in turns.

    bazel build //bench:models
    bench/compare.py --peer 'python torch_bench.py --threads 2 --models {peer_model} --seconds 2' \\
                     --peer 'python torch_bench.py --threads 2 --models {peer_model} --seconds 2 --channels-last' \\
                     --models simplecnn8=simplecnn,vgg16_cifar10 --pairs 5 --out bench/results/NAME.jsonl

Machines drift: one round runs ours, then every peer command, within the same minute; rounds during
which the measured FMA peak falls below 92 % of the best seen are dropped; the result is the median
of the rounds' ratios, ours over the better peer command. A peer command prints a JSON object per
model with the keys `peer`, `train` and `infer` (samples/s). Memory is the largest resident size of
the process, ours while training, the peer's from its beginning to its end: libraries count.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def last_json(text):
    for line in reversed(text.strip().splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    sys.exit("no JSON in the output of a command:\n" + text)


def run_ours(binary, model, batch, seconds):
    with tempfile.NamedTemporaryFile("r", suffix=".jsonl") as file:
        subprocess.run([binary, f"--models={model}", f"--batch={batch}", f"--seconds={seconds}",
                        f"--json={file.name}"], check=True, stdout=subprocess.DEVNULL)
        return last_json(file.read())


def run_peer(command, peer_model):
    with subprocess.Popen(command.format(peer_model=peer_model), shell=True, text=True,
                          stdout=subprocess.PIPE) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # the shell's, and those it waited for
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command}: exit status {process.returncode}")
    return last_json(output) | {"memory_peak_bytes": usage.ru_maxrss * 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/bench/models")
    parser.add_argument("--models", required=True, help="ours[=peer's name], by comma")
    parser.add_argument("--peer", action="append", required=True, help="may be repeated")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--out", required=True, help="JSON lines, appended")
    options = parser.parse_args()

    for names in options.models.split(","):
        model, _, peer_model = names.partition("=")
        rounds = []
        for _ in range(options.pairs):
            ours = run_ours(options.binary, model, options.batch, options.seconds)
            peers = [run_peer(command, peer_model or model) for command in options.peer]
            best = {phase: max(peer[phase] for peer in peers) for phase in ("train", "infer")}
            rounds.append({"ours": ours, "peers": peers,
                           "ratio": {phase: ours[phase] / best[phase] for phase in best}
                           | {"memory": ours["memory_peak_bytes"]
                              / min(peer["memory_peak_bytes"] for peer in peers)}})
        peak = max(r["ours"]["peak_gflops_before"] for r in rounds)
        kept = [r for r in rounds if min(r["ours"]["peak_gflops_before"],
                                         r["ours"]["peak_gflops_after"]) >= 0.92 * peak] or rounds
        result = {"model": model, "batch": options.batch, "cpus": os.cpu_count(),
                  "rounds": len(rounds), "kept": len(kept),
                  "train_ratio": statistics.median(r["ratio"]["train"] for r in kept),
                  "infer_ratio": statistics.median(r["ratio"]["infer"] for r in kept),
                  "memory_ratio": statistics.median(r["ratio"]["memory"] for r in kept),
                  "raw": rounds}
        with open(options.out, "a") as out:
            out.write(json.dumps(result) + "\n")
        print(f"{model}: train {result['train_ratio']:.2f}x, infer {result['infer_ratio']:.2f}x, "
              f"memory {result['memory_ratio']:.2f}x "
              f"of {rounds[0]['peers'][0]['peer']} ({len(kept)} of {len(rounds)} rounds)", flush=True)


if __name__ == "__main__":
    main()
