"""Networks written down layer by layer."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arguments import pair, text_bytes, whole


# Layers as Keras and PyTorch call them, in lower case.
_NAMES_ELSEWHERE = {
    "dense": "fc",
    "linear": "fc",
    "convtranspose2d": "transposed_conv2d",
    "conv2dtranspose": "transposed_conv2d",
    "maxpooling2d": "max_pool2d",
    "averagepooling2d": "average_pool2d",
    "avgpool2d": "average_pool2d",
    "globalaveragepooling2d": "adaptive_average_pool2d",
    "adaptiveavgpool2d": "adaptive_average_pool2d",
    "upsampling2d": "upsample2d",
    "zeropadding2d": "pad2d",
    "cropping2d": "slice2d",
    "batchnormalization": "batch_norm",
    "batchnorm2d": "batch_norm",
    "groupnormalization": "group_norm",
    "concatenate": "concat",
    "multiheadattention": "self_attention",
}


class Network:
    """Layers, one call each, in the order in which samples pass through them.

    dtnn.Network("mine").conv2d(8, padding=1).relu().max_pool2d().flatten().fc(10).softmax()

    Without input() a network takes the samples of the data set that it is trained on. Mistakes are
    found when a run is made, and named by layer. A Network without input() is also a path of
    add(), concat() and multiply().
    """

    def __init__(self, name: str = "network") -> None:
        self._core = _core.Network(text_bytes("name", name))

    def __getattr__(self, name: str) -> Any:
        meant = _NAMES_ELSEWHERE.get(name.lower().replace("_", ""))
        if meant is not None:
            raise AttributeError(f"dtnn.Network has no {name!r}; did you mean {meant!r}?")
        raise AttributeError(f"dtnn.Network has no {name!r}", name=name, obj=self)

    @property
    def name(self) -> str:
        """The name, which files of the model have."""
        return self._core.name()

    def input(self, height: int, width: int, channels: int) -> Network:
        """What the network takes; comes first."""
        self._core.input(whole("height", height), whole("width", width), whole("channels", channels))
        return self

    def conv2d(
        self,
        filters: int,
        kernel: int | tuple[int, int] = 3,
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        bias: bool = True,
        grouping: str = "standard",
        initializer: str = "glorot_uniform",
        groups: int = 1,
    ) -> Network:
        """A convolution. grouping: "standard", "depthwise" or "pointwise"; groups of a standard one:
        a filter reads the channels of its group alone."""
        self._core.conv2d(
            whole("filters", filters),
            pair("kernel", kernel),
            pair("stride", stride),
            pair("padding", padding),
            pair("dilation", dilation),
            bool(bias),
            text_bytes("grouping", grouping),
            text_bytes("initializer", initializer),
            whole("groups", groups),
        )
        return self

    def transposed_conv2d(
        self,
        filters: int,
        kernel: int | tuple[int, int] = 3,
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        output_padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        bias: bool = True,
        initializer: str = "glorot_uniform",
        groups: int = 1,
    ) -> Network:
        """A transposed convolution, as PyTorch's ConvTranspose2d: images made larger."""
        self._core.transposed_conv2d(
            whole("filters", filters),
            pair("kernel", kernel),
            pair("stride", stride),
            pair("padding", padding),
            pair("output_padding", output_padding),
            pair("dilation", dilation),
            bool(bias),
            text_bytes("initializer", initializer),
            whole("groups", groups),
        )
        return self

    def fc(
        self, outputs: int, *, bias: bool = True, initializer: str = "glorot_uniform"
    ) -> Network:
        """A fully connected layer."""
        self._core.fc(whole("outputs", outputs), bool(bias), text_bytes("initializer", initializer))
        return self

    def max_pool2d(
        self,
        window: int | tuple[int, int] = 2,
        *,
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
    ) -> Network:
        """The largest value of each window.

        Windows are side by side unless stride says otherwise; window 0 is the whole image.
        """
        return self._pool2d(True, window, stride, padding, dilation)

    def average_pool2d(
        self,
        window: int | tuple[int, int] = 2,
        *,
        stride: int | tuple[int, int] | None = None,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        count_padding: bool = False,
    ) -> Network:
        """The mean of each window; window and stride as in max_pool2d.

        count_padding: padding counts, as zeros. That is the default of PyTorch.
        """
        return self._pool2d(False, window, stride, padding, dilation, count_padding)

    def _pool2d(
        self, largest, window, stride, padding, dilation, count_padding=False
    ) -> Network:
        window = pair("window", window)
        beside = tuple(side or 1 for side in window)  # 0: all of the image
        self._core.pool2d(
            largest,
            window,
            pair("stride", beside if stride is None else stride),
            pair("padding", padding),
            pair("dilation", dilation),
            bool(count_padding),
        )
        return self

    def adaptive_average_pool2d(self, output: int | tuple[int, int] = 1) -> Network:
        """Means over windows such that images of this size result."""
        self._core.adaptive_average_pool2d(pair("output", output))
        return self

    def upsample2d(
        self,
        scale: int | tuple[int, int] = 2,
        mode: str = "nearest",
        align_corners: bool = False,
    ) -> Network:
        """Images made larger by whole factors; mode: nearest or bilinear, as in PyTorch."""
        self._core.upsample2d(pair("scale", scale), text_bytes("mode", mode), bool(align_corners))
        return self

    def pad2d(
        self,
        before: int | tuple[int, int] = 0,
        after: int | tuple[int, int] = 0,
        *,
        mode: str = "constant",
        value: float = 0.0,
    ) -> Network:
        """More rows and columns around images: before, at the top and the left, and after.

        mode: "constant", of a value, "reflect", mirrored, or "edge".
        """
        self._core.pad2d(
            pair("before", before), pair("after", after), text_bytes("mode", mode), float(value)
        )
        return self

    def slice2d(
        self,
        begin: int | tuple[int, int] = 0,
        count: int | tuple[int, int] = 0,
        step: int | tuple[int, int] = 1,
    ) -> Network:
        """Some rows and columns: count of them, or all that are left, from begin on, step apart.

        slice2d(1, step=2) is x[1::2, 1::2].
        """
        self._core.slice2d(pair("begin", begin), pair("count", count), pair("step", step))
        return self

    def channel_shuffle(self, groups: int) -> Network:
        """Channels dealt from groups that lie one after the other, as in PyTorch."""
        self._core.channel_shuffle(whole("groups", groups))
        return self

    def channel_slice(self, begin: int, count: int) -> Network:
        """Some of the channels: count of them, from channel begin on."""
        self._core.channel_slice(whole("begin", begin), whole("count", count))
        return self

    def scale(self, factor: float) -> Network:
        """The image times one number, which training does not change."""
        self._core.scale(float(factor))
        return self

    def class_token(self) -> Network:
        """A learned pixel before those of the image, which stand in one row from then on."""
        self._core.class_token()
        return self

    def position_embedding(self) -> Network:
        """A learned number for each element of the image, added to it."""
        self._core.position_embedding()
        return self

    def pixel_slice(self, begin: int, count: int) -> Network:
        """Some of the pixels: count of them, from pixel begin on, counted row by row."""
        self._core.pixel_slice(whole("begin", begin), whole("count", count))
        return self

    def batch_norm(self, *, momentum: float = 0.9, epsilon: float = 1e-5) -> Network:
        """Batch normalisation; running = momentum * running + (1 - momentum) * batch."""
        self._core.batch_norm(float(momentum), float(epsilon))
        return self

    def group_norm(
        self, groups: int = 1, *, per_pixel: bool = False, epsilon: float = 1e-5
    ) -> Network:
        """Normalisation of each sample by itself, in groups of channels; per_pixel: of each pixel
        by itself, as LayerNorm over channels."""
        self._core.group_norm(whole("groups", groups), bool(per_pixel), float(epsilon))
        return self

    def dropout(self, rate: float) -> Network:
        """Zeros a fraction of the values in training."""
        self._core.dropout(float(rate))
        return self

    def flatten(self) -> Network:
        """Images to vectors."""
        self._core.flatten()
        return self

    def activation(
        self,
        kind: str,
        *,
        slope: float | None = None,
        alpha: float | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> Network:
        """One of relu, sigmoid, tanh, leaky_relu, relu6, arctanh, log, hard_sigmoid, silu,
        gelu, hard_swish, elu, clip, softplus, mish.

        slope: of leaky_relu, below 0; else 0.01. alpha: of elu; else 1. low, high: of clip; else
        -1 and 1.
        """
        numbers = (None if x is None else float(x) for x in (slope, alpha, low, high))
        self._core.activation(text_bytes("kind", kind), *numbers)
        return self

    def prelu(self, per_channel: bool = True) -> Network:
        """A relu whose slope below 0 is trained: one for each channel or feature, or one for
        all."""
        self._core.prelu(bool(per_channel))
        return self

    def relu(self) -> Network:
        """max(x, 0)."""
        return self.activation("relu")

    def sigmoid(self) -> Network:
        """1 / (1 + exp(-x))."""
        return self.activation("sigmoid")

    def softmax(self) -> Network:
        """Probabilities of classes."""
        self._core.softmax()
        return self

    def add(self, *paths: Network) -> Network:
        """The sum of what the paths make of the same values; Network() is the identity."""
        self._core.add(_cores(paths))
        return self

    def concat(self, *paths: Network) -> Network:
        """What the paths make of the same values, side by side as channels."""
        self._core.concat(_cores(paths))
        return self

    def multiply(self, image: Network, factors: Network) -> Network:
        """The image times a factor for each of its channels, which the other path makes as one
        pixel: squeeze-and-excitation."""
        self._core.multiply(_cores((image, factors)))
        return self

    def scores(
        self, queries: Network, keys: Network, *, heads: int = 1, factor: float = 1.0
    ) -> Network:
        """How alike each pixel of the queries is to each pixel of the keys: factor times the sum
        over channels of their products, as a channel for each pixel of the keys. Each head has a
        group of the channels, and a group of the results."""
        self._core.scores(_cores((queries, keys)), whole("heads", heads), float(factor))
        return self

    def group_softmax(self, groups: int = 1) -> Network:
        """The softmax over each group of channels, of each pixel by itself: scores to weights."""
        self._core.group_softmax(whole("groups", groups))
        return self

    def weighted_sum(self, weights: Network, values: Network, *, heads: int = 1) -> Network:
        """For each pixel the sum of the values of all pixels, times its weights for them, which are
        channels. Each head has a group of the weights, and a group of the values."""
        self._core.weighted_sum(_cores((weights, values)), whole("heads", heads))
        return self

    def self_attention(
        self,
        heads: int = 1,
        *,
        key_channels: int = 0,
        value_channels: int = 0,
        factor: float = 0.0,
        bias: bool = True,
    ) -> Network:
        """The image, and what each of its pixels gathers from all of them, added.

        Without numbers of their own, keys and values have the channels of the image, and scores
        the factor 1 / sqrt(channels of a head).
        """
        self._core.self_attention(
            whole("heads", heads),
            whole("key_channels", key_channels),
            whole("value_channels", value_channels),
            float(factor),
            bool(bias),
        )
        return self

    def describe(self) -> str:
        """A table of the layers; the network begins with input()."""
        return self._core.describe()

    def __repr__(self) -> str:
        return f"<dtnn.Network {self.name}>"


def _cores(paths: tuple[Network, ...]) -> list[_core.Network]:
    for path in paths:
        if not isinstance(path, Network):
            raise TypeError(f"paths: expected networks, not {path!r}")
    return [path._core for path in paths]
