"""dtnn.Arrays and data sets by name."""

import gc
import unittest
import warnings
import weakref

import dtnn
import numpy as np


class Tensor:
    """An array of another framework, which shares its memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Memory(bytearray):
    """Bytes that can be referred to weakly."""


class ArraysTest(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        self.x = rng.random((30, 5, 4, 3), dtype=np.float32)
        self.y = np.arange(30) % 3

    def test_says_what_it_is(self):
        data = dtnn.Arrays(self.x, self.y, self.x[:6], self.y[:6], class_names=["a", "b", "c"])
        self.assertEqual(data.sample, (5, 4, 3))
        self.assertEqual((data.train_size, data.test_size, data.outputs), (30, 6, 3))
        self.assertEqual(data.class_names, ["a", "b", "c"])
        self.assertIn("30 + 6 samples of 5 x 4 x 3, 3 outputs", repr(data))
        self.assertEqual(dtnn.Arrays(self.x, self.y, classes=7).outputs, 7)
        self.assertEqual(dtnn.Arrays(x_test=self.x, y_test=self.y).train_size, 0)

    def test_shapes(self):
        planes = self.x.transpose(0, 3, 1, 2)
        self.assertEqual(dtnn.Arrays(planes, self.y, format="NCHW").sample, (5, 4, 3))
        self.assertEqual(dtnn.Arrays(self.x[..., 0], self.y).sample, (5, 4, 1))
        self.assertEqual(dtnn.Arrays(self.x[:, 0, :, 0], self.y).sample, (1, 1, 4))

    def test_classes_of_pixels(self):
        rng = np.random.default_rng(1)
        labels = rng.integers(0, 3, (30, 5, 4)).astype(np.uint8)
        x = (80 * labels[..., np.newaxis] + 10).astype(np.uint8)
        labels[:, 0] = 255  # none
        net = dtnn.Network().conv2d(8, kernel=1).relu().conv2d(3, kernel=1).softmax()
        data = dtnn.Arrays(x, labels, x, labels)
        self.assertEqual(data.outputs, 3)
        run = dtnn.Run(
            net, data, batch_size=5, num_epochs=30, learning_rate=0.03, validation_split=0
        )
        run.fit()
        metrics = run.evaluate()
        self.assertGreater(metrics["mean_iou"], 0.9)
        signed = np.where(labels == 255, -1, labels.astype(np.int64))
        self.assertEqual(run.evaluate(x, signed), metrics)
        outputs = run.predict(x).reshape(30, 5, 4, 3)
        right = outputs.argmax(3) == labels
        self.assertAlmostEqual(100 * right[labels < 255].mean(), metrics["categorical_accuracy"], 3)
        with self.assertRaisesRegex(dtnn.InvalidArgument, "class for each of 5 x 4 pixels"):
            dtnn.Arrays(x, labels[:, :4])
        with self.assertRaisesRegex(dtnn.InvalidArgument, "column 2 of sample 1 is 7; .*, or -1 for none"):
            wrong = signed.copy()
            wrong[1, 3, 2] = 7
            dtnn.Arrays(x, wrong, classes=3)
        with self.assertRaisesRegex(dtnn.InvalidArgument, "a class per pixel"):
            dtnn.Arrays(x, labels / 2)
        with self.assertRaisesRegex(dtnn.InvalidArgument, "expected a class for each pixel"):
            run.evaluate(x, self.y)

    def weights(self, outputs):
        return np.random.default_rng(1).random((60, outputs), dtype=np.float32)

    def error(self, x, y):
        """The mean squared error that a run finds with a layer of known weights."""
        data = dtnn.Arrays(x, y, x, y)
        run = dtnn.Run(
            dtnn.Network().flatten().fc(data.outputs), data, loss_func="mse", metrics=[],
            validation_split=0, batch_size=7,
        )
        weights = {"2_FC_weights": self.weights(data.outputs), "2_FC_biases": np.zeros(data.outputs)}
        run.set_parameters(weights)
        return run.evaluate()["mse"]

    def expected(self, x, y):
        return ((x.reshape(len(x), -1) @ self.weights(y.shape[1]) - y) ** 2).mean()

    def test_targets(self):
        one_hot = np.eye(3)[self.y]
        for y in (self.y, one_hot, self.y[:, np.newaxis], list(self.y), self.y.astype(np.uint8)):
            self.assertEqual(dtnn.Arrays(self.x, y).outputs, 3)
            self.assertAlmostEqual(self.error(self.x, y), self.expected(self.x, one_hot), places=3)
        labels = np.eye(2)[(self.y == 0) * 1]
        self.assertAlmostEqual(self.error(self.x, self.y == 0), self.expected(self.x, labels), places=3)
        # Values: as many as there are columns.
        for y in (one_hot * 0.5, self.y[:, np.newaxis] * 1.0):
            self.assertEqual(dtnn.Arrays(self.x, y).outputs, y.shape[1])
            self.assertAlmostEqual(self.error(self.x, y), self.expected(self.x, y), places=3)

    def test_dense_arrays_are_not_copied_and_live_as_long_as_the_data_set(self):
        for share in (lambda x: x, Tensor):
            memory = Memory(self.x.tobytes())
            alive = weakref.ref(memory)
            x = np.frombuffer(memory, np.float32).reshape(self.x.shape)
            data = dtnn.Arrays(share(x), self.y)
            del x, memory
            gc.collect()
            self.assertIsNotNone(alive())
            del data
            gc.collect()
            self.assertIsNone(alive())

    def test_a_run_reads_the_array_itself(self):
        x, y = np.ones((4, 1, 1, 2), np.float32), np.full(4, 7.0)
        run = dtnn.Run(
            dtnn.Network().flatten().fc(1), dtnn.Arrays(x, y, x, y), loss_func="mse", metrics=[],
            validation_split=0, batch_size=4,
        )
        run.set_parameters({"2_FC_weights": np.ones((2, 1)), "2_FC_biases": np.zeros(1)})
        self.assertEqual(run.evaluate()["mse"], (7 - 2) ** 2)
        x[:] = 3
        self.assertEqual(run.evaluate()["mse"], (7 - 6) ** 2)

    def test_others_are_copied_once(self):
        for x in (self.x[:, ::-1], np.asfortranarray(self.x), self.x.astype(">f4"), self.x[::2]):
            y = np.arange(len(x))[:, np.newaxis] * 1.0
            self.assertAlmostEqual(self.error(x, y) / self.expected(x, y), 1, places=5)

    def test_wrong_arrays_are_named(self):
        def refuses(error, words, *args, **kwargs):
            with self.assertRaisesRegex(error, words):
                dtnn.Arrays(*args, **kwargs)

        x, y = self.x, self.y
        refuses(ValueError, "x: is missing")
        refuses(ValueError, "x and y: expected both or neither", x)
        refuses(ValueError, "x_test and y_test: expected both or neither", x, y, x)
        refuses(ValueError, r"y: has shape \(5,\); expected \(30,\)", x, y[:5])
        refuses(ValueError, "label of sample 0 is -1; expected 0 to", x, y - 1)
        refuses(ValueError, "label of sample 2 is 2; expected 0 to 1", x, y, classes=2)
        refuses(ValueError, "classes=10: y has values, float64", x, y * 1.0, classes=10)
        refuses(ValueError, "-1 outputs", x, y, classes=-1)
        refuses(ValueError, "labels from 0 to 219902", x, y * 2**40)
        refuses(ValueError, "x of the training split: sample 0 contains NaN", x * np.nan, y)
        refuses(ValueError, "y of the training split: sample 0 contains NaN", x, np.full(30, np.inf))
        refuses(ValueError, "float32 does not hold", x.astype(float) * 1e300, y)
        refuses(ValueError, r"x_test: is float32 of shape \(30, 2, 4, 3\), but x", x, y, x[:, :2], y)
        refuses(ValueError, "x_test: is uint8", x, y, x.astype(np.uint8), y)
        refuses(ValueError, "class names: 1 for 3 outputs", x, y, class_names=["a"])
        refuses(ValueError, "format=HWC", x, y, format="HWC")
        refuses(ValueError, "one or more samples", x[:0], y[:0])
        refuses(ValueError, "one or more samples", np.zeros((4, 0, 3, 1)), y[:4])
        refuses(ValueError, "one or more samples", np.zeros((4, 1, 1, 1, 1)), y[:4])
        refuses(TypeError, "an array of float16; expected uint8", x.astype(np.float16), y)
        refuses(TypeError, "an array of int64; expected uint8", 5, 5)
        refuses(TypeError, "an array of complex", x, y * 1j)
        refuses(TypeError, "an array of object", x, [None] * 30)
        refuses(TypeError, "classes=.a.", x, y, classes="a")
        refuses(TypeError, "name=5: expected a text", x, y, name=5)
        refuses(TypeError, "class_names=1: expected a text", x, y, class_names=[0, 1, 2][1:])
        refuses(UnicodeEncodeError, "surrogates", x, y, name="\ud800")

    def test_images_that_look_like_planes_are_named(self):
        y = np.arange(4) % 2
        for shape in ((4, 3, 32, 32), (4, 1, 28, 28)):
            with self.assertWarnsRegex(UserWarning, 'x: .* channels, .* format="NCHW" is for'):
                dtnn.Arrays(np.zeros(shape, np.float32), y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for shape in ((4, 32, 32, 3), (4, 28, 28, 1), (4, 1, 100, 16), (4, 3, 3, 8)):
                dtnn.Arrays(np.zeros(shape, np.float32), y)
            dtnn.Arrays(np.zeros((4, 3, 32, 32), np.float32), y, format="NCHW")

    def test_the_module_compares_the_splits(self):
        large, small = np.zeros((2, 100, 100, 1), np.float32), np.zeros((2, 1, 1, 1), np.float32)
        y = np.arange(2, dtype=np.int32)
        for train, test in ((large, small), (small, large)):
            with self.assertRaisesRegex(ValueError, r"shape \(2, .* expected the same extents"):
                dtnn._core.arrays((train, y), (test, y), False, 2, [], b"arrays")

    def test_data_sets_by_name(self):
        data = dtnn.open_dataset("synthetic", synthetic_train_samples=7, synthetic_input_shape=[1, 4, 5])
        self.assertEqual((data.name, data.train_size, data.sample), ("synthetic", 7, (4, 5, 1)))
        self.assertIn("mnist", dtnn.datasets())
        with self.assertRaisesRegex(ValueError, 'dataset=mnits: .*did you mean "mnist"'):
            dtnn.open_dataset("mnits")
        with self.assertRaisesRegex(ValueError, "learning_rate: not for open_dataset"):
            dtnn.open_dataset("synthetic", learning_rate=5)
        dtnn.open_dataset("synthetic", synthetic_train_samples=7, random_seed=3, model="vgg16")
        with self.assertRaisesRegex(dtnn.Error, "^path: /none"):
            dtnn.open_dataset("mnist", "/none")
        with self.assertRaisesRegex(ValueError, "^path: missing; where are the files of cifar10\\?$"):
            dtnn.open_dataset("cifar10")
        with self.assertRaisesRegex(ValueError, "^dataset_path: missing; where are the files of cifar10"):
            dtnn.Run("resnet20", "cifar10")
