#!/usr/bin/env python3
"""The commands of an installed page, as they are called where it is: usage: installed_commands.py CALLED <page

CALLED stands before the name of a program: "dtnn " in the packages, nothing below a prefix. In the
sources Bazel starts programs, `bazel run //apps:predict --`, or they are in bazel-bin/apps; lines that
only build them go. Builds with --config and whatever is not a program stay as they are.
"""

import re
import sys

PROGRAM = r"(?!scale_model_check\b)([a-z_]+)(?![\w/])"
BUILT = rf"bazel-bin/apps/(?:[a-z_]+/)?{PROGRAM}"
RULES = (
    (r"(?m)^(?:\./setup\.sh && )?bazel build(?: //apps:[a-z_]+)+\n", ""),
    (r"`bazel build //apps:[a-z_]+`, then ", ""),
    (r"\./setup\.sh && (?=bazel run //apps:)", ""),
    (rf"bazel run //apps:{PROGRAM}(?: --(?![a-z]))?", r"{}\1"),
    # A program that another one starts is named by its file.
    (rf"( -- (?:\\\n *)?){BUILT}", r"\1\2"),
    (BUILT, r"{}\1"),
)


def main():
    page = sys.stdin.read()
    for pattern, replacement in RULES:
        page = re.sub(pattern, replacement.replace("{}", sys.argv[1]), page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
