#!/usr/bin/env python3
"""A page of the sources as it is installed: links to installed files stay, others become words.

usage: installed_page.py PAGE FILES <page >installed

PAGE: its path in the sources. FILES: a line for each installed file, its path in the sources, a tab,
and its path below the prefix. Links to folders of FILES stay too. A link to anything else is its text
and, where the text does not say it, the path: [layers](../layers/README.md) is `layers`. Links to
other hosts, and what blocks of code and `code` contain, are not changed.
"""

import os
import re
import sys

LINK_OR_CODE = re.compile(
    r"!?\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<to>[^()\s]+)\)|`[^`]*`", re.DOTALL
)


class Pages:
    def __init__(self, page, files):
        self.page = page
        self.files = files

    def installed(self, source):
        """Where a file or a folder of the sources is below the prefix, or None."""
        if source in self.files:
            return self.files[source]
        for file, to in self.files.items():
            rest = file[len(source) :]
            if file.startswith(source + "/") and to.endswith(rest):
                return to[: -len(rest)]
        return None

    def link(self, match):
        text, to = match["text"], match["to"]
        if to is None or re.match(r"[a-z]+:", to) or to.startswith("#"):
            return match[0]
        path, hash_sign, anchor = to.partition("#")
        source = os.path.normpath(os.path.join(os.path.dirname(self.page), path))
        target = self.installed(source)
        if target is not None:
            here = os.path.dirname(self.files[self.page])
            whole = match[0][: match.start("to") - match.start()]
            return f"{whole}{os.path.relpath(target, here)}{hash_sign}{anchor})"
        if "`" in text:
            return text
        folder = source.removesuffix("/README.md")
        says_it = f"/{text}/" in f"/{folder}/"
        return f"`{text}`" if says_it else f"{text} (`{folder}`)"

    def text(self, page):
        """The page, outside of its blocks of code."""
        parts = re.split(r"(^```.*?^```$)", page, flags=re.DOTALL | re.MULTILINE)
        parts[::2] = [LINK_OR_CODE.sub(self.link, part) for part in parts[::2]]
        return "".join(parts)


def main():
    page, list_of_files = sys.argv[1:]
    with open(list_of_files, encoding="utf-8") as lines:
        files = dict(line.rstrip("\n").split("\t") for line in lines)
    sys.stdout.write(Pages(page, files).text(sys.stdin.read()))


if __name__ == "__main__":
    main()
