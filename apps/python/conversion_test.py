"""Files of models made of ONNX and PyTorch, and of models ONNX files and models of 8 bits."""

import tempfile
import threading
import unittest

import dtnn
import numpy as np

MODEL = "models/run/testdata/model.safetensors"  # of 4 x 4 grey images, 3 classes
ONNX = "models/onnx/import/testdata/squeezenet.onnx"  # of 44 x 37 images, 4 classes
WEIGHTS = "models/torch/testdata/vgg.pth"


class ConversionTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = folder.name + "/out.safetensors"

    def refuses(self, words, function, *arguments, kind=dtnn.InvalidArgument, **options):
        with self.assertRaises(kind) as refused:
            function(*arguments, **options)
        self.assertEqual(str(refused.exception), words)

    def test_an_onnx_file_becomes_a_model_with_names_and_preprocessing(self):
        said = dtnn.import_onnx(
            ONNX,
            self.out,
            final_activation="softmax",
            class_names=["ant", "bee", "cat", "Düne"],
            mean=[0.485, 0.456, 0.406],
            std=0.25,
        )
        self.assertIn("input (44, 37, 3), output (4,)", said)
        self.assertIn("images: byte / 255, offset -0.485", said)
        model = dtnn.load(self.out)
        self.assertEqual((model.kind, model.classes[3]), ("classes", "Düne"))
        images = np.random.default_rng(0).integers(0, 256, (3, 50, 40, 3), np.uint8)
        np.testing.assert_allclose(model.predict(images).sum(1), 1, rtol=1e-5)

    def test_names_may_be_in_a_file(self):
        names = self.folder + "/my names.txt"
        with open(names, "w") as file:
            file.write("ant\nbee\ncat\n")
        self.refuses(
            f"class_names: {names} names 3 classes, but the network has 4 outputs",
            dtnn.import_onnx,
            ONNX,
            self.out,
            class_names=names,
        )

    def test_export_and_import_give_the_same_answers(self):
        onnx = self.folder + "/mine.onnx"
        self.assertIn("images in NHWC", dtnn.export_onnx(MODEL, onnx, tensor_format="NHWC"))
        dtnn.import_onnx(onnx, self.out)
        x = np.random.default_rng(0).random((9, 4, 4, 1), np.float32)
        np.testing.assert_array_equal(
            dtnn.load(self.out).predict(x), dtnn.load(MODEL).predict(x)
        )
        self.assertIn("a network of the zoo", dtnn.export_onnx("simplecnn", onnx))

    def test_weights_fill_the_network_of_a_model(self):
        net = dtnn.Network("mine").conv2d(4, padding=1).relu().max_pool2d()
        net.conv2d(5, padding=1).relu().conv2d(5, padding=1).relu().max_pool2d()
        net.flatten().fc(7).relu().fc(7).relu().fc(4).softmax()
        data = dtnn.Arrays(np.zeros((8, 12, 8, 3), np.uint8), np.arange(8) % 4)
        structure = self.folder + "/structure.safetensors"
        dtnn.Run(net, data, batch_size=4).save(structure)
        said = dtnn.import_weights(WEIGHTS, structure, self.out)
        self.assertIn("vgg.pth: fills 6 layers of mine\n", said)
        dtnn.load(self.out).predict(np.zeros((1, 12, 8, 3), np.uint8))
        with self.assertRaisesRegex(dtnn.InvalidArgument, '^model=vgg61: unknown model "vgg61"; '):
            dtnn.import_weights(WEIGHTS, "vgg61", self.out)

    def test_arrays_find_the_ranges_of_a_model_of_8_bits(self):
        x = np.random.default_rng(0).random((60, 6, 6, 1), np.float32)
        y = (x.mean((1, 2, 3)) > 0.5).astype(np.int32)
        data = dtnn.Arrays(x, y, x, y)
        net = dtnn.Network("mine").conv2d(16, padding=1).relu().flatten().fc(2).softmax()
        mine = self.folder + "/mine.safetensors"
        dtnn.Run(net, data, batch_size=4).save(mine)
        counted = 0
        said = []
        work = threading.Thread(
            target=lambda: said.append(dtnn.quantize(mine, self.out, data, samples=40))
        )
        work.start()
        while work.is_alive():
            counted += 1
            work.join(0.001)
        self.assertGreater(counted, 50, "other threads run meanwhile")
        self.assertIn("60 samples, ", said[0])
        self.assertIn("1_Conv2D", said[0])
        exact, bytes_ = dtnn.load(self.out), dtnn.load(self.out, math_mode="int8")
        np.testing.assert_allclose(bytes_.predict(x), exact.predict(x), atol=0.05)
        self.refuses(
            "calibrate=arrays: its samples are 6x6x1 with 2 outputs; model simplecnn takes 4x4x1 "
            "and has 3",
            dtnn.quantize,
            MODEL,
            self.out,
            data,
        )

    def test_calibration_takes_values_as_predictions_do(self):
        bytes_ = np.random.default_rng(0).integers(0, 256, (60, 6, 6, 3), np.uint8)
        y = np.arange(60) % 2
        net = dtnn.Network("mine").conv2d(16, padding=1).relu().flatten().fc(2).softmax()
        mine, other = self.folder + "/mine.safetensors", self.folder + "/other.safetensors"
        data = dtnn.Arrays(bytes_, y)
        shown = {"normalize": True, "normalize_offset": [-0.4, -0.5, -0.6], "normalize_scale": 4}
        dtnn.Run(net, data, batch_size=4, **shown).save(mine)
        values = dtnn.Arrays(bytes_ / np.float32(255), y)
        dtnn.quantize(mine, self.out, data)
        dtnn.quantize(mine, other, values)
        answers = [dtnn.load(path, math_mode="int8").predict(bytes_) for path in (self.out, other)]
        np.testing.assert_allclose(answers[1], answers[0], atol=0.01)
        dtnn.Run(net, values, batch_size=4).save(mine)
        self.refuses(
            "calibrate=arrays: its samples are preprocessed in another way (byte / 255, not "
            "normalised) than those of the model's training (as in the data, not normalised); give "
            "their values, of float32, as training had them",
            dtnn.quantize,
            mine,
            self.out,
            data,
        )

    def test_options_are_those_of_the_programs(self):
        self.refuses(
            'final_activtion: no such option; did you mean "final_activation"?',
            dtnn.import_onnx,
            ONNX,
            self.out,
            final_activtion="softmax",
        )
        self.refuses("what: no such option", dtnn.export_onnx, MODEL, self.out, what=1)
        for name in "weights_partial", "model":
            self.refuses(f"{name}: no such option", dtnn.import_onnx, ONNX, self.out, **{name: "torchvision"})
        self.refuses("output: no such option", dtnn.import_weights, WEIGHTS, "vgg16", self.out, output="x")
        self.refuses(
            'class_name: no such option; did you mean "class_names"?',
            dtnn.import_onnx,
            ONNX,
            self.out,
            class_name="x",
        )
        said = dtnn.import_onnx.__doc__
        self.assertIn("\n  crop: float = 0\n", said)
        self.assertIn("with square 0.875 is", said)
        self.assertIn("  method: Literal['minmax', 'percentile', 'entropy'] = minmax\n", dtnn.quantize.__doc__)
        self.assertNotIn("weights_partial", said)
        self.assertIn("weights_partial", dtnn.import_weights.__doc__)

    def test_errors_name_arguments(self):
        self.refuses(
            'final_activation=relu: unknown word "relu"; must be one of: none, softmax, sigmoid',
            dtnn.import_onnx,
            ONNX,
            self.out,
            final_activation="relu",
        )
        self.refuses(
            "mean, std: have 2 and 3 numbers; expected one, or one per channel",
            dtnn.import_onnx,
            ONNX,
            self.out,
            mean=[0, 1],
            std=[1, 1, 1],
        )
        self.refuses(
            f"{WEIGHTS}: has weights alone, by its name; dtnn.import_weights reads such files",
            dtnn.import_onnx,
            WEIGHTS,
            self.out,
        )
        self.refuses(
            f"{ONNX}: has a network of its own, by its name; dtnn.import_onnx reads such files",
            dtnn.import_weights,
            ONNX,
            "vgg16",
            self.out,
        )
        self.refuses(
            "class_names: line 2: ant appears twice",
            dtnn.import_onnx,
            ONNX,
            self.out,
            class_names=["ant", "ant"],
        )
        self.refuses(
            "class_names: is empty; expected a name for each output",
            dtnn.import_onnx,
            ONNX,
            self.out,
            class_names=[],
        )
        self.refuses(
            "none.onnx: cannot be opened: No such file or directory",
            dtnn.import_onnx,
            "none.onnx",
            self.out,
            kind=dtnn.NotFound,
        )
        self.refuses(
            "samples=0: must be a whole number >= 1 and <= 1000000000",
            dtnn.quantize,
            MODEL,
            self.out,
            "x",
            samples=0,
        )
        self.refuses(
            "net.onnx: is not named as a file of arrays; only .npz and .safetensors are read; "
            "dtnn.import_onnx and dtnn.import_weights make models of ONNX files and of weights of "
            "PyTorch",
            dtnn.load,
            "net.onnx",
        )

    def test_functions_name_the_one_that_makes_a_model_first(self):
        torch_names = self.folder + "/state.npz"
        np.savez(torch_names, **{"layer1.0.weight": np.zeros(2, np.float32)})
        for path, what in [
            (ONNX, "is an ONNX model, by its name; dtnn.import_onnx makes a model of it"),
            (WEIGHTS, "has weights of PyTorch, by its name; dtnn.import_weights makes a model of it"),
            (
                torch_names,
                "has weights of PyTorch, by the names of its parameters; dtnn.import_weights makes "
                "a model of it, saved as .safetensors",
            ),
        ]:
            self.refuses(f"{path}: {what}", dtnn.export_onnx, path, self.folder + "/out.onnx")
            self.refuses(f"{path}: {what}", dtnn.quantize, path, self.out, "x")
            self.refuses(f"{path}: {what}", dtnn.import_weights, WEIGHTS, path, self.out)
        self.refuses(
            "none.onnx: cannot be opened: No such file or directory",
            dtnn.export_onnx,
            "none.onnx",
            self.out,
            kind=dtnn.NotFound,
        )


if __name__ == "__main__":
    unittest.main()
