#!/usr/bin/env python3
"""Draws power over time as SVG: the samples that a run with a power meter writes (*.watts).

    tools/draw_power.py trace.csv.watts --title='Power of the rack' > power.svg
"""
import argparse
import csv

from svg import Picture, color, number, run_main, ticks

LEFT, RIGHT, TOP, BOTTOM = 50, 830, 46, 260


def draw(rows, title):
    points = [(float(row["Time"]), float(row["Watts"])) for row in rows]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        raise SystemExit("draw_power.py: this file has fewer than two samples")
    seconds, most = points[-1][0], max(point[1] for point in points) * 1.05
    pairs = list(zip(points, points[1:]))
    joules = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairs)
    picture = Picture(850, 300, title,
                      f"{len(points)} samples in {seconds:.1f} s, on average {joules / seconds:.0f} W, from "
                      f"{min(p[1] for p in points):.1f} to {max(p[1] for p in points):.1f} W")

    def x(time):
        return LEFT + (RIGHT - LEFT) * time / seconds

    def y(watts):
        return BOTTOM - (BOTTOM - TOP) * watts / most

    for tick in ticks(most):
        picture.path(f"M{LEFT} {y(tick):.1f} H{RIGHT}", "var(--grid)")
        picture.text(LEFT - 6, y(tick) + 4, number(tick), "end", "faint")
    for tick in ticks(seconds, 8):
        picture.text(x(tick), BOTTOM + 16, number(tick), "middle", "faint")
    picture.text(LEFT - 6, TOP - 12, "W", "end", "faint")
    picture.text(RIGHT, BOTTOM + 32, "seconds", "end", "faint")
    picture.text(LEFT, 18, f"{title}, {joules / seconds:.0f} W on average")
    line = "M" + " L".join(f"{x(time):.1f} {y(watts):.1f}" for time, watts in points)
    picture.path(f"{line} V{BOTTOM} H{LEFT} Z", "none", more=f' style="fill:{color(0)};fill-opacity:.15"')
    picture.path(line, color(0), 1.5, ' stroke-linejoin="round"')
    return picture.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("watts")
    parser.add_argument("--title", default="Power")
    options = parser.parse_args()
    with open(options.watts, encoding="utf-8", newline="") as file:
        print(draw(csv.DictReader(file, delimiter=";"), options.title))


if __name__ == "__main__":
    run_main(main)
