#!/usr/bin/env python3
"""Draws what a program shows on a terminal, as SVG.

    tools/draw_terminal.py --until='Epoch 2/3:  5' --rows=8 -- benchmark --model=simplecnn ... > terminal.svg

Runs the command in a terminal of its own until it ends, or until its last line begins with --until; then
it is ended and the last rows are drawn. Knows what progress bars need: return, new line, erase to the
end of the line.
"""
import argparse
import codecs
import fcntl
import os
import pty
import signal
import struct
import sys
import termios

from svg import Picture

CELL, ROW, EDGE = 7.3, 18, 12


class Screen:
    def __init__(self, columns):
        self.lines, self.at, self.columns, self.escape = [""], 0, columns, ""

    def write(self, character):
        if self.escape or character == "\x1b":
            self.escape += character
            if len(self.escape) > 2 and character.isalpha():
                if self.escape == "\x1b[K":
                    self.lines[-1] = self.lines[-1][:self.at]
                self.escape = ""
        elif character == "\r":
            self.at = 0
        elif character == "\n":
            self.lines.append("")
            self.at = 0
        elif self.at < self.columns:
            line = self.lines[-1].ljust(self.at)
            self.lines[-1] = line[:self.at] + character + line[self.at + 1:]
            self.at += 1


def run(command, columns, until):
    screen, decoder = Screen(columns), codecs.getincrementaldecoder("utf-8")("replace")
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", flush=True)
        os._exit(127)
    shown = piece = None
    while piece != b"" and not shown:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # as Linux says that the program has closed its terminal
            piece = b""
        for character in decoder.decode(piece):
            screen.write(character)
            whole = character == "]" and until and screen.lines[-1].startswith(until)
            if whole:
                shown = screen.lines[-1]
                break
    os.close(terminal)
    if shown:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        screen.lines[-1] = screen.lines[-1][:screen.at]  # what a longer line left there
        return screen.lines
    failed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    if failed or until:
        sys.exit("draw_terminal.py: the command " + ("failed" if failed else f"never showed {until!r}")
                 + ":\n" + "\n".join(screen.lines[-5:]))
    return screen.lines


def draw(lines, columns):
    width, height = round(CELL * columns + 2 * EDGE), ROW * len(lines) + 2 * EDGE
    picture = Picture(width, height, "A terminal", "\n".join(lines))
    picture.rect(0.5, 0.5, width - 1, height - 1, "none", more=' rx="6" stroke="var(--grid)"')
    for i, line in enumerate(lines):
        if line:
            picture.text(EDGE, EDGE + ROW * i + 13, line, kind="mono", length=CELL * len(line))
    return picture.svg()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=110, help="of the terminal [110]")
    parser.add_argument("--rows", type=int, default=20, help="how many of the last are drawn [20]")
    parser.add_argument("--until", default="", help="draw when the last line begins so and has its ']'")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    lines = run(options.command, options.columns, options.until)
    while lines and not lines[-1]:
        lines.pop()
    print(draw(lines[-options.rows:], options.columns))


if __name__ == "__main__":
    main()
