#!/usr/bin/env python3
"""Draws each layer's time by event, of a trace of `benchmark --tracer-output=trace.csv`, as SVG.

    tools/draw_simple_trace.py trace.csv > simple-trace.svg
"""
import argparse
import csv

from svg import Picture, color, number, run_main, ticks

KINDS = ["forward", "backward", "allreduce_dw", "wait_dw", "update_dw"]
LEFT, RIGHT, ROW = 190, 780, 22


def draw(rows):
    layers = {}
    for row in rows:
        if row["Event type"] == "Model":
            kind = next(kind for kind in KINDS if row["Event name"].endswith("_" + kind))
            layer = row["Event name"][:-len(kind) - 1]
            layers.setdefault(layer, {})[kind] = float(row["Total time"])
    if not layers:
        raise SystemExit("draw_simple_trace.py: no events of type Model in this file")
    most = max(sum(times.values()) for times in layers.values())
    used = [kind for kind in KINDS if any(kind in times for times in layers.values())]
    bottom = 28 + ROW * len(layers)
    picture = Picture(850, bottom + 54, "Time by layer and event, in seconds", "; ".join(
        f"{layer}: " + ", ".join(f"{kind} {time:.3g}" for kind, time in times.items())
        for layer, times in layers.items()))
    picture.text(LEFT, 16, "seconds of the whole run", kind="faint")

    def x(seconds):
        return LEFT + (RIGHT - LEFT) * seconds / most

    for tick in ticks(most):
        picture.path(f"M{x(tick):.1f} 24 V{bottom}", "var(--grid)")
        picture.text(x(tick), bottom + 15, number(tick), "middle", "faint")
    for i, (layer, times) in enumerate(layers.items()):
        top, at = 28 + ROW * i, 0
        picture.text(LEFT - 8, top + 12, layer, "end")
        for kind in used:
            if kind in times:
                picture.rect(x(at), top, x(times[kind]) - LEFT, ROW - 6, color(KINDS.index(kind)),
                             f"{layer} {kind}: {times[kind]:.3g} s")
                at += times[kind]
        picture.text(x(at) + 5, top + 12, number(at))
    picture.legend(LEFT, bottom + 28, [(kind, color(KINDS.index(kind))) for kind in used], 5, 120)
    return picture.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    with open(parser.parse_args().trace, encoding="utf-8", newline="") as file:
        print(draw(csv.DictReader(file, delimiter=";")))


if __name__ == "__main__":
    run_main(main)
