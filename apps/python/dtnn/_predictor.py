"""Predictions with a model from a file."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import numpy as np

from . import _core
from ._arguments import array, check_several, dense, path_bytes, text_bytes, whole


class Predictor:
    """A trained model, made by load().

    Threads may share it: it computes one batch at a time, on all cores, and without the GIL.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        *,
        batch_size: int = 32,
        math_mode: Literal["fp32", "bf16", "int8"] = "fp32",
    ) -> None:
        self._core = _core.Predictor(
            path_bytes(path),
            whole("batch_size", batch_size),
            text_bytes("math_mode", math_mode),
        )
        self._of_images, others = self._core.warnings()
        for line in others:
            warnings.warn(line, stacklevel=3)

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._core.name()

    @property
    def format(self) -> str:
        """The order of a sample's axes: "NHWC" or "NCHW"."""
        return self._core.format()

    @property
    def dtype(self) -> np.dtype:
        """The type of values that the network computes with."""
        return self._core.dtype()

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one sample."""
        return self._core.input_shape()

    @property
    def classes(self) -> list[str]:
        """The name of each output; its number where it has none."""
        return self._core.classes()

    @property
    def kind(self) -> str:
        """What outputs are: probabilities of "classes" that exclude each other, of "labels" that are each true or false, or other "values"."""
        return self._core.kind()

    @property
    def num_parameters(self) -> int:
        """How many parameters the network has."""
        return self._core.num_parameters()

    @property
    def training(self) -> dict[str, Any]:
        """How the model was trained: data set, epochs, loss, optimizer, metrics."""
        return self._core.training()

    def describe(self) -> str:
        """A table of the layers."""
        return self._core.describe()

    def __repr__(self) -> str:
        return f"<dtnn.Predictor of {self.name}: {self.input_shape} -> {len(self.classes)} {self.kind}>"

    def predict(self, x: Any, *, format: str | None = None) -> np.ndarray:
        """The outputs for each sample, an array of (samples, outputs).

        x: names of image files (JPEG, PNG); or uint8, (n, height, width, channels) images of any
        size; or float32 or float64, (n, sample) values as training had them, before a
        normalisation, in the order `format` ("NHWC", "NCHW"; the network's own if not given).
        Images of one channel may lack that axis. Files and uint8 images become grey or red, green,
        blue, as the network takes them; alpha, the last of 2 or 4 channels, is dropped.
        """
        if isinstance(x, (str, bytes, os.PathLike)):
            x = [x]
        if isinstance(x, (list, tuple)) and x and isinstance(x[0], (str, bytes, os.PathLike)):
            self._warn_of_images()
            return self._core.predict_files([path_bytes(path) for path in x])
        values = array("x", x)
        if values.shape == (0,):  # []
            return np.empty((0, len(self.classes)), self.dtype)
        self._check_several(values, format)
        if values.dtype != np.uint8:
            return self._core.predict_values(self._samples(values, format))
        if format not in (None, "NHWC"):
            raise _core.InvalidArgument(f"format={format}: uint8 images are NHWC")
        self._check_not_one(values)
        images = values[..., np.newaxis] if values.ndim == 3 else values
        if images.ndim != 4:
            raise _core.InvalidArgument(
                f"x: uint8 of shape {values.shape}; expected (n, height, width, channels) images"
            )
        self._warn_of_images()
        return self._core.predict_images(dense(images))

    def classify(self, x: Any, *, top: int | None = None, format: str | None = None) -> list[Any]:
        """For each sample its likeliest class, as (name, probability); x as in predict().

        top: a list of so many, the likeliest first; 1: one without a list. A network of labels
        (see `kind`) without top gives a list of those that are more likely than not. One of values,
        such as a network without a softmax at its end, gives a list of all, as (name, value), in
        their order.
        """
        if top is not None and whole("top", top) < 1:
            raise _core.InvalidArgument(f"top={top}: must be a whole number >= 1")
        kind = self.kind
        if kind == "values" and top is not None:
            warnings.warn(
                f"top={top} has no effect: the network predicts values, and all of them are returned",
                stacklevel=2,
            )
        answers = self._core.best(self.predict(x, format=format), top or 0)
        one = kind != "values" and (top == 1 or (top is None and kind == "classes"))
        return [answer[0] for answer in answers] if one else answers

    def _check_several(self, values: np.ndarray, format: str | None) -> None:
        sample = self.input_shape
        if len(sample) != 3:
            return
        wanted = "NHWC" if values.dtype == np.uint8 else format or self.format
        if wanted != self.format:
            sample = (*sample[1:], sample[0]) if wanted == "NHWC" else (sample[2], *sample[:2])
        check_several(values, sample, wanted)

    def _check_not_one(self, images: np.ndarray) -> None:
        """Refuses one image in colour, which would be many narrow ones in grey."""
        sample = self.input_shape
        width = sample[1] if self.format == "NHWC" else sample[-1]
        if images.ndim == 3 and images.shape[2] <= 4 < width:
            raise _core.InvalidArgument(
                f"x: has shape {images.shape}, as one image; expected (n, height, width, channels): "
                "x[numpy.newaxis] is one of them"
            )

    def _warn_of_images(self) -> None:
        for line in self._of_images:
            warnings.warn(line, stacklevel=3)
        self._of_images = []

    def _samples(self, values: np.ndarray, format: str | None) -> np.ndarray:
        if values.dtype.kind != "f" or values.dtype.itemsize not in (4, 8):
            raise TypeError(f"x: is {values.dtype}; expected uint8 images, or float32 or float64")
        if len(self.input_shape) == 3:
            if format not in (None, "NHWC", "NCHW"):
                raise _core.InvalidArgument(f"format={format}: expected NHWC or NCHW")
            format = format or self.format
            if values.ndim == 3:
                values = np.expand_dims(values, 1 if format == "NCHW" else 3)
            if values.ndim == 4 and format != self.format:
                values = np.moveaxis(values, *((1, 3) if format == "NCHW" else (3, 1)))
        return dense(values, self.dtype)


def load(
    path: str | os.PathLike,
    *,
    batch_size: int = 32,
    math_mode: Literal["fp32", "bf16", "int8"] = "fp32",
) -> Predictor:
    """The model in a file that training saved.

    batch_size: the most samples that are computed at a time; memory grows with it, answers stay
    the same. math_mode: bf16 is faster on CPUs with instructions for it, and less exact; int8
    computes in 8 bits, which needs a model that was quantized.
    """
    return Predictor(path, batch_size=batch_size, math_mode=math_mode)


