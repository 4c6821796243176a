#!/usr/bin/env python3
"""Writes the commands of installed pages as they are called there: installed_commands.py CALLED PAGE...

CALLED stands before the name of a program: "dtnn " in the packages, nothing below a prefix. In the
sources Bazel starts programs, `bazel run //apps:predict --`, or they are in bazel-bin/apps; lines that
only build them go. Builds with --config and whatever is not a program stay as they are.

What a page says to readers of the sources alone is between <!-- sources --> and <!-- end -->, and goes;
<!-- installed: TEXT --> becomes TEXT. A page where these two do not alternate is an error: it would lose
text for all readers.
"""

import pathlib
import re
import sys

PROGRAM = r"(?!scale_model_check\b)([a-z_]+)(?![\w/])"
BUILT = rf"bazel-bin/apps/(?:[a-z_]+/)?{PROGRAM}"
RULES = (
    (r"(?ms)^<!-- sources -->\n.*?^<!-- end -->\n", ""),
    (r"(?s)<!-- sources -->.*?<!-- end -->", ""),
    (r"(?s)<!-- installed: (.*?) -->", r"\1"),
    (r"(?m)^(?:\./setup\.sh && )?bazel build(?: //apps:[a-z_]+)+\n", ""),
    (r"`bazel build //apps:[a-z_]+`, then ", ""),
    (r"\./setup\.sh && (?=bazel run //apps:)", ""),
    (rf"bazel run //apps:{PROGRAM}(?: --(?![a-z]))?", r"{}\1"),
    # A program that another one starts is named by its file.
    (rf"( -- (?:\\\n *)?){BUILT}", r"\1\2"),
    (BUILT, r"{}\1"),
)


def check_marks(page, text):
    """Refuses a page whose marks of text for readers of the sources do not come in pairs."""
    lines = []  # of those that are open
    for mark in re.finditer(r"<!-- (sources|end) -->", text):
        line = text.count("\n", 0, mark.start()) + 1
        if (mark[1] == "end") != bool(lines):
            sys.exit(f"{page}:{line}: {mark[0]}; expected <!-- {'end' if lines else 'sources'} --> first")
        lines = [line] if mark[1] == "sources" else []
    if lines:
        sys.exit(f"{page}:{lines[0]}: <!-- sources --> without an <!-- end --> after it")


def main():
    called, *pages = sys.argv[1:]
    for page in map(pathlib.Path, pages):
        text = page.read_text(encoding="utf-8")
        check_marks(page, text)
        for pattern, replacement in RULES:
            text = re.sub(pattern, replacement.replace("{}", called), text)
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
