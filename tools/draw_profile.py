#!/usr/bin/env python3
"""Draws the layers of a profile of `benchmark --profile=profile.json` under their roofs, as SVG.

    tools/draw_profile.py profile.json > profile.svg

A dot per layer whose area is its share of the time: operations per second against operations per byte.
The roofs are what was measured of the machine: its peak, and its copy bandwidth.
"""
import argparse
import json
import math

from svg import Picture, color, number, run_main

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 850, 480, 60, 830, 30, 400
LABELS = 6


def draw(profile):
    flops, copies = profile["peak_flops_per_second"], profile["copy_bytes_per_second"]
    layers = [layer for layer in profile["layers"]
              if layer["flops_per_second"] and layer["bytes_per_second"]]
    others = [layer for layer in profile["layers"] if layer not in layers]
    if not layers:
        raise SystemExit("draw_profile.py: no layer of this profile has operations")
    points = [(layer["flops_per_second"] / layer["bytes_per_second"], layer["flops_per_second"])
              for layer in layers]
    ridge = flops / copies
    x_low, x_high = min(*(p[0] for p in points), ridge) / 6, max(*(p[0] for p in points), ridge) * 4
    y_low, y_high = min(*(p[1] for p in points), flops) / 2, max(*(p[1] for p in points), flops) * 2

    def x(intensity):
        return LEFT + (RIGHT - LEFT) * math.log(intensity / x_low) / math.log(x_high / x_low)

    def y(speed):
        return BOTTOM - (BOTTOM - TOP) * math.log(speed / y_low) / math.log(y_high / y_low)

    slowest = sorted(layers, key=lambda layer: -layer["share"])[:LABELS]
    picture = Picture(WIDTH, HEIGHT, "Layers under the roofs of the machine",
                      f"Peak {number(flops / 1e9)} GFLOP/s, copies {number(copies / 1e9)} GB/s. "
                      "Slowest: " + "; ".join(
                          f'{layer["name"]} {100 * layer["share"]:.1f} % of the time, '
                          f'{number(layer["flops_per_second"] / 1e9)} GFLOP/s' for layer in slowest))
    for name, low, high in (("x", x_low, x_high), ("y", y_low / 1e9, y_high / 1e9)):
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
            for factor in (1, 2, 5):
                value = factor * 10.0 ** power
                if not low < value < high:
                    continue
                if name == "x":
                    picture.path(f"M{x(value):.1f} {TOP} V{BOTTOM}", "var(--grid)")
                    picture.text(x(value), BOTTOM + 16, number(value), "middle", "faint")
                else:
                    picture.path(f"M{LEFT} {y(value * 1e9):.1f} H{RIGHT}", "var(--grid)")
                    picture.text(LEFT - 6, y(value * 1e9) + 4, number(value), "end", "faint")
    picture.text(LEFT - 6, 16, "GFLOP/s", "middle", "faint")
    picture.text(RIGHT, BOTTOM + 34, "operations per byte that must be moved", "end", "faint")
    foot = max(x_low, y_low / copies)
    picture.path(f"M{x(foot):.1f} {y(foot * copies):.1f} L{x(ridge):.1f} {y(flops):.1f} H{RIGHT}",
                 "var(--text)", 2)
    picture.text(RIGHT, y(flops) - 6, f"peak {number(flops / 1e9)} GFLOP/s", "end")
    middle = math.sqrt(foot * ridge)
    picture.text(x(middle) - 8, y(middle * copies) - 6, f"copies {number(copies / 1e9)} GB/s", "end")

    kinds = sorted({layer["type"] for layer in layers})
    places = {id(layer): (x(point[0]), y(point[1]), 2 + 30 * math.sqrt(layer["share"]))
              for layer, point in zip(layers, points)}
    for layer in sorted(layers, key=lambda layer: -layer["share"]):
        picture.dot(*places[id(layer)], color(kinds.index(layer["type"])),
                    f'{layer["name"]}: {number(layer["flops_per_second"] / 1e9)} GFLOP/s, '
                    f'{number(layer["bytes_per_second"] / 1e9)} GB/s, '
                    f'{100 * layer["share"]:.1f} % of the time')
    # Labels in a column at the right, in the order of their dots, so that none covers another.
    column = min(max(at_x + radius for at_x, _, radius in places.values()) + 30, RIGHT - 130)
    slowest.sort(key=lambda layer: places[id(layer)][1])
    last = 0
    for layer in slowest:
        at_x, at_y, radius = places[id(layer)]
        last = max(last + 16, at_y, y(flops) + 22)
        picture.path(f"M{at_x:.1f} {at_y:.1f} L{column:.1f} {last:.1f}")
        picture.text(column + 4, last + 4, f'{layer["name"]}, {100 * layer["share"]:.1f} %')
    picture.legend(LEFT, BOTTOM + 24, [(kind, color(i)) for i, kind in enumerate(kinds)], 3, 120)
    share = 100 * sum(layer["share"] for layer in others)
    picture.text(LEFT, HEIGHT - 12, f"Not drawn: {len(others)} layers of which no operations are "
                 f"counted, {share:.0f} % of the time.", kind="faint")
    return picture.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile")
    with open(parser.parse_args().profile, encoding="utf-8") as file:
        print(draw(json.load(file)))


if __name__ == "__main__":
    run_main(main)
