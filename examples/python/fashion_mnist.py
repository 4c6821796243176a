"""From arrays to a trained network, its curves and its answers: the program of docs/python.md.

    python3 fashion_mnist.py [FOLDER OF THE DATA [EPOCHS [FOLDER FOR RESULTS]]]

The cells (# %%) run one by one in editors that know them.
"""

# %% The images: arrays of NumPy.
import gzip
import pathlib
import sys

import dtnn
import numpy as np

arguments = dict(enumerate(sys.argv))
source = pathlib.Path(arguments.get(1, "/usr/share/datasets/fashion-mnist"))
epochs = int(arguments.get(2, 5))
results = pathlib.Path(arguments.get(3, "."))
if not source.is_dir():
    sys.exit(f"{source}: no such folder; Fashion-MNIST comes with: apt install dataset-fashion-mnist")


def read(name, header):
    with gzip.open(source / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


x = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
y = read("train-labels-idx1-ubyte.gz", 8)
x_test = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
y_test = read("t10k-labels-idx1-ubyte.gz", 8)

# %% Training.
# [train]
names = "T-shirt trouser pullover dress coat sandal shirt sneaker bag boot".split()
data = dtnn.Arrays(x, y, x_test, y_test, classes=10, class_names=names)
net = dtnn.Network("mine").conv2d(16, padding=1).relu().max_pool2d()
net.conv2d(32, padding=1).relu().max_pool2d()
net.flatten().fc(64).relu().dropout(0.3).fc(10).softmax()


def show(epoch, metrics):
    print(f"epoch {epoch + 1}: {metrics['val_categorical_accuracy']:.1f} %")


run = dtnn.Run(net, data, optimizer="adam", optimizer_beta1=0.9, learning_rate=1e-3,
               num_epochs=epochs, callbacks=[show])
history = run.fit()
print(f"test accuracy {run.evaluate()['categorical_accuracy']:.1f} %")
run.save(results / "mine.safetensors")
# [/train]

# %% Answers.
# [predict]
model = dtnn.load(results / "mine.safetensors")
for (name, probability), label in zip(model.classify(x_test[:5]), y_test):
    print(f"{names[label]}: {name}, {100 * probability:.1f} %")
# [/predict]

# %% Curves.
try:
    import matplotlib

    matplotlib.use("Agg")  # into a file
    from matplotlib import pyplot
except ImportError:
    print("matplotlib is not installed (python3-matplotlib): no curves")
else:
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.5))
    for axis, name in zip(axes, ["categorical_cross_entropy", "categorical_accuracy"]):
        axis.plot(history[name], label="training")
        axis.plot(history[f"val_{name}"], label="validation")
        axis.set(xlabel="epoch", title=name)
        axis.legend()
    figure.tight_layout()
    figure.savefig(results / "curves.png")
    print(f"{results / 'curves.png'} has the curves")
