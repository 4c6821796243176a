"""DTNN: trains convolutional networks and predicts with them.

    import dtnn

    data = dtnn.Arrays(x_train, y_train, x_test, y_test)
    net = dtnn.Network("mine").conv2d(8, padding=1).relu().flatten().fc(data.outputs).softmax()
    run = dtnn.Run(net, data, optimizer="adam", learning_rate=1e-3, num_epochs=5)
    run.fit()
    run.evaluate()["categorical_accuracy"]
    run.save("mine.safetensors")

    dtnn.load("mine.safetensors").classify("shoe.png")
"""

from ._core import Error, InvalidArgument, NotFound, OutOfMemory, datasets, models
from ._core import version as __version__
from ._conversion import export_onnx, import_onnx, import_weights, quantize
from ._data import Arrays, Dataset, open_dataset
from ._network import Network
from ._predictor import Predictor, load
from ._ranks import run_as_rank
from ._run import Callback, Run

__all__ = [
    "Arrays",
    "Callback",
    "Dataset",
    "Error",
    "InvalidArgument",
    "Network",
    "NotFound",
    "OutOfMemory",
    "Predictor",
    "Run",
    "datasets",
    "export_onnx",
    "import_onnx",
    "import_weights",
    "load",
    "models",
    "open_dataset",
    "quantize",
    "run_as_rank",
]
