#!/usr/bin/env python3
"""Follows every link of the pages below a folder: usage: check_links.py FOLDER

Pages are *.md and *.md.gz, and NEWS.gz of a package. A link must name a file or folder that is there,
and a heading that the page has, as the page of a repository's host names headings. Prints each link
that does not, and how many do; exit code 1 if one does not.
"""

import gzip
import pathlib
import re
import sys
import urllib.parse


def read(page):
    data = page.read_bytes()
    return (gzip.decompress(data) if page.suffix == ".gz" else data).decode()


def without_code(text):
    """The text, with letters in the place of blocks of code and of `code`."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "code", text)


def headings(text):
    """The names by which links call its headings."""
    names = {}
    for title in re.findall(
        r"^#+ +(.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    ):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip())
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = names[name] = names.get(name, -1) + 1
        if count:
            names[f"{name}-{count}"] = 0
    return names.keys()


def wrong(page, to):
    """What is wrong with a link of the page, or None."""
    if re.match(r"https?://", to):
        return None
    path, _, anchor = urllib.parse.unquote(to).partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return "no such file"
    if not anchor:
        return None
    return None if target.is_file() and anchor in headings(read(target)) else "no such heading"


def main():
    pages = sorted(
        page
        for pattern in ("*.md", "*.md.gz", "NEWS.gz")
        for page in pathlib.Path(sys.argv[1]).rglob(pattern)
    )
    links = dead = 0
    for page in pages:
        text = without_code(read(page))
        for to in re.findall(r"\]\(([^()]*)\)", text) + re.findall(r"^\[[^\]]+\]: *(\S+)", text, re.M):
            links += 1
            reason = wrong(page, to)
            if reason:
                dead += 1
                print(f"{page}: {to}: {reason}")
    print(f"{len(pages)} pages, {links} links, {dead} of them dead")
    return 1 if dead or not links else 0


if __name__ == "__main__":
    sys.exit(main())
