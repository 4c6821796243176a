#!/usr/bin/env python3
"""A Markdown table of bench:models and of peers/torch_gpu.py on one GPU, joined by setting.

    compare_gpu.py OURS.jsonl THEIRS.jsonl

Samples per second; the ratio is ours to the fastest of the peer's variants.
"""

import json
import sys

VARIANTS = ["eager", "graph", "compile"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def table(ours, theirs):
    peers = {}
    for line in theirs:
        key = (line["model"], line["batch"], line["math_mode"], line["phase"], line["variant"])
        peers[key] = line.get("samples_per_second") or line.get("error", "")
    heads = ["network, batch, mode", "phase", "DTNN"]
    heads += ["PyTorch " + variant for variant in VARIANTS] + ["ratio"] if theirs else []
    rows = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for line in ours:
        for phase in ["train", "infer"]:
            speed = line.get(phase) or 0
            key = (line["model"], line["batch"], line["math_mode"], phase)
            found = [peers.get((*key, variant)) for variant in VARIANTS]
            if not speed and not any(found):
                continue
            numbers = [number for number in found if isinstance(number, float)]
            cells = ["" if cell is None else f"{cell:.0f}" if isinstance(cell, float) else cell[:20] for cell in found]
            mode = line["math_mode"] + ("" if line["graphs"] else ", no graphs")
            ratio = f"{speed / max(numbers):.2f}" if numbers else ""
            row = [f"{line['model']} {line['batch']} {mode} {line['format']}", phase, f"{speed:.0f}"]
            row += [*cells, ratio] if theirs else []
            rows.append("| " + " | ".join(row) + " |")
    return rows


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ours, theirs = read(sys.argv[1]), read(sys.argv[2])
    if ours:
        first = ours[0]
        print(f"{first['card']}, driver {first['driver']}, CUDA {first['cuda']}, cuDNN {first['cudnn']}, "
              f"cuBLASLt {first['cublaslt']}" + (f"; {theirs[0]['peer']}" if theirs else ""), end="\n\n")
    print("\n".join(table(ours, theirs)))


if __name__ == "__main__":
    main()
