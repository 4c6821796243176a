"""dtnn.Run: training, evaluation, saving, options."""

import csv
import gc
import json
import os
import pathlib
import pydoc
import sys
import tempfile
import threading
import unittest
import warnings
import weakref

import dtnn
import numpy as np

RNG = np.random.default_rng(0)
Y = np.arange(240) % 3
X = (RNG.random((240, 6, 6, 1)) * 0.4 + Y[:, None, None, None] * 0.3).astype(np.float32)


def network():
    return dtnn.Network("mine").conv2d(4, padding=1).relu().flatten().fc(3).softmax()


def begin(net=None, data=None, **options):
    options = {"schedulers": [], "optimizer": "adam", "learning_rate": 0.01, **options}
    return dtnn.Run(net or network(), data or dtnn.Arrays(X, Y, X, Y), **options)


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_learns_and_saves_what_it_learned(self):
        run = begin(num_epochs=12, batch_size=16)
        history = run.fit()
        self.assertEqual(len(history["categorical_accuracy"]), 12)
        self.assertLess(history["val_categorical_cross_entropy"][-1], 0.5)
        self.assertGreater(run.evaluate()["categorical_accuracy"], 90)
        self.assertEqual((run.epochs_done, run.steps_done), (12, 144))
        outputs = run.predict(X)
        for nothing in ([], X[:0]):
            self.assertEqual((run.predict(nothing).shape, run.predict([]).dtype), ((0, 3), np.float32))
        self.assertEqual((outputs.shape, outputs.dtype), ((240, 3), np.float32))
        accuracy = 100 * (outputs.argmax(1) == Y).mean()
        self.assertAlmostEqual(run.evaluate()["categorical_accuracy"], accuracy, places=9)
        run.save(self.folder / "mine.safetensors")
        model = dtnn.load(self.folder / "mine.safetensors")
        np.testing.assert_array_equal(model.predict(X), outputs)

    def test_a_normalisation_is_a_part_of_the_model(self):
        for x, options in (
            (X, {"standardize": True}),
            ((X * 200).astype(np.uint8), {"normalize": True, "normalize_offset": [-0.5], "normalize_scale": 2}),
        ):
            run = begin(data=dtnn.Arrays(x, Y), num_epochs=2, **options)
            run.fit()
            run.save(self.folder / "mine.npz")
            model = dtnn.load(self.folder / "mine.npz")
            np.testing.assert_allclose(model.predict(x), run.predict(x), rtol=1e-6)

    def test_the_same_seed_gives_the_same_run(self):
        def parameters(**options):
            run = begin(num_epochs=2, **options)
            run.fit()
            return run.parameters["4_FC_weights"]

        np.testing.assert_array_equal(parameters(random_seed=3), parameters(random_seed=3))
        self.assertTrue((parameters(random_seed=3) != parameters(random_seed=4)).any())

    def test_planes_and_pixels_give_the_same_run(self):
        x = RNG.random((90, 6, 6, 2), dtype=np.float32)
        y = Y[:90]
        planes = dtnn.Arrays(np.ascontiguousarray(x.transpose(0, 3, 1, 2)), y, format="NCHW")
        one, other = begin(data=dtnn.Arrays(x, y)), begin(data=planes)
        self.assertEqual(one.fit(), other.fit())
        self.assertEqual(one.evaluate(x, y), other.evaluate(x.transpose(0, 3, 1, 2), y))

    def test_evaluates_other_data(self):
        run = begin()
        self.assertEqual(run.evaluate(), run.evaluate(X, Y))
        self.assertEqual(run.evaluate(split="train"), run.evaluate(dtnn.Arrays(X, Y), split="train"))
        shifted = run.evaluate(X, (Y + 1) % 3)
        self.assertNotEqual(run.evaluate(), shifted)
        for words, args in (
            (r"expected 0 to 2", (X, Y + 5)),
            (r"samples of 3x6x1", (X[:, :3], Y)),
            (r"contains NaN", (X * np.nan, Y)),
        ):
            with self.assertRaisesRegex(ValueError, words):
                run.evaluate(*args)
        with self.assertRaisesRegex(ValueError, "split=valid"):
            run.evaluate(split="valid")
        with self.assertRaisesRegex(ValueError, r"has shape \(6, 6, 1\), as one sample; expected \(n, 6"):
            run.predict(X[0])
        run.fit()  # goes on
        with self.assertRaisesRegex(ValueError, "arrays has no test samples; test with a data set that"):
            begin(data=dtnn.Arrays(X, Y)).evaluate()
        images = bytes([0, 0, 8, 3, 0, 0, 0, 200, 0, 0, 0, 4, 0, 0, 0, 4]) + bytes(range(16)) * 200
        labels = bytes([0, 0, 8, 1, 0, 0, 0, 200]) + bytes(range(10)) * 20
        (self.folder / "train-images-idx3-ubyte").write_bytes(images)
        (self.folder / "train-labels-idx1-ubyte").write_bytes(labels)
        named = dtnn.Run("simplemlp", "mnist", dataset_path=self.folder)
        with self.assertRaisesRegex(ValueError, "test samples are only read with evaluate=True"):
            named.evaluate()

    def test_the_sample_with_a_wrong_label_is_named(self):
        stray = np.where(np.arange(240) == 17, 3, Y)
        for data, words in (
            (dtnn.Arrays(X, stray), "; the label of training sample 17 is 3, expected 0 to 2"),
            (dtnn.Arrays(X, Y, X, stray), "; the label of test sample 17 is 3, expected 0 to 2"),
            (dtnn.Arrays(X, Y * 1.0), "and class labels must be integers"),
            (dtnn.Arrays(X, stray, classes=4), "and 4 outputs$"),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a class without training samples
                    begin(network(), data)

    def test_values_and_labels(self):
        run = begin(
            dtnn.Network().flatten().fc(2), dtnn.Arrays(X, np.stack([X.mean((1, 2, 3)), Y], 1)),
            loss_func="mse", metrics=["regression_mae"], num_epochs=3, batch_size=16,
        )
        history = run.fit()
        self.assertLess(history["mse"][-1], history["mse"][0])
        self.assertEqual(run.predict(X).shape, (240, 2))
        labels = np.stack([Y > 0, Y > 1], 1)
        run = begin(
            dtnn.Network().flatten().fc(2).sigmoid(), dtnn.Arrays(X, labels),
            loss_func="binary_cross_entropy",
        )
        run.fit()
        run.save(self.folder / "labels.safetensors")
        self.assertEqual(dtnn.load(self.folder / "labels.safetensors").kind, "labels")

    def test_parameters_are_copies(self):
        run = begin()
        before = run.evaluate()
        parameters = run.parameters
        for values in parameters.values():
            values *= 0
        self.assertEqual(run.evaluate(), before)
        run.set_parameters(parameters)
        self.assertAlmostEqual(run.evaluate()["categorical_cross_entropy"], np.log(3), places=6)
        other = begin(random_seed=9)
        run.set_parameters({name: np.asfortranarray(v) for name, v in other.parameters.items()})
        self.assertEqual(run.evaluate(), other.evaluate())
        known = run.parameters["4_FC_weights"]
        for error, words, change in (
            (ValueError, 'no parameter "4_weights"', {"4_weights": known}),
            (ValueError, r"shape \(144, 3\), not \(3, 144\)", {"4_FC_weights": known.T}),
            (ValueError, "NaN", {"4_FC_weights": known * np.nan}),
            (TypeError, "object", {"4_FC_weights": None}),
        ):
            with self.assertRaisesRegex(error, words):
                run.set_parameters({"1_Conv2D_biases": np.full(4, 7), **change})
        np.testing.assert_array_equal(run.parameters["1_Conv2D_biases"], 0)  # all or nothing

    def test_continues_with_a_model(self):
        run = begin(num_epochs=2)
        run.fit()
        run.save(self.folder / "mine.safetensors")
        more = dtnn.Run.load(self.folder / "mine.safetensors", dtnn.Arrays(X, Y, X, Y), num_epochs=1, schedulers=[])
        self.assertEqual(more.evaluate(), run.evaluate())
        self.assertEqual((more.options["optimizer"], more.learning_rate), ("adam", 0.01))
        more.fit()

    def test_another_optimizer_begins_with_its_own_constants(self):
        path, data = self.folder / "mine.safetensors", dtnn.Arrays(X, Y, X, Y)
        begin(optimizer="adamw", ema=0.9).save(path)
        own = begin(optimizer="sgd").options
        more = dtnn.Run.load(path, data, optimizer="sgd", schedulers=[])
        self.assertEqual(dtnn.Run.load(path, data, schedulers=[]).options["optimizer_decay"], 0.01)
        self.assertEqual(more.options["optimizer_decay"], own["optimizer_decay"])
        self.assertEqual((more.learning_rate, more.options["ema"]), (0.01, 0.9))
        begin(optimizer="rmsprop", optimizer_rho=0.8).save(path)
        for options, rho in (
            ({}, 0.8),
            ({"optimizer": "rmsprop"}, 0.8),
            ({"optimizer_rho": 0.7}, 0.7),
        ):
            run = dtnn.Run.load(path, data, schedulers=[], **options)
            self.assertEqual(run.options["optimizer_rho"], rho)
        run = dtnn.Run.load(path, data, optimizer_beta1=0.5, optimizer="adam", schedulers=[])
        self.assertEqual((run.options["optimizer"], run.options["optimizer_beta1"]), ("adam", 0.5))

    def test_each_of_several_runs_has_its_own_profile(self):
        def steps(name):
            return json.loads((self.folder / name).read_text())["steps"]

        for epochs in (1, 2, 3):
            name = f"{epochs}.json"
            run = begin(num_epochs=epochs, batch_size=48, profile=str(self.folder / name))
            run.fit()
        run.end()
        self.assertEqual([steps(f"{epochs}.json") for epochs in (1, 2, 3)], [4, 8, 12])
        run = begin(num_epochs=1, batch_size=48, profile=str(self.folder / "thread.json"))
        thread = threading.Thread(target=run.fit)
        thread.start()
        thread.join()
        run.end()
        self.assertEqual(steps("thread.json"), 4)

    def test_no_samples_have_as_many_outputs_as_some(self):
        masks = np.zeros((8, 6, 6), np.int32)
        masks[:, 3:] = 1
        data = dtnn.Arrays(X[:8], masks, X[:8], masks)
        run = begin(dtnn.Network().conv2d(2, padding=1).softmax(), data, batch_size=2)
        self.assertEqual((run.predict(X[:1]).shape, run.predict(X[:0]).shape), ((1, 72), (0, 72)))

    def test_what_a_callback_has_stopped_is_continued(self):
        run = begin(num_epochs=3, callbacks=[lambda epoch, metrics: epoch == 0 and run.stop()])
        run.fit()
        self.assertEqual(run.epochs_done, 1)
        run.fit()
        self.assertEqual(run.epochs_done, 3)

    def test_a_message_is_one_text(self):
        texts = []
        begin(log=texts.append)
        self.assertNotIn("", texts)
        (ran,) = [text for text in texts if "**** Running on" in text]
        self.assertRegex(ran, r"\*\*\*\* Running on cpu \(\d+ thread.*\)$")

    def test_messages_say_what_is_done(self):
        texts = []
        run = begin(log=texts.append)
        said = {"test": "Evaluating on test dataset", "train": "Evaluating on training dataset"}
        for split, words in said.items():
            texts.clear()
            run.evaluate(split=split)
            self.assertIn(f"**** {words}...", texts)
        texts.clear()
        run.predict(X)
        self.assertIn("**** Predicting...", texts)
        self.assertNotIn("Evaluating", "".join(texts))

    def test_more_epochs_and_files(self):
        run = begin(num_epochs=1, history_file=self.folder / "h.csv")
        run.fit()
        self.assertEqual(len(run.fit(2)["categorical_accuracy"]), 3)
        with open(self.folder / "h.csv") as rows:
            self.assertEqual(len(list(csv.reader(rows))), 4)
        with self.assertRaisesRegex(dtnn.Error, r"Run.fit\(n\) trains n more"):
            run.fit()
        with self.assertRaisesRegex(ValueError, r"Run.fit\(-1\)"):
            run.fit(-1)

    def test_resumes(self):
        whole = begin(num_epochs=3)
        whole.fit()
        options = {"checkpoint_dir": self.folder / "c", "resume": "if-there"}
        with begin(num_epochs=1, **options) as run:
            run.fit()
        saved = dtnn.load(next((self.folder / "c").glob("checkpoint-*.npz")))
        self.assertEqual(saved.training["written_by"], f"DTNN {dtnn.__version__}")
        resumed = begin(num_epochs=3, **options)
        self.assertEqual(resumed.epochs_done, 1)
        resumed.fit()
        np.testing.assert_array_equal(
            resumed.parameters["4_FC_weights"], whole.parameters["4_FC_weights"]
        )
        self.assertEqual(len(resumed.history["categorical_accuracy"]), 2)

    def test_options_are_those_of_the_launcher(self):
        run = begin(learning_rate=0.5, schedulers=["cosine"], batch_size=np.int64(7))
        options = run.options
        self.assertEqual((options["learning_rate"], options["batch_size"]), (0.5, 7))
        self.assertEqual(options["schedulers"], ["cosine"])
        self.assertEqual(begin().options["batch_size"], 64)
        self.assertIsNone(begin().options["dataset_path"] or None)
        self.assertIsNone(begin(optimizer=None, learning_rate=0.01).options["checkpoint_dir"])
        for words, bad in (
            ("num_epochs=-1: must be a whole number >= 0", {"num_epochs": -1}),
            ("num_epochs=2.5: must be a whole number", {"num_epochs": 2.5}),
            ("num_epochs=True: must be a whole number", {"num_epochs": True}),
            ("learning_rate=nan: must be a real number > 0", {"learning_rate": float("nan")}),
            ("learning_rate=-inf: must be", {"learning_rate": -np.inf}),
            ('optimizer=adamm: .*did you mean "adamw"', {"optimizer": "adamm"}),
            ("lr: no such option; did you mean learning_rate", {"lr": 0.1}),
            ("epochs: no such option; did you mean num_epochs", {"epochs": 1}),
            (
                "validation_data: no such option; give x_test and y_test of dtnn.Arrays, and "
                "test_as_validation=True",
                {"validation_data": (X, Y)},
            ),
            ("dry_run: no such option", {"dry_run": True}),
            ("schedulers=cosine,cosine: names cosine twice", {"schedulers": ["cosine"] * 2}),
            (r"save_model=a.x00b: contains a zero byte", {"save_model": "a\0b"}),
            ("optimizer_momentum", {"optimizer": "adam", "optimizer_momentum": 0.5}),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                begin(**bad)
        for bad in ({"learning_rate": {}}, {"metrics": [None]}, {"seed": object()}):
            with self.assertRaises(TypeError):
                begin(**bad)
        with self.assertRaisesRegex(TypeError, "log: expected a function of a text, not 5"):
            begin(log=5)
        with self.assertRaisesRegex(FileNotFoundError, r"x.xff.npz: "):  # a name that is not UTF-8
            begin(weights_and_bias_filename=os.fsdecode(b"x\xff.npz"))
        with self.assertRaisesRegex(TypeError, "model: expected a name or"):
            dtnn.Run(5)
        for data, what in (((X, Y), "tuple$"), (X, r" of shape \(\d+, .*\)$")):
            with self.assertRaisesRegex(TypeError, "dataset: expected a name, dtnn.Arrays.* not a .*" + what):
                dtnn.Run("resnet20", data)
        with self.assertRaisesRegex(dtnn.NotFound, 'unknown model "vgg61"'):
            dtnn.Run("vgg61", dtnn.Arrays(X, Y))
        with self.assertRaisesRegex(ValueError, "model: missing"):
            dtnn.Run(None, dtnn.Arrays(X, Y))

    def test_warnings_are_those_of_python(self):
        with self.assertWarnsRegex(UserWarning, "checkpoint_freq has no effect without checkpoint_dir") as seen:
            begin(checkpoint_freq=5)
        self.assertEqual(seen.filename, __file__)
        with self.assertWarnsRegex(UserWarning, "batch_size=300: is more than the 192 samples"):
            begin(batch_size=300)

    def test_a_data_set_object_replaces_options(self):
        with self.assertWarnsRegex(UserWarning, "dataset_path, transform_resize: no effect beside"):
            begin(dataset_path="none", transform_resize=True)
        with self.assertWarnsRegex(UserWarning, "use_synthetic_data: no effect beside"):
            begin(use_synthetic_data=True)

    def test_ranks_are_those_of_run_as_rank(self):
        for words, options in (
            ("parallel=data: is for the ranks of a job, in a function", {"parallel": "data"}),
            ("elastic=1:2: ranks of Python do not come", {"parallel": "data", "elastic": "1:2"}),
        ):
            with self.assertRaisesRegex(ValueError, words):
                begin(**options)

    def test_metrics_beside_the_loss(self):
        options = begin(loss_func="f1_score,categorical_cross_entropy", metrics=["precision"]).options
        self.assertEqual(options["loss_func"], "categorical_cross_entropy")
        self.assertEqual(options["metrics"], ["precision", "f1_score"])
        with self.assertRaisesRegex(ValueError, "loss_func=mse,mae: must name exactly one loss"):
            begin(loss_func=["mse", "mae"])

    def test_warnings_know_what_the_file_of_a_model_says(self):
        data, path = dtnn.Arrays(X, np.eye(3)[Y] * 0.5), self.folder / "values.npz"
        begin(dtnn.Network().flatten().fc(3), data, loss_func="mse").save(path)
        with self.assertWarnsRegex(UserWarning, "label_smoothing has no effect with loss_func=mse"):
            dtnn.Run(None, data, weights_and_bias_filename=path, label_smoothing=0.1)

    def test_warnings_may_be_exceptions(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "checkpoint_freq has no effect"):
                begin(checkpoint_freq=5, loader_threads=2)
            with self.assertRaisesRegex(UserWarning, "batch_size=300: is more than"):
                begin(batch_size=300)

    def test_metrics_have_the_words_of_the_program(self):
        for metrics in (["accuracy", "f1_score"], "accuracy,f1_score"):
            self.assertEqual(begin(metrics=metrics).options["metrics"], ["categorical_accuracy", "f1_score"])
        self.assertRegex(dtnn.Run.__doc__, "any of: categorical_accuracy, top5_accuracy, .*per_class_report\n")

    def test_networks_and_data_sets_by_name(self):
        lines = []
        run = dtnn.Run(
            "simplecnn", "synthetic", synthetic_train_samples=90, synthetic_test_samples=10,
            synthetic_input_shape=[1, 8, 8], synthetic_output_shape=4, evaluate=True,
            schedulers=[], log=lines.append, dtype="float64",
        )
        self.assertEqual(run.dataset.outputs, 4)
        run.fit()
        self.assertEqual(run.predict(np.zeros((2, 8, 8, 1), np.uint8)).dtype, np.float64)
        self.assertIn("Running on cpu", "\n".join(lines))
        self.assertFalse([line for line in lines if line.endswith("\n")])
        self.assertIn("simplecnn", dtnn.models())
        self.assertIn("Conv2D", run.describe())

    def test_a_run_that_diverges_raises(self):
        run = begin(dtnn.Network().flatten().fc(3), optimizer="sgd", learning_rate=1e30, loss_func="mse",
                    data=dtnn.Arrays(X, np.eye(3)[Y] * 0.7), metrics=[], num_epochs=9)
        with self.assertRaisesRegex(dtnn.Error, "training has diverged"):
            run.fit()
        with self.assertRaisesRegex(dtnn.Error, "this run has ended; dtnn.Run begins another"):
            run.fit()

    def test_a_with_block_raises_what_ended_it(self):
        diverges = {"optimizer": "sgd", "learning_rate": 1e30, "loss_func": "mse", "metrics": [],
                    "data": dtnn.Arrays(X, np.eye(3)[Y] * 0.7), "num_epochs": 9}
        with self.assertRaisesRegex(dtnn.Error, "training has diverged"):
            with begin(dtnn.Network().flatten().fc(3), checkpoint_dir=self.folder / "c", **diverges) as run:
                run.fit()
        run.end()  # once more
        with self.assertRaisesRegex(dtnn.Error, "this run has ended"):
            run.evaluate()

    def test_a_folder_of_checkpoints_is_of_one_run_at_a_time(self):
        path = self.folder / "c"
        first = begin(checkpoint_dir=path)
        with self.assertRaises(dtnn.Error) as refused:
            begin(checkpoint_dir=path)
        self.assertEqual(
            str(refused.exception),
            f"checkpoint_dir: {path}: is in use by a run of this process, whose checkpoints this "
            "run would overwrite; end it with run.end() or a `with` block, or choose another "
            "folder",
        )
        first.end()
        begin(checkpoint_dir=path).end()

    def test_says_what_it_is(self):
        texts = []
        run = begin(num_epochs=1, batch_size=96, callbacks=[lambda *_: texts.append(repr(run))])
        texts.append(repr(run))
        run.fit()
        run.end()
        texts.append(repr(run))
        self.assertEqual(
            texts,
            [
                "<dtnn.Run of mine: 0 epochs, 0 steps>",
                "<dtnn.Run of mine: 1 epoch, 2 steps>",
                "<dtnn.Run of mine: 1 epoch, 2 steps, has ended>",
            ],
        )

    def test_integers_are_values_where_the_run_has_values(self):
        x, y = np.ones((4, 1, 1, 2), np.float32), np.full(4, 7.0)
        run = dtnn.Run(
            dtnn.Network().flatten().fc(1), dtnn.Arrays(x, y, x, y), loss_func="mse", metrics=[],
            validation_split=0, batch_size=4,
        )
        run.set_parameters({"2_FC_weights": np.ones((2, 1)), "2_FC_biases": np.zeros(1)})
        self.assertEqual(run.evaluate(x, np.full(4, 7)), {"mse": 25})
        self.assertEqual(run.evaluate(x, np.full((4, 1), True)), {"mse": 1})
        with self.assertRaisesRegex(ValueError, "has classes to predict"):
            run.evaluate(dtnn.Arrays(x_test=x, y_test=[0, 0, 0, 0], classes=1))
        for y in (Y * 1.0, np.eye(3)[Y] * 0.5):
            with self.assertRaisesRegex(ValueError, "y: is float64 .* expected classes"):
                begin().evaluate(X, y)
        self.assertEqual(begin().evaluate(X, np.eye(3)[Y]), begin().evaluate(X, Y))

    def test_data_do_not_keep_the_run(self):
        class Log:
            def __call__(self, line):
                pass

        log = Log()
        run = dtnn.Run("simplecnn", "synthetic", synthetic_train_samples=90, schedulers=[], log=log)
        alive, data = weakref.ref(log), run.dataset
        del run, log
        gc.collect()
        self.assertIsNone(alive())
        self.assertEqual(data.train_size, 90)

    def test_documentation_lists_every_option(self):
        self.assertIn("learning_rate: float = 0.01", dtnn.Run.__doc__)
        lines = pydoc.plain(pydoc.render_doc(dtnn.Run)).splitlines()
        self.assertLess(max(map(len, lines)), 1000, "a signature with all options helps nobody")
        self.assertNotIn("--", dtnn.Run.__doc__.replace("---", ""))

    def test_runs_end_while_threads_still_read(self):
        for _ in range(20):
            run = begin(data=dtnn.Arrays(X.copy(), Y), loader_threads=2)
            del run
        gc.collect()

    def test_other_threads_run_meanwhile(self):
        def others_run(compute):
            """Whether another thread that may run once compute() is called runs before its end."""
            begun, ended, seen = threading.Lock(), [], []

            def look():
                begun.acquire()
                seen.append(not ended)

            begun.acquire()
            thread = threading.Thread(target=look)
            thread.start()
            begun.release()
            compute()
            ended.append(True)
            thread.join()
            return seen[0]

        run = begin(batch_size=1, num_epochs=1)
        run.save(self.folder / "mine.npz")
        model = dtnn.load(self.folder / "mine.npz", batch_size=1)
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1000)  # a thread runs when another one lets it, not before
        self.assertFalse(any(others_run(lambda: sum(range(1000))) for _ in range(10)))
        for compute in (
            lambda: run.fit(1),
            run.evaluate,
            lambda: run.predict(X),
            lambda: model.predict(X),
        ):
            # The system may let it wait until the end, once and again.
            self.assertTrue(any(others_run(compute) for _ in range(100)))

    def test_arrays_are_shared_by_dlpack(self):
        run = begin()
        run.save(self.folder / "mine.npz")
        model = dtnn.load(self.folder / "mine.npz")
        for array in (run.parameters["4_FC_weights"], run.predict(X), model.predict(X)):
            shared = np.from_dlpack(array)
            np.testing.assert_array_equal(shared, array)
            self.assertTrue(np.shares_memory(shared, array))

    def test_another_thread_cannot_use_a_busy_run(self):
        entered, leave = threading.Event(), threading.Event()
        raised = []

        def wait(epoch, metrics):
            entered.set()
            leave.wait()

        run = begin(callbacks=[wait])
        other = begin()
        thread = threading.Thread(target=run.fit)
        thread.start()
        entered.wait()
        for call in (run.fit, run.evaluate, lambda: run.predict(X), run.end):
            try:
                call()
            except dtnn.Error as error:
                raised.append(str(error))
        try:
            other.fit()
        except dtnn.Error as error:
            raised.append(str(error))
        leave.set()
        thread.join()
        self.assertEqual(len([text for text in raised if "is busy" in text]), 4)
        self.assertIn("stop_on_signal=False", raised[-1])
        other.fit()
