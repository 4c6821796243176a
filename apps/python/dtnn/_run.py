"""Training: a run, from its options to its results."""

from __future__ import annotations

import difflib
import inspect
import os
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import _core
from ._arguments import array, check_several, dense, option_texts, path_bytes, whole
from ._data import Dataset, test_data
from ._network import Network
from ._options import option_lines, takes_options


class Callback:
    """What is called during Run.fit(). Derive from it, and override what you want.

    An exception ends the run, and fit() raises it. While one is called, the run can be asked for
    parameters, history, options and learning rate, saved and stopped.
    """

    _run: Callable[[], Any] = staticmethod(lambda: None)

    @property
    def run(self) -> Run:
        """The run that calls; None outside of Run.fit()."""
        return self._run()

    def on_epoch_begin(self, epoch: int) -> None:
        """Before an epoch; epochs count from 0."""

    def on_batch_end(self, batch: int, metrics: dict[str, float]) -> None:
        """After a batch, with the means of the epoch so far; batches count from 1."""

    def on_epoch_end(self, epoch: int, metrics: dict[str, float]) -> None:
        """After an epoch and its validation, whose metrics begin with val_."""


class Run:
    """One training."""

    def __init__(
        self,
        model: Network | str | None = None,
        dataset: Dataset | str | None = None,
        *,
        callbacks: Sequence[Callback | Callable[[int, dict[str, float]], None]] = (),
        log: Callable[[str], None] | None = None,
        stop_on_signal: bool = True,
        **options: Any,
    ) -> None:
        self._begin("", model, dataset, callbacks, log, stop_on_signal, options)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike,
        dataset: Dataset | str | None = None,
        *,
        callbacks: Sequence[Callback | Callable[[int, dict[str, float]], None]] = (),
        log: Callable[[str], None] | None = None,
        stop_on_signal: bool = True,
        **options: Any,
    ) -> Run:
        """A run that continues with the model in a file, with its network, parameters and
        preprocessing, and the loss, the optimizer and the learning rate that it was trained with,
        unless options say otherwise. Another optimizer begins with its own constants."""
        run = cls.__new__(cls)
        run._begin(path_bytes(path), None, dataset, callbacks, log, stop_on_signal, options)
        return run

    def _begin(self, model_file, model, dataset, callbacks, log, stop_on_signal, options) -> None:
        if isinstance(model, str):
            options["model"] = model
        elif model is not None and not isinstance(model, Network):
            raise TypeError(f"model: expected a name or a dtnn.Network, not {model!r}")
        if isinstance(dataset, str):
            options["dataset"] = dataset
        elif dataset is not None and not isinstance(dataset, Dataset):
            shape = getattr(dataset, "shape", None)
            what = type(dataset).__name__ + ("" if shape is None else f" of shape {tuple(shape)}")
            raise TypeError(
                f"dataset: expected a name, dtnn.Arrays(x, y) or a dtnn.Dataset, not a {what}"
            )
        if log is not None and not callable(log):
            raise TypeError(f"log: expected a function of a text, not {log!r}")
        hooks = _Hooks(callbacks)
        self._data = dataset if isinstance(dataset, Dataset) else None
        self._core = _core.Run(
            option_texts(options),
            model_file,
            model._core if isinstance(model, Network) else None,
            self._data._core if self._data is not None else None,
            hooks.epoch_begin,
            hooks.batch_end,
            hooks.epoch_end,
            log,
            _warn,
            bool(stop_on_signal),
        )
        self._callbacks = hooks.objects

    def fit(self, epochs: int | None = None) -> dict[str, list[float]]:
        """Trains what is left of num_epochs, or so many epochs more, and returns the history. After
        stop() of a callback it continues there.

        Ctrl-C ends it after the step, with a checkpoint where there is a checkpoint_dir, and raises
        KeyboardInterrupt.
        """
        before = [(callback, callback._run) for callback in self._callbacks]
        try:
            for callback in self._callbacks:
                callback._run = weakref.ref(self)
            self._core.fit(None if epochs is None else whole("epochs", epochs))
        finally:
            for callback, run in before:
                callback._run = run
        return self.history

    def evaluate(
        self, x: Any = None, y: Any = None, *, split: Literal["train", "test"] = "test"
    ) -> dict[str, float]:
        """Loss and metrics of a split of the run's data, of another Dataset, or of arrays x and y.

        Accuracies are in per cent.
        """
        if split not in ("train", "test"):
            raise _core.InvalidArgument(f"split={split}: expected train or test")
        if isinstance(x, Dataset):
            return self._core.evaluate(x._core, split == "train")
        if x is None and y is None:
            return self._core.evaluate(None, split == "train")
        return self._core.evaluate(self._arrays(x, y)._core, False)

    def predict(self, x: Any) -> np.ndarray:
        """The outputs for each sample of x, as training had them: (samples, outputs), where pixels
        have classes (samples, their outputs), one image after the other."""
        x = array("x", x)
        data = self._core.dataset()
        height, width, channels = data.sample()
        planes = self.dataset._format == "NCHW"
        check_several(
            x,
            (channels, height, width) if planes else (height, width, channels),
            "NCHW" if planes else "NHWC",
        )
        if x.ndim > 0 and len(x) == 0:
            outputs = data.outputs() * (height * width if data.has_pixels() else 1)
            return np.empty((0, outputs), self._core.options()["dtype"])
        shape: tuple[int, ...] = (len(x),) if data.has_classes() else (len(x), data.outputs())
        if data.has_pixels():
            shape = (len(x), height, width)
        return self._core.predict(self._arrays(x, np.zeros(shape, np.int32))._core)

    def _arrays(self, x: Any, y: Any) -> Dataset:
        return test_data(x, y, self.dataset)

    def save(self, path: str | os.PathLike) -> None:
        """Writes one file (.safetensors, .npz) with all that dtnn.load needs."""
        self._core.save(path_bytes(path))

    @property
    def history(self) -> dict[str, list[float]]:
        """Loss and metrics, a list each, of the epochs that this run has trained."""
        lists: dict[str, list[float]] = {}
        for _, metrics in self._core.history():
            for name, value in metrics.items():
                lists.setdefault(name, []).append(value)
        return lists

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of all parameters, by the names that files have: "1_Conv2D_weights"."""
        return self._core.parameters()

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Changes parameters, by name, to the values of arrays."""
        dtype = next(iter(self._core.parameters().values())).dtype if parameters else None
        self._core.set_parameters(
            [(name, dense(array(name, values), dtype)) for name, values in parameters.items()]
        )

    @property
    def options(self) -> dict[str, Any]:
        """All options as they are in force."""
        return self._core.options()

    @property
    def learning_rate(self) -> float:
        """The learning rate; a callback may change it."""
        return self._core.learning_rate()

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._core.set_learning_rate(float(rate))

    @property
    def epochs_done(self) -> int:
        """Epochs that have come to their end."""
        return self._core.epochs_done()

    @property
    def steps_done(self) -> int:
        """Updates of the parameters."""
        return self._core.steps_done()

    @property
    def dataset(self) -> Dataset:
        """The data that the run trains on."""
        return self._data if self._data is not None else Dataset(self._core.dataset())

    def stop(self) -> None:
        """For callbacks: training ends after the current batch or epoch."""
        self._core.stop()

    def end(self) -> None:
        """Finishes files, such as the page of the run; nothing can be done with the run after it.
        A run that is deleted ends, too."""
        self._core.end()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()

    def describe(self) -> str:
        """A table of the layers."""
        return self._core.describe()

    def __repr__(self) -> str:
        return repr(self._core)


class _Hooks:
    def __init__(self, callbacks) -> None:
        self.objects, self.epoch_begin, self.batch_end, self.epoch_end = [], [], [], []
        for callback in callbacks:
            if isinstance(callback, Callback):
                self.objects.append(callback)
                _warn_of_unknown_hooks(type(callback))
                for name in ("epoch_begin", "batch_end", "epoch_end"):
                    if getattr(type(callback), f"on_{name}") is not getattr(Callback, f"on_{name}"):
                        getattr(self, name).append(getattr(callback, f"on_{name}"))
            elif callable(callback):
                self.epoch_end.append(callback)
            else:
                raise TypeError(
                    f"callbacks: expected objects of dtnn.Callback, or functions of epoch and "
                    f"metrics, not {callback!r}"
                )


def _warn_of_unknown_hooks(kind: type) -> None:
    known = [name for name in vars(Callback) if name.startswith("on_")]
    for name in dir(kind):
        if name.startswith("on_") and name not in known and callable(getattr(kind, name)):
            near = difflib.get_close_matches(name, known, 1, 0.85)
            meant = f"did you mean {near[0]}?" if near else f"a run calls {', '.join(known)}"
            warnings.warn(f"callbacks: {kind.__name__}.{name} is never called; {meant}", stacklevel=5)


def _warn(line: str) -> None:
    warnings.warn(line, stacklevel=4)  # where the run is made


def _document() -> None:
    """The options of Run, in its documentation."""
    text = inspect.cleandoc(
        """One training, and the model that it makes.

        model: the name of a network (dtnn.models()) or a Network. dataset: the name of a data set
        (dtnn.datasets()), Arrays, or another Dataset. callbacks: objects of Callback, or functions
        that are called after each epoch with its number and its metrics. log: a function that
        receives what the program `benchmark` prints. stop_on_signal: Ctrl-C and SIGTERM end fit()
        after the current step, with a checkpoint. Everything that can be wrong is found now.

        All other arguments are options; None means that an option is not set. They are those of
        the program `benchmark`, with underscores:
        """
    )
    Run.__doc__ = text + option_lines(_core.keywords()) + "\n"
    takes_options(Run.__init__, _core.keywords(), "model", "dataset")
    takes_options(Run.load.__func__, _core.keywords(), "model", "dataset")


_document()
