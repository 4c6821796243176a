"""Prints dtnn/__init__.pyi: the package with the type of every argument, for editors and checkers.

    bazel run //apps/python:make_stub > apps/python/dtnn/__init__.pyi
"""

import inspect
import textwrap

import dtnn
from dtnn._options import with_options

HEAD = '''# Made by make_stub.py from the package and the table of options: change those.

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

__version__: str
'''


def docstring(thing):
    text = inspect.getdoc(thing) or ""
    lines = ['"""' + text.replace("\\", "\\\\").rstrip()]
    lines[0] += "\n" + '"""' if "\n" in text else '"""'
    return textwrap.indent(lines[0], "    ") + "\n"


def argument(parameter):
    text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
    if parameter.annotation is not parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is not parameter.empty:
        spaced = " = " if parameter.annotation is not parameter.empty else "="
        text += f"{spaced}{parameter.default!r}"
    return text


def function(name, value):
    signature = with_options(value)
    arguments, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind == parameter.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        arguments.append(argument(parameter))
    result = signature.return_annotation
    result = "Any" if result is signature.empty else result
    line = f"def {name}({', '.join(arguments)}) -> {result}:\n"
    if len(line) > 100:
        line = f"def {name}(\n" + "".join(f"    {each},\n" for each in arguments) + f") -> {result}:\n"
    return line + (docstring(value) if value.__doc__ else "") + "    ...\n"


def members(cls):
    for name, value in vars(cls).items():
        if isinstance(value, property):
            yield "@property\n" + function(name, value.fget)
            if value.fset is not None:
                yield f"@{name}.setter\n" + function(name, value.fset)
        elif isinstance(value, classmethod):
            yield "@classmethod\n" + function(name, value.__func__)
        elif inspect.isfunction(value) and (not name.startswith("_") or name == "__init__"):
            yield function(name, value)


def class_text(name, cls):
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    text = f"class {name}({bases}):\n" if bases else f"class {name}:\n"
    text += docstring(cls)
    for member in members(cls):
        text += "\n" + textwrap.indent(member, "    ")
    return text if text.count("\n\n") else text + "    ...\n"


def main():
    print(HEAD, end="")
    names = [name for name in dtnn.__all__ if inspect.isclass(getattr(dtnn, name))]
    # Bases first.
    names.sort(key=lambda name: (len(getattr(dtnn, name).__mro__), name))
    for name in names:
        print("\n\n" + class_text(name, getattr(dtnn, name)), end="")
    for name in dtnn.__all__:
        value = getattr(dtnn, name)
        if inspect.isfunction(value):
            print("\n\n" + function(name, value), end="")
        elif not inspect.isclass(value):  # of the extension: a list of names
            print(f"\n\ndef {name}() -> list[str]:\n" + docstring(value) + "    ...\n", end="")


if __name__ == "__main__":
    main()
