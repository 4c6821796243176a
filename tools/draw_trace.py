#!/usr/bin/env python3
"""Draws some steps of a trace that `benchmark --tracer-output=trace.json` (or .prv) has written, as SVG.

    tools/draw_trace.py trace.json --step=2 --steps=1 > timeline.svg

A row per thread that does something in these steps, of rank 0's clock. Of a .json arrows lead from an
exchange of gradients to the wait for it; of a .prv, whose .pcf must lie beside it, a row shows states,
and lines are its communications. For a look at everything open the trace in ui.perfetto.dev or Paraver.
"""
import argparse
import json
import sys

from svg import Picture, color, run_main

LEFT, RIGHT, ROW, BAR = 130, 840, 40, 22
KINDS = ["forward", "backward", "loss", "exchange", "wait for gradients", "update", "wait for data",
         "read data"]
COLORS = [0, 1, 3, 4, 6, 2, 5, 7]
STATE_COLORS = [5, 0, 4, 7, 6, 2, 1]  # in the order of the .pcf
STEP_TYPE = 60000004  # of Paraver's events, models/observe/trace/paraver.cc


class Trace:
    """Times are milliseconds; a track is a pair of numbers, rank and thread."""

    def __init__(self):
        self.names = {}   # by track
        self.kinds = []   # name, colour
        self.slices = []  # track, begin, end, index of its kind, text
        self.arrows = []  # track, time, track, time
        self.steps = {}   # by rank: begin, end


def read_chrome(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    trace = Trace()
    trace.kinds = [(name, color(number)) for name, number in zip(KINDS, COLORS)]
    names, starts = {}, {event["id"]: event for event in events if event["ph"] == "s"}
    for event in events:
        track = event["pid"], event.get("tid")
        if event["ph"] == "M" and event["name"] in ("process_name", "thread_name"):
            names[track if event["name"] == "thread_name" else event["pid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            begin, end = event["ts"] / 1000, (event["ts"] + event["dur"]) / 1000
            if event["name"] == "step":
                trace.steps.setdefault(event["pid"], []).append((begin, end))
            if event.get("cat") in KINDS:
                trace.slices.append((track, begin, end, KINDS.index(event["cat"]), event["name"]))
        elif event["ph"] == "f" and event["id"] in starts:
            start = starts[event["id"]]
            trace.arrows.append(((start["pid"], start["tid"]), start["ts"] / 1000,
                                 track, event["ts"] / 1000))
    for track in {row[0] for row in trace.slices}:
        trace.names[track] = f'{names.get(track[0], "")}, {names.get(track, "thread")}'
    return trace


def read_paraver(path):
    trace, states = Trace(), {}
    with open(path[:-len(".prv")] + ".pcf", encoding="utf-8") as file:
        lines = iter(file.read().splitlines())
    for line in lines:
        if line == "STATES":
            for line in iter(lambda: next(lines).strip(), ""):
                value, name = line.split(None, 1)
                states[int(value)] = len(trace.kinds)
                trace.kinds.append((name, color(STATE_COLORS[len(trace.kinds) % len(STATE_COLORS)])))
    begun = {}
    with open(path, encoding="utf-8") as file:
        next(file)
        for line in file:
            record, _, _, task, thread, *rest = (int(value) for value in line.split(":"))
            track = task, thread
            trace.names[track] = f"rank {task - 1}, thread {thread}"
            if record == 1:
                begin, end, state = rest
                kind = states[state]
                trace.slices.append((track, begin / 1e6, end / 1e6, kind, trace.kinds[kind][0]))
            elif record == 2:
                for event, value in zip(rest[1::2], rest[2::2]):
                    if event == STEP_TYPE and value:
                        begun[task] = rest[0] / 1e6
                    elif event == STEP_TYPE and task in begun:
                        trace.steps.setdefault(task, []).append((begun.pop(task), rest[0] / 1e6))
            elif record == 3:
                send, _, _, _, to_task, to_thread, receive = rest[:7]
                trace.arrows.append((track, send / 1e6, (to_task, to_thread), receive / 1e6))
    return trace


def describe(trace, track, slices, begin, end):
    times = {}
    for of, left, right, kind, _ in slices:
        if of == track:
            times[kind] = times.get(kind, 0) + min(right, end) - max(left, begin)
    return f"{trace.names[track]}: " + ", ".join(
        f"{trace.kinds[kind][0]} {time:.1f} ms" for kind, time in sorted(times.items()))


def draw(trace, first, count):
    chosen = [step for of_rank in trace.steps.values() for step in of_rank[first:first + count]]
    if not chosen:
        sys.exit(f"draw_trace.py: the trace has no step {first} of training")
    begin, end = min(step[0] for step in chosen), max(step[1] for step in chosen)
    slices = [row for row in trace.slices if row[1] < end and row[2] > begin]
    tracks = sorted({row[0] for row in slices})
    top = {track: 30 + ROW * i for i, track in enumerate(tracks)}
    used = sorted({row[3] for row in slices})
    height = 30 + ROW * len(tracks) + 18 * -(-len(used) // 4) + 8
    picture = Picture(RIGHT + 10, height, f"Timeline of {count} step(s), {end - begin:.1f} ms",
                      "; ".join(describe(trace, track, slices, begin, end) for track in tracks))

    def x(time):
        return LEFT + (RIGHT - LEFT) * (min(max(time, begin), end) - begin) / (end - begin)

    picture.text(LEFT, 18, f"{end - begin:.1f} ms")
    for track in tracks:
        picture.text(LEFT - 8, top[track] + 16, trace.names[track], "end")
    for track, left, right, kind, text in slices:
        picture.rect(x(left), top[track], max(x(right) - x(left), 0.3), BAR, trace.kinds[kind][1],
                     f"{text}: {right - left:.2f} ms")
    for start, sent, stop, received in trace.arrows:
        if sent < begin or received > end or start not in top or stop not in top:
            continue
        a, b = x(sent), x(received)
        if start == stop:
            y = top[start] + BAR
            picture.path(f"M{a:.1f} {y} Q{(a + b) / 2:.1f} {y + 12} {b:.1f} {y}", "var(--text)")
        else:
            down = top[start] < top[stop]
            picture.path(f"M{a:.1f} {top[start] + BAR * down} L{b:.1f} {top[stop] + BAR * (not down)}",
                         "var(--text)", 1.5)
    picture.legend(LEFT, 30 + ROW * len(tracks), [trace.kinds[kind] for kind in used], 4, 178)
    return picture.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--step", type=int, default=2, help="the first one drawn, from 0 [2]")
    parser.add_argument("--steps", type=int, default=1, help="how many [1]")
    options = parser.parse_args()
    read = read_paraver if options.trace.endswith(".prv") else read_chrome
    print(draw(read(options.trace), options.step, options.steps))


if __name__ == "__main__":
    run_main(main)
