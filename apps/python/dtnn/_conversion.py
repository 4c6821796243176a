"""Files of models made of others: what the programs import, export and quantize do."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._arguments import option_texts, path_bytes, text_bytes
from ._data import Dataset
from ._options import option_lines, takes_options, with_options


def _with_options_of(program: str, *but: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Adds to a function's documentation the options of a program that it takes."""

    def add(function: Callable[..., str]) -> Callable[..., str]:
        takes_options(function, _core.options_of(program), *but)
        text = inspect.cleandoc(function.__doc__ or "")
        function.__doc__ = text + option_lines(function.options) + "\n"
        return function

    return add


def _texts(function: Callable[..., str], options: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """The options that are set, as a command line has them, unless a function takes others."""
    _core.check_keywords(list(options), list(with_options(function).parameters))
    return option_texts(options)


@_with_options_of("import", "class_names", "model", "weights_partial")
def import_onnx(
    path: str | os.PathLike,
    out: str | os.PathLike,
    *,
    class_names: str | os.PathLike | Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Makes a model's file (.safetensors, .npz) of an ONNX file, such as PyTorch exports, and
    returns what the program import says of it.

    class_names: names in the order of the outputs, or a file of a name per line.
    """
    return _import(path, out, class_names, _texts(import_onnx, options), False)


@_with_options_of("import", "class_names", "model", "output")
def import_weights(
    path: str | os.PathLike,
    model: str | os.PathLike,
    out: str | os.PathLike,
    *,
    class_names: str | os.PathLike | Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Makes a model's file of weights of PyTorch (.pth, .pt, .safetensors), and returns what the
    program import says of it.

    model: their network: a name, such as "torchvision_resnet18", or the file of a model that has
    it. class_names: names in the order of the outputs, or a file of a name per line.
    """
    texts = [(b"model", path_bytes(model)), *_texts(import_weights, options)]
    return _import(path, out, class_names, texts, True)


def _import(
    path: Any, out: Any, class_names: Any, options: list[tuple[bytes, bytes]], weights: bool
) -> str:
    names = []
    if isinstance(class_names, (str, bytes, os.PathLike)):
        options.append((b"class_names", path_bytes(class_names)))
    elif class_names is not None:
        names = [text_bytes("class_names", name) for name in class_names]
        if not names:
            raise _core.InvalidArgument("class_names: is empty; expected a name for each output")
    return _core.import_model(path_bytes(path), path_bytes(out), options, names, weights)


@_with_options_of("export")
def export_onnx(model: str | os.PathLike, out: str | os.PathLike, **options: Any) -> str:
    """Writes the model in a file as ONNX, and returns what the program export says of it.

    model: a file that training saved, or the name of a network, which has its initial weights.
    """
    return _core.export_onnx(path_bytes(model), path_bytes(out), _texts(export_onnx, options))


@_with_options_of("quantize", "calibrate")
def quantize(
    model: str | os.PathLike,
    out: str | os.PathLike,
    calibrate: Dataset | str | os.PathLike,
    **options: Any,
) -> str:
    """Prepares the model in a file for inference in 8 bits, dtnn.load(out, math_mode="int8"), and
    returns what the program quantize says: each layer's error, accuracy and speed of both.

    calibrate: samples to find ranges of values with, as training showed them: dtnn.Arrays(x, y),
    whose training samples are taken and whose test samples are measured on; the name of a data set,
    with dataset_path; or a folder of images.
    """
    arrays = isinstance(calibrate, Dataset)
    texts = _texts(quantize, options)
    if not arrays:
        texts.append((b"calibrate", path_bytes(calibrate)))
    return _core.quantize(
        path_bytes(model),
        path_bytes(out),
        texts,
        calibrate._core if arrays else None,
    )
