"""Callbacks of dtnn.Run."""

import gc
import tempfile
import unittest
import weakref

import dtnn
import numpy as np

Y = np.arange(100) % 2
X = np.random.default_rng(0).random((100, 4, 4, 1), dtype=np.float32)


def begin(callbacks, **options):
    net = dtnn.Network("mine").flatten().fc(2).softmax()
    options = {"schedulers": [], "num_epochs": 3, "batch_size": 20, **options}
    return dtnn.Run(net, dtnn.Arrays(X, Y), callbacks=callbacks, **options)


class At(dtnn.Callback):
    """Calls a function with the run after a batch of the second epoch."""

    def __init__(self, function):
        self.function = function

    def on_batch_end(self, batch, metrics):
        if self.run.epochs_done == 1 and batch == 2:
            self.function(self.run)


class CallbacksTest(unittest.TestCase):
    def test_are_called_in_order(self):
        seen = []

        class Log(dtnn.Callback):
            def on_epoch_begin(self, epoch):
                seen.append(("begin", epoch))

            def on_batch_end(self, batch, metrics):
                seen.append((batch, sorted(metrics)))

            def on_epoch_end(self, epoch, metrics):
                seen.append(("end", epoch, self.run.epochs_done, metrics))

        run = begin([Log(), lambda epoch, metrics: seen.append(metrics)], num_epochs=2)
        history = run.fit()
        names = ["categorical_accuracy", "categorical_cross_entropy"]
        self.assertEqual(seen[:5], [("begin", 0)] + [(i, names) for i in (1, 2, 3, 4)])
        self.assertEqual(seen[5][:3], ("end", 0, 1))
        self.assertEqual(seen[5][3], seen[6])
        self.assertEqual(len(seen), 14)
        self.assertEqual(history, {name: [seen[6][name], seen[13][name]] for name in history})
        self.assertIn("val_categorical_accuracy", history)

    def test_hooks_that_are_never_called_are_named(self):
        class Mistyped(dtnn.Callback):
            on_epoch_ends = on_train_begin = lambda self, *_: None

        with self.assertWarns(UserWarning) as warned:
            begin([Mistyped()])
        said = [str(each.message) for each in warned.warnings]
        self.assertEqual(
            said,
            [
                "callbacks: Mistyped.on_epoch_ends is never called; did you mean on_epoch_end?",
                "callbacks: Mistyped.on_train_begin is never called; "
                "a run calls on_epoch_begin, on_batch_end, on_epoch_end",
            ],
        )

    def test_what_one_raises_ends_the_run_and_is_raised(self):
        def fail(run):
            raise KeyError("of a callback")

        run = begin([At(fail)])
        with self.assertRaisesRegex(KeyError, "of a callback"):
            run.fit()
        self.assertEqual(run.steps_done, 6)
        self.assertEqual(len(run.history["categorical_accuracy"]), 1)
        self.assertEqual(len(run.parameters), 2)
        self.assertEqual(run.predict(X).shape, (100, 2))
        with self.assertRaisesRegex(dtnn.Error, "this run has ended"):
            run.fit()

    def test_may_look_change_the_rate_save_and_stop(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = folder.name + "/middle.safetensors"
        kept = []

        def act(run):
            kept.append(run.parameters)
            run.learning_rate = run.learning_rate / 2
            run.save(path)
            run.stop()

        run = begin([At(act)], learning_rate=0.5)
        run.fit()
        self.assertEqual((run.steps_done, run.learning_rate), (6, 0.25))
        for name, values in run.parameters.items():
            np.testing.assert_array_equal(values, kept[0][name])
        np.testing.assert_array_equal(dtnn.load(path).predict(X), run.predict(X))

    def test_parameters_on_a_gpu_are_those_after_the_step(self):
        kept = []

        def act(run):
            kept.append(run.parameters)
            run.set_parameters({name: values * 2 for name, values in kept[0].items()})
            kept.append(run.parameters)
            run.stop()

        run = begin([At(act)], enable_gpu=True, gpu_device="simulated")
        run.fit()
        for name, values in run.parameters.items():
            np.testing.assert_array_equal(kept[1][name], 2 * kept[0][name])
            np.testing.assert_array_equal(values, kept[1][name])
        on_cpu = []
        begin([At(lambda run: on_cpu.append(run.parameters))]).fit()
        for name, values in on_cpu[0].items():
            np.testing.assert_allclose(kept[0][name], values, rtol=1e-4, atol=1e-6)

    def test_may_not_compute_with_the_run(self):
        for call in (
            lambda run: run.fit(),
            lambda run: run.evaluate(X, Y),
            lambda run: run.predict(X),
            lambda run: run.end(),
        ):
            with self.assertRaisesRegex(dtnn.Error, "is busy: .* calls this callback"):
                begin([At(call)]).fit()
        with self.assertRaisesRegex(ValueError, "learning_rate=-1: must be"):
            begin([At(lambda run: setattr(run, "learning_rate", -1))]).fit()

    def test_wrong_ones_are_named(self):
        with self.assertRaisesRegex(TypeError, "callbacks: expected objects of dtnn.Callback"):
            begin([5])
        with self.assertRaisesRegex(TypeError, "positional argument"):
            begin([lambda epoch: None]).fit()

    def test_one_of_several_runs_has_the_run_that_calls(self):
        seen = []
        callback = At(seen.append)
        runs = [begin([callback]), begin([callback])]
        for run in runs:
            run.fit()
            self.assertIsNone(callback.run)
        self.assertEqual(seen, runs)

    def test_a_cycle_through_the_run_is_collected(self):
        def stopped(**options):
            run = begin([lambda epoch, metrics: run.stop()], **options)
            run.fit()
            return weakref.ref(run)

        def unused(**options):
            run = begin([lambda epoch, metrics: run.stop()], **options)
            return weakref.ref(run)

        def logged(**options):
            runs = []
            run = begin([], log=lambda line: runs, **options)
            runs.append(run)
            return weakref.ref(run)

        for make in (stopped, unused, logged):
            with tempfile.TemporaryDirectory() as folder:
                alive = make(checkpoint_dir=folder)
                gc.collect()
                self.assertIsNone(alive())
                begin([], checkpoint_dir=folder, resume="if-there").end()  # which is free again

    def test_do_not_keep_the_run(self):
        callback = At(lambda run: None)
        run = begin([callback])
        run.fit()
        alive = weakref.ref(run)
        del run
        gc.collect()
        self.assertIsNone(alive())
        self.assertIsNone(callback.run)
