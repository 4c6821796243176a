"""dtnn.load: predictions with a model from a file."""

import os
import subprocess
import sys
import tempfile
import threading
import unittest

import dtnn
import numpy as np

MODEL = "models/run/testdata/model.safetensors"  # of 4 x 4 grey images, 3 classes
IMAGE = "data/images/testdata/fuzz/image/jpeg_grey"


class PredictorTest(unittest.TestCase):
    def setUp(self):
        self.model = dtnn.load(MODEL)
        self.x = np.random.default_rng(0).random((70, 4, 4, 1), dtype=np.float32)

    def test_says_what_it_is(self):
        model = self.model
        self.assertEqual(model.name, "simplecnn")
        self.assertEqual(model.input_shape, (4, 4, 1))
        self.assertEqual((model.format, model.dtype), ("NHWC", np.float32))
        self.assertEqual((model.kind, model.classes), ("classes", ["0", "1", "2"]))
        self.assertEqual(model.num_parameters, 2751)
        self.assertEqual(model.training["epochs"], 4)
        self.assertIn("Conv2D", model.describe())
        self.assertIn("simplecnn", repr(model))

    def test_answers_do_not_depend_on_batches_layout_or_format(self):
        expected = self.model.predict(self.x)
        self.assertEqual((expected.shape, expected.dtype), ((70, 3), np.float32))
        np.testing.assert_allclose(expected.sum(1), 1, rtol=1e-6)
        for other in (
            self.x.astype(np.float64),
            self.x[..., 0],
            np.asfortranarray(self.x),
            self.x.astype(">f4"),
            np.repeat(self.x, 2, axis=2)[:, :, ::2],
        ):
            np.testing.assert_array_equal(self.model.predict(other), expected)
        planes = self.x.transpose(0, 3, 1, 2)
        np.testing.assert_array_equal(self.model.predict(planes, format="NCHW"), expected)
        one_by_one = dtnn.load(MODEL, batch_size=1)
        np.testing.assert_array_equal(one_by_one.predict(self.x), expected)
        self.assertEqual(self.model.predict(self.x[:0]).shape, (0, 3))
        self.assertEqual(self.model.predict([]).shape, (0, 3))
        self.assertEqual(self.model.classify([]), [])

    def test_bfloat16_is_nearly_as_exact(self):
        exact, rounded = self.model.predict(self.x), dtnn.load(MODEL, math_mode="bf16").predict(self.x)
        self.assertEqual(rounded.dtype, np.float32)
        np.testing.assert_allclose(rounded, exact, atol=0.03)
        self.assertTrue((rounded != exact).any())

    def test_images_are_converted_as_in_training(self):
        images = np.random.default_rng(0).integers(0, 256, (5, 4, 4, 1), np.uint8)
        values = self.model.predict(images.astype(np.float32) / np.float32(255))
        np.testing.assert_allclose(self.model.predict(images), values, rtol=1e-5)
        self.assertEqual(self.model.predict(np.zeros((2, 9, 7), np.uint8)).shape, (2, 3))
        of_file = self.model.predict(IMAGE)
        self.assertEqual(of_file.shape, (1, 3))
        np.testing.assert_array_equal(self.model.predict([IMAGE, IMAGE])[1:], of_file)

    def test_images_of_other_channels_are_converted_as_files_are(self):
        rng = np.random.default_rng(0)
        grey = rng.integers(0, 256, (5, 9, 7, 1), np.uint8)
        alpha = rng.integers(0, 256, (5, 9, 7, 1), np.uint8)
        rgb = np.repeat(grey, 3, axis=3)  # of luma grey
        expected = self.model.predict(grey)
        for images in (grey[..., 0], np.concatenate([grey, alpha], 3), rgb, np.concatenate([rgb, alpha], 3)):
            np.testing.assert_array_equal(self.model.predict(images), expected)
        net = dtnn.Network().input(8, 8, 3).flatten().fc(2).softmax()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = folder.name + "/colour.safetensors"
        dtnn.Run(net, dtnn.Arrays(np.zeros((9, 8, 8, 3), np.uint8), np.arange(9) % 2), schedulers=[], batch_size=4).save(path)
        colour = dtnn.load(path)
        expected = colour.predict(rgb)
        for images in (grey, grey[..., 0], np.concatenate([grey, alpha], 3), np.concatenate([rgb, alpha], 3)):
            np.testing.assert_array_equal(colour.predict(images), expected)
        with self.assertRaisesRegex(ValueError, r"images of 8x8x5: expected .* 1 channel \(grey\), 3 "):
            colour.predict(np.zeros((1, 8, 8, 5), np.uint8))
        # A picture in colour is not as many in grey as it has rows.
        for one in (rgb[0], rgb[0, :, :, :2], np.zeros((375, 500, 4), np.uint8)):
            with self.assertRaisesRegex(ValueError, r"as one image; expected \(n, height, width, channels\)"):
                colour.predict(one)

    def test_classify_names_the_best(self):
        outputs = self.model.predict(self.x)
        best = self.model.classify(self.x, top=2)
        for row, answer in zip(outputs, best):
            self.assertEqual(answer[0], (str(row.argmax()), float(row.max())))
            self.assertGreaterEqual(answer[0][1], answer[1][1])
        self.assertEqual(self.model.classify(self.x), [answer[0] for answer in best])
        self.assertEqual(len(self.model.classify(self.x[0:1], top=99)[0]), 3)
        self.assertEqual(self.model.classify(self.x, top=1), self.model.classify(self.x))

    def test_classify_says_what_predict_says(self):
        def trained(net, y, loss):
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            path = folder.name + "/mine.safetensors"
            dtnn.Run(net, dtnn.Arrays(self.x, y), loss_func=loss, schedulers=[], metrics=[], batch_size=8).save(path)
            return dtnn.load(path)

        y = np.random.default_rng(1).random((70, 3)).round().astype(np.float32)
        labels = trained(dtnn.Network().flatten().fc(3).sigmoid(), y, "binary_cross_entropy")
        self.assertEqual(labels.kind, "labels")
        for row, answer in zip(labels.predict(self.x), labels.classify(self.x)):
            likely = [i for i in np.argsort(-row, kind="stable") if row[i] > 0.5]
            self.assertEqual(answer, [(str(i), float(row[i])) for i in likely])
        self.assertEqual(len(labels.classify(self.x[:1], top=2)[0]), 2)
        values = trained(dtnn.Network().flatten().fc(3), y, "mse")
        self.assertEqual(values.kind, "values")
        expected = [[(str(i), float(v)) for i, v in enumerate(row)] for row in values.predict(self.x)]
        self.assertEqual(values.classify(self.x), expected)
        with self.assertWarnsRegex(UserWarning, "^top=1 has no effect: the network predicts values"):
            self.assertEqual(values.classify(self.x, top=1), expected)

    def test_threads_share_it(self):
        expected = self.model.predict(self.x)
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(self.model.predict(self.x)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 4)
        for answer in answers:
            np.testing.assert_array_equal(answer, expected)

    def test_wrong_arguments_are_named(self):
        def refuses(error, words, call, *args, **kwargs):
            with self.assertRaisesRegex(error, words):
                call(*args, **kwargs)

        load, predict = dtnn.load, self.model.predict
        refuses(FileNotFoundError, "/none.safetensors: ", load, "/none.safetensors")
        refuses(dtnn.NotFound, "/none.safetensors: ", load, "/none.safetensors")
        refuses(dtnn.InvalidArgument, "not named as a file of arrays", load, "/tmp")
        refuses(ValueError, "zero byte", load, "a\0b")
        refuses(TypeError, "", load, 5)
        for batch in (0, -1):
            refuses(ValueError, f"batches of {batch} samples", load, MODEL, batch_size=batch)
        refuses(MemoryError, "use a smaller batch", load, MODEL, batch_size=2**62)
        refuses(ValueError, "does not fit into 64 bits", load, MODEL, batch_size=2**64)
        refuses(RuntimeError, "no ranges of values, which 8 bits need; dtnn.quantize finds them$", load, MODEL, math_mode="int8")
        modes = '^math_mode=tf32: must be one of: fp32, bf16, int8$'
        refuses(ValueError, modes, load, MODEL, math_mode="tf32")
        refuses(TypeError, "^math_mode=5: expected a text", load, MODEL, math_mode=5)
        refuses(ValueError, r"not \(70, 2, 4, 1\)", predict, self.x[:, :2])
        one = r"x: has shape \(4, 4, 1\), as one sample; expected \(n, 4, 4, 1\)"
        refuses(ValueError, one, predict, self.x[0])
        refuses(ValueError, one, predict, np.zeros((4, 4, 1), np.uint8))
        self.assertEqual(predict(self.x[:1, :, :, 0], format="NCHW").shape[0], 1)
        self.assertEqual(predict(self.x[:4, :, :, 0]).shape[0], 4)  # images of one channel
        refuses(ValueError, r"takes samples of \(4, 4, 1\)", predict, np.zeros(4, np.float32))
        refuses(ValueError, r"takes samples of \(4, 4, 1\)", predict, np.float32(3))
        refuses(TypeError, "is int64; expected uint8 images", predict, self.x.astype(int))
        refuses(TypeError, "an array of object", predict, np.array([None, 1], object))
        refuses(ValueError, "NaN or infinite", predict, np.full((1, 4, 4, 1), np.nan))
        refuses(ValueError, "images of 0x4x1", predict, np.zeros((1, 0, 4, 1), np.uint8))
        refuses(ValueError, "images of 4x4x5", predict, np.zeros((1, 4, 4, 5), np.uint8))
        refuses(ValueError, "uint8 of shape", predict, np.zeros((4, 4), np.uint8))
        refuses(ValueError, "uint8 images are NHWC", predict, np.zeros((1, 4, 4), np.uint8), format="NCHW")
        refuses(ValueError, "format=HWC", predict, self.x, format="HWC")
        refuses(FileNotFoundError, "/none.png: ", predict, ["/none.png"])
        refuses(ValueError, "neither", predict, __file__)
        refuses(ValueError, "top=0", self.model.classify, self.x, top=0)

    def test_other_numpy_is_refused(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.mkdir(folder.name + "/numpy")
        with open(folder.name + "/numpy/__init__.py", "w") as package:
            package.write('__version__ = "2.1.0"')
        path = os.pathsep.join([folder.name, *sys.path])
        done = subprocess.run(
            [sys.executable, "-c", "import dtnn"], env={**os.environ, "PYTHONPATH": path},
            stderr=subprocess.PIPE, text=True,
        )
        self.assertIn("dtnn was built for NumPy 1, and this is NumPy 2.1.0", done.stderr)

    def test_names_of_files_need_not_be_utf8(self):
        name = os.fsencode(os.environ["TEST_TMPDIR"]) + b"/\xff.safetensors"
        with self.assertRaisesRegex(FileNotFoundError, r"\\xff.safetensors: "):
            dtnn.load(os.fsdecode(name))
        with open(MODEL, "rb") as model, open(name, "wb") as copy:
            copy.write(model.read())
        self.assertEqual(dtnn.load(os.fsdecode(name)).name, "simplecnn")
