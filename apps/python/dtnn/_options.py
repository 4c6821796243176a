"""Options that functions take as **options, in their documentation and their types.

A row of a table of options: name, kind, words, default, group and help.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "text": "str",
    "path": "str | os.PathLike",
    "metric": "str",
    "ints": "int | Sequence[int]",
    "shape": "Sequence[int]",
    "floats": "float | Sequence[float]",
}


def option_type(kind: str, words: Sequence[str]) -> str:
    """The type of an option's value, as annotations have it."""
    literal = f"Literal[{', '.join(repr(word) for word in words)}]" if words else "str"
    if kind == "word":
        return f"bool | {literal}" if words[:2] == ["False", "True"] else literal
    return f"{literal} | Sequence[{literal}]" if kind == "words" else _TYPES[kind]


def option_lines(rows: Sequence[tuple]) -> str:
    """What each option is, under the titles of their groups."""
    text, group = "", ""
    for name, kind, words, default, title, help_text in rows:
        if title != group:
            group = title
            text += f"\n\n{title}:"
        text += f"\n  {name}: {option_type(kind, words)} = {default}\n      {help_text}"
    return text


def takes_options(function: Callable[..., Any], rows: Sequence[tuple], *but: str) -> None:
    """Notes for with_options() that a function takes these as **options."""
    function.options = [row for row in rows if row[0] not in but]


def with_options(function: Callable[..., Any]) -> inspect.Signature:
    """With an argument for each option in place of **options: what the stub has, for editors.

    The functions themselves keep **options: help() would show them as a line of 20,000 letters."""
    signature = inspect.signature(function)
    rows = getattr(function, "options", None)
    if rows is None:
        return signature
    parameters = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
    for name, kind, words, *_ in rows:
        annotation = f"{option_type(kind, words)} | None"
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
        )
    return signature.replace(parameters=parameters)
