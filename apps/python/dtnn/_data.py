"""Data sets: arrays of the program, or data sets by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arguments import array, dense, option_texts, text_bytes, whole


class Dataset:
    """Samples and targets, in a training and a test split."""

    def __init__(self, core: Any, format: str = "NHWC") -> None:
        self._core = core
        self._format = format

    @property
    def name(self) -> str:
        """What it is called."""
        return self._core.name()

    @property
    def sample(self) -> tuple[int, int, int]:
        """Height, width and channels of a sample."""
        return self._core.sample()

    @property
    def outputs(self) -> int:
        """How many classes there are, or values per sample."""
        return self._core.outputs()

    @property
    def class_names(self) -> list[str]:
        """The names of the outputs; empty if not known."""
        return self._core.class_names()

    @property
    def train_size(self) -> int:
        """Samples of the training split."""
        return self._core.sizes()[0]

    @property
    def test_size(self) -> int:
        """Samples of the test split."""
        return self._core.sizes()[1]

    def __repr__(self) -> str:
        height, width, channels = self.sample
        return (
            f"<dtnn.Dataset {self.name}: {self.train_size} + {self.test_size} samples of "
            f"{height} x {width} x {channels}, {self.outputs} outputs>"
        )


class Arrays(Dataset):
    """Data in NumPy's arrays, or others with __dlpack__ or __array__, which are not copied.

    x: (n, height, width, channels), (n, height, width) or (n, features) of uint8 (then value / 255),
    float32 or float64; with format="NCHW", (n, channels, height, width). y: (n,) integers, classes
    from 0; (n, height, width) integers, a class per pixel, where -1 (255 of uint8) is none;
    (n, classes) where every row is 1 at one place and 0 elsewhere, classes too; other
    (n, outputs) or (n,) numbers, values. Arrays of x that are not in C order are copied once; y is
    always copied. Do not change x while a run uses it.

    Without x_test and y_test there is no test split; without x and y no training split.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        x_test: Any = None,
        y_test: Any = None,
        *,
        classes: int | None = None,
        class_names: Sequence[str] = (),
        format: str = "NHWC",
        name: str = "arrays",
    ) -> None:
        if format not in ("NHWC", "NCHW"):
            raise _core.InvalidArgument(f"format={format}: expected NHWC or NCHW")
        train = _split("", x, y, format)
        test = _split("_test", x_test, y_test, format)
        if train is None and test is None:
            raise _core.InvalidArgument("x: is missing, and so is x_test; expected one of them")
        if train is not None and test is not None:
            train, test = _alike(train, test)
        known = [targets for _, targets in filter(None, (train, test))]
        as_classes = all(targets.dtype.kind in "iub" and targets.ndim != 2 for targets in known)
        if not as_classes and any(targets.ndim == 3 for targets in known):
            raise _core.InvalidArgument(
                f"y: is {known[0].dtype} of shape {known[0].shape}; expected integers, "
                "a class per pixel"
            )
        if not as_classes and all(_one_hot(targets) for targets in known):
            classes = known[0].shape[1] if classes is None else classes
            known = [targets.argmax(1) for targets in known]
            as_classes = True
        if classes is not None and not as_classes:
            raise _core.InvalidArgument(
                f"classes={classes}: y has values, {known[0].dtype} of shape {known[0].shape}; "
                "expected integers"
            )
        targets = iter([_classes(y) if as_classes else _values(y) for y in known])
        super().__init__(
            _core.arrays(
                None if train is None else (train[0], next(targets)),
                None if test is None else (test[0], next(targets)),
                format == "NCHW",
                0 if classes is None else whole("classes", classes),
                [text_bytes("class_names", text) for text in class_names],
                text_bytes("name", name),
            ),
            format,
        )


def test_data(x: Any, y: Any, like: Dataset) -> Dataset:
    """Arrays as a test split, with targets of the kind that another data set has."""
    split = _split("", x, y, like._format)
    if split is None:
        raise _core.InvalidArgument("x: is missing")
    images, targets = split
    classes = like._core.has_classes()
    if like._core.has_pixels():
        classes = True
        if targets.dtype.kind not in "iub" or targets.ndim != 3:
            raise _core.InvalidArgument(
                f"y: is {targets.dtype} of shape {targets.shape}; expected a class for each pixel, "
                f"as {like.name} has: (n, height, width) integers"
            )
    elif classes and _one_hot(targets):
        targets = targets.argmax(1)
    elif classes and (targets.dtype.kind not in "iub" or targets.ndim != 1):
        raise _core.InvalidArgument(
            f"y: is {targets.dtype} of shape {targets.shape}; expected classes, as {like.name} has:"
            f" {len(images)} integers"
        )
    targets = _classes(targets) if classes else _values(targets)
    planes = like._format == "NCHW"
    core = _core.arrays(
        None, (images, targets), planes, like.outputs if classes else 0, [], b"arrays"
    )
    return Dataset(core, like._format)


def open_dataset(name: str, path: str | os.PathLike | None = None, **options: Any) -> Dataset:
    """A data set by name (dtnn.datasets()), such as "mnist" or "folder", from the files at path.

    options: those of Run that say how data are read (dataset_train_path, transform_resize, ...),
    random_seed of generated data and, for imagenet, the model.
    """
    options = {"dataset": name, "dataset_path": path, **options}
    return Dataset(_core.open_dataset(option_texts(options)))


def _split(suffix: str, x: Any, y: Any, format: str) -> tuple[np.ndarray, np.ndarray] | None:
    if x is None and y is None:
        return None
    if x is None or y is None:
        raise _core.InvalidArgument(f"x{suffix} and y{suffix}: expected both or neither")
    x_name, y_name = f"x{suffix}", f"y{suffix}"
    targets = array(y_name, y)
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    images = samples(x_name, x, format)
    if targets.ndim not in (1, 2, 3) or len(targets) != len(images):
        raise _core.InvalidArgument(
            f"{y_name}: has shape {targets.shape}; expected ({len(images)},) or "
            f"({len(images)}, outputs), or ({len(images)}, height, width) of images, as {x_name} has {len(images)} samples"
        )
    return images, targets


def samples(name: str, x: Any, format: str) -> np.ndarray:
    """x with four axes, dense, of uint8, float32 or float64."""
    x = array(name, x)
    if x.dtype != np.uint8 and (x.dtype.kind != "f" or x.dtype.itemsize not in (4, 8)):
        raise TypeError(
            f"{name}: is an array of {x.dtype}; expected uint8, float32 or float64 "
            f'({name}.astype("float32") converts)'
        )
    if x.ndim == 2:
        x = x.reshape(len(x), 1, 1, -1) if format == "NHWC" else x.reshape(len(x), -1, 1, 1)
    if x.ndim == 3:
        x = np.expand_dims(x, 3 if format == "NHWC" else 1)
    if format == "NHWC" and x.ndim == 4:
        _, height, width, channels = x.shape
        square = height == 1 and width == channels
        if channels > 4 and (square or height == 3) and width > height:
            warnings.warn(
                f"{name}: {height} x {width} images of {channels} channels, by its shape {x.shape}; "
                'format="NCHW" is for (n, channels, height, width)',
                stacklevel=4,
            )
    if x.ndim != 4 or x.size == 0:
        raise _core.InvalidArgument(
            f"{name}: has shape {x.shape}; expected one or more samples, (n, height, width, "
            "channels), (n, height, width) or (n, features)"
        )
    return dense(x)


def _alike(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    for name, one, other in zip("xy", train, test):
        if one.shape[1:] != other.shape[1:] or (name == "x" and one.dtype != other.dtype):
            raise _core.InvalidArgument(
                f"{name}_test: is {other.dtype} of shape {other.shape}, but {name} is {one.dtype} "
                f"of shape {one.shape}"
            )
    return train, test


def _one_hot(y: np.ndarray) -> bool:
    if y.ndim != 2 or y.shape[1] < 2:
        return False
    return bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())


def _classes(y: np.ndarray) -> np.ndarray:
    if y.ndim == 3 and y.dtype == np.uint8:  # masks
        y = np.where(y == 255, -1, y.astype(np.int32))
    limits = np.iinfo(np.int32)
    if y.dtype.kind != "b" and (y.min() < limits.min or y.max() > limits.max):
        raise _core.InvalidArgument(f"y: has labels from {y.min()} to {y.max()}; expected classes from 0")
    return dense(y, np.int32)


def _values(y: np.ndarray) -> np.ndarray:
    return dense(y.reshape(len(y), -1), np.float64)
