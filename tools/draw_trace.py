#!/usr/bin/env python3
"""Draws some steps of a trace that `benchmark --tracer-output=trace.json` has written, as SVG.

    tools/draw_trace.py trace.json --step=2 --steps=1 > timeline.svg

A row per thread that does something in these steps, of rank 0's clock; arrows lead from the exchange
of gradients to the wait for it. For a look at everything open the trace in ui.perfetto.dev.
"""
import argparse
import json
import sys
from xml.sax.saxutils import escape

COLORS = {"forward": "#4c78a8", "backward": "#f58518", "loss": "#b279a2", "exchange": "#e45756",
          "wait for gradients": "#ff9da6", "update": "#54a24b", "wait for data": "#bab0ac",
          "read data": "#72b7b2"}
LEFT, RIGHT, ROW = 130, 840, 34


def draw(events, first, count):
    steps = {}
    for event in events:
        if event["ph"] == "X" and event["name"] == "step":
            steps.setdefault(event["pid"], []).append(event)
    chosen = [step for of_rank in steps.values() for step in of_rank[first:first + count]]
    if not chosen:
        sys.exit(f"draw_trace.py: the trace has no step {first} of training")
    begin = min(step["ts"] for step in chosen)
    end = max(step["ts"] + step["dur"] for step in chosen)
    names = {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "process_name":
            names[event["pid"], None] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
    slices = [e for e in events if e["ph"] == "X" and e.get("cat") in COLORS
              and e["ts"] < end and e["ts"] + e["dur"] > begin]
    tracks = sorted({(e["pid"], e["tid"]) for e in slices})
    row = {track: 30 + ROW * i for i, track in enumerate(tracks)}
    height = 30 + ROW * len(tracks) + 50

    def x(time):
        return LEFT + (RIGHT - LEFT) * (min(max(time, begin), end) - begin) / (end - begin)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {RIGHT + 10} {height}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{RIGHT + 10}" height="{height}" fill="#fff"/>',
           f'<text x="{LEFT}" y="18">{(end - begin) / 1000:.1f} ms</text>']
    for track in tracks:
        name = f'{names.get((track[0], None), "")}, {names.get(track, "thread")}'
        out.append(f'<text x="{LEFT - 8}" y="{row[track] + 16}" text-anchor="end">{escape(name)}</text>')
    for event in slices:
        left, right = x(event["ts"]), x(event["ts"] + event["dur"])
        out.append(f'<rect x="{left:.1f}" y="{row[event["pid"], event["tid"]]}" '
                   f'width="{max(right - left, 0.3):.1f}" height="22" fill="{COLORS[event["cat"]]}">'
                   f'<title>{escape(event["name"])}: {event["dur"] / 1000:.2f} ms</title></rect>')
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    for event in events:
        start = starts.get(event.get("id")) if event["ph"] == "f" else None
        if start and begin <= start["ts"] and event["ts"] <= end:
            y = row[event["pid"], event["tid"]] + 22
            a, b = x(start["ts"]), x(event["ts"])
            out.append(f'<path d="M{a:.1f} {y} Q{(a + b) / 2:.1f} {y + 12} {b:.1f} {y}" fill="none" '
                       'stroke="#333"/>')
    for i, (name, color) in enumerate(COLORS.items()):
        left, top = LEFT + 175 * (i % 4), height - 36 + 18 * (i // 4)
        out.append(f'<rect x="{left}" y="{top}" width="12" height="12" fill="{color}"/>'
                   f'<text x="{left + 18}" y="{top + 11}">{name}</text>')
    return "\n".join(out + ["</svg>"])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--step", type=int, default=2, help="the first one drawn, from 0 [2]")
    parser.add_argument("--steps", type=int, default=1, help="how many [1]")
    options = parser.parse_args()
    with open(options.trace, encoding="utf-8") as file:
        print(draw(json.load(file)["traceEvents"], options.step, options.steps))


if __name__ == "__main__":
    main()
