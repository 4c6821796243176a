"""Files of models made of others: what the programs import, export and quantize do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _core
from ._arguments import option_texts, path_bytes, text_bytes
from ._data import Dataset


def import_onnx(
    path: str | os.PathLike,
    out: str | os.PathLike,
    *,
    final_activation: Literal["none", "softmax", "sigmoid"] = "none",
    class_names: str | os.PathLike | Sequence[str] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    square: bool = False,
    crop: float = 0,
    input_shape: tuple[int, int, int] | None = None,
    output: str | None = None,
    tensor_format: Literal["NHWC", "NCHW"] = "NHWC",
) -> str:
    """Makes a model's file (.safetensors, .npz) of an ONNX file, such as PyTorch exports, and
    returns what the program import says of it.

    final_activation: what is added after the last layer; networks of PyTorch end in logits.
    class_names: names in the order of the outputs, or a file of a name per line.
    mean, std: of byte / 255, one number or one per channel, as in training.
    square, crop: the square in the middle of an image, and the fraction of each side, that training
    showed. input_shape: (channels, height, width), for a file that does not tell it. output: the
    name of one, of a file with several.
    """
    options = {
        "final_activation": final_activation,
        "mean": mean,
        "std": std,
        "square": square,
        "crop": crop,
        "input_shape": input_shape,
        "output": output,
        "tensor_format": tensor_format,
    }
    return _import(path, out, class_names, options, False)


def import_weights(
    path: str | os.PathLike,
    model: str | os.PathLike,
    out: str | os.PathLike,
    *,
    weights_partial: bool = False,
    final_activation: Literal["none", "softmax", "sigmoid"] = "none",
    class_names: str | os.PathLike | Sequence[str] | None = None,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    square: bool = False,
    crop: float = 0,
    input_shape: tuple[int, int, int] | None = None,
    tensor_format: Literal["NHWC", "NCHW"] = "NHWC",
) -> str:
    """Makes a model's file of weights of PyTorch (.pth, .pt, .safetensors), and returns what the
    program import says of it.

    model: their network: a name, such as "torchvision_resnet18", or the file of a model that has
    it. weights_partial: layers of another shape, such as the last one for other classes, keep their
    initial values. The rest as in import_onnx.
    """
    options = {
        "model": os.fspath(model),
        "weights_partial": weights_partial,
        "final_activation": final_activation,
        "mean": mean,
        "std": std,
        "square": square,
        "crop": crop,
        "input_shape": input_shape,
        "tensor_format": tensor_format,
    }
    return _import(path, out, class_names, options, True)


def _import(path: Any, out: Any, class_names: Any, options: dict[str, Any], weights: bool) -> str:
    names = []
    if class_names is None or isinstance(class_names, (str, bytes, os.PathLike)):
        options["class_names"] = class_names
    else:
        names = [text_bytes("class_names", name) for name in class_names]
        if not names:
            raise _core.InvalidArgument("class_names: is empty; expected a name for each output")
    return _core.import_model(
        path_bytes(path), path_bytes(out), option_texts(options), names, weights
    )


def export_onnx(
    model: str | os.PathLike,
    out: str | os.PathLike,
    *,
    tensor_format: Literal["NCHW", "NHWC"] = "NCHW",
    math_mode: Literal["fp32", "int8"] = "fp32",
) -> str:
    """Writes the model in a file as ONNX, and returns what the program export says of it.

    model: a file that training saved, or the name of a network, which has its initial weights.
    tensor_format: of the images that the exported model takes. math_mode: int8 for a model that
    was quantized.
    """
    options = {"tensor_format": tensor_format, "math_mode": math_mode}
    return _core.export_onnx(path_bytes(model), path_bytes(out), option_texts(options))


def quantize(
    model: str | os.PathLike,
    out: str | os.PathLike,
    calibrate: Dataset | str | os.PathLike,
    *,
    dataset_path: str | os.PathLike | None = None,
    samples: int = 512,
    method: Literal["minmax", "percentile", "entropy"] = "minmax",
    largest_error: float = 0.1,
    test_samples: int = 2000,
    batch_size: int = 32,
) -> str:
    """Prepares the model in a file for inference in 8 bits, dtnn.load(out, int8=True), and returns
    what the program quantize says: each layer's error, accuracy and speed of both.

    calibrate: samples to find ranges of values with, as training showed them: dtnn.Arrays(x, y),
    whose training samples are taken and whose test samples are measured on; the name of a data set,
    with dataset_path; or a folder of images. largest_error: a layer whose results differ by more
    stays in float32.
    """
    options = {
        "calibrate": None if isinstance(calibrate, Dataset) else os.fspath(calibrate),
        "dataset_path": dataset_path,
        "samples": samples,
        "method": method,
        "largest_error": largest_error,
        "test_samples": test_samples,
        "batch_size": batch_size,
    }
    return _core.quantize(
        path_bytes(model),
        path_bytes(out),
        option_texts(options),
        calibrate._core if isinstance(calibrate, Dataset) else None,
    )
