"""The example runs, and is what docs/python.md shows."""

import gzip
import importlib.util
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import dtnn
import numpy as np

PROGRAM = "examples/python/fashion_mnist.py"


def excerpt(name):
    text = pathlib.Path(PROGRAM).read_text()
    return text[text.index(f"# [{name}]\n") : text.index(f"# [/{name}]")].split("\n", 1)[1]


class ExampleTest(unittest.TestCase):
    def test_the_page_shows_it(self):
        page = pathlib.Path("docs/python.md").read_text()
        for name in ("train", "predict"):
            self.assertGreater(len(excerpt(name)), 100)
            self.assertIn(f"```python\n{excerpt(name)}```", page)

    def test_the_program_for_users_of_keras_runs(self):
        page = pathlib.Path("docs/from-keras-and-pytorch.md").read_text()
        begin = page.index('net = dtnn.Network("mine")')
        program = page[begin : page.index("```", begin)]
        x = np.random.default_rng(0).integers(0, 256, (200, 28, 28), np.uint8)
        y = np.arange(200) % 10
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = program.replace("mine.safetensors", folder.name + "/mine.safetensors")
        exec(program, {"dtnn": dtnn, "x": x, "y": y, "x_test": x[:50], "y_test": y[:50]})
        self.assertEqual(len(dtnn.load(folder.name + "/mine.safetensors").classify(x[:3])), 3)

    def test_it_runs(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        labels = np.arange(200, dtype=np.uint8) % 10
        images = np.repeat(labels * 25, 28 * 28).astype(np.uint8)
        for split in ("train", "t10k"):
            with gzip.open(folder / f"{split}-images-idx3-ubyte.gz", "wb") as file:
                file.write(bytes(16) + images.tobytes())
            with gzip.open(folder / f"{split}-labels-idx1-ubyte.gz", "wb") as file:
                file.write(bytes(8) + labels.tobytes())
        printed = subprocess.run(
            [sys.executable, PROGRAM, folder, "2", folder], check=True, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "MPLCONFIGDIR": str(folder)},
        ).stdout
        self.assertRegex(printed, r"epoch 1: .*\nepoch 2: .*\ntest accuracy [0-9.]+ %\nT-shirt: ")
        if importlib.util.find_spec("matplotlib") is None:
            self.assertIn("no curves", printed)
            print("no curves: python3-matplotlib is not installed; ./setup.sh --dev installs it")
        else:
            curves = (folder / "curves.png").read_bytes()
            width, height = struct.unpack(">II", curves[16:24])
            self.assertTrue(curves.startswith(b"\x89PNG"))
            self.assertEqual((width, height), (900, 350))
            self.assertIn("curves.png has the curves", printed)
        self.assertEqual(dtnn.load(folder / "mine.safetensors").classes[3], "dress")
