"""Arguments of Python as the extension module takes them."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np

from . import _core


def path_bytes(path: str | bytes | os.PathLike) -> bytes:
    """The name of a file, as the system has it."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise _core.InvalidArgument(f"{path!r}: contains a zero byte")
    return name


def text_bytes(name: str, value: str) -> bytes:
    """A text, as the extension module has it."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r}: expected a text")
    return value.encode()


def pair(name: str, value: int | tuple[int, int]) -> tuple[int, int]:
    """A size in both directions, or (vertical, horizontal)."""
    both = value if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2:
        raise TypeError(f"{name}={value!r}: expected a whole number, or (vertical, horizontal)")
    return whole(name, both[0]), whole(name, both[1])


def whole(name: str, value: Any) -> int:
    """A whole number of 64 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: expected a whole number") from None
    if not -(2**63) <= number < 2**63:
        raise _core.InvalidArgument(f"{name}={value}: does not fit into 64 bits")
    return number


def array(name: str, value: Any) -> np.ndarray:
    """An array of numbers, without a copy where the object has one to share."""
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    result = np.asarray(value)
    if result.dtype.kind not in "buif":
        raise TypeError(f"{name}: is an array of {result.dtype}, not of numbers")
    return result


def check_several(x: np.ndarray, sample: tuple[int, ...], format: str) -> None:
    """Refuses one image (height, width, channels) where several are expected."""
    one_channel = (*x.shape[1:], 1) if format == "NHWC" else (1, *x.shape[1:])
    if x.ndim == 3 and x.shape == sample and one_channel != sample:
        raise _core.InvalidArgument(
            f"x: has shape {x.shape}, as one sample; expected (n, {', '.join(map(str, sample))}): "
            "x[numpy.newaxis] is one of them"
        )


def dense(values: np.ndarray, dtype: Any = None) -> np.ndarray:
    """The same values in C order and this machine's byte order: themselves where they are."""
    dtype = np.dtype(dtype or values.dtype).newbyteorder("=")
    return np.require(values, dtype, ["C", "A"])


def option_texts(options: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """The options that are set, as a command line has them."""
    texts = [(name, option_text(name, value)) for name, value in options.items()]
    return [(os.fsencode(name), os.fsencode(text)) for name, text in texts if text is not None]


def option_text(name: str, value: Any) -> str | None:
    """The value of an option as a command line has it; None: not set."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (os.PathLike, bytes)):
        return os.fsdecode(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        items = [option_text(name, item) for item in value]
        if all(item is not None for item in items):
            return ",".join(items)
    raise TypeError(f"{name}: takes a text, a number, a bool or a list of them, not {value!r}")
