"""Signals while dtnn computes."""

import signal
import tempfile
import time
import unittest

import dtnn
import numpy as np

Y = np.arange(100) % 2
X = np.random.default_rng(0).random((100, 4, 4, 1), dtype=np.float32)


def begin(callbacks, data=None, **options):
    net = dtnn.Network("mine").flatten().fc(2).softmax()
    options = {"schedulers": [], "num_epochs": 3, "batch_size": 20, **options}
    return dtnn.Run(net, data or dtnn.Arrays(X, Y), callbacks=callbacks, **options)


class Sender(dtnn.Callback):
    """Sends this process a signal in the second step of the second epoch."""

    def __init__(self, number):
        self.number = number

    def on_batch_end(self, batch, metrics):
        if self.run.epochs_done == 1 and batch == 2:
            signal.raise_signal(self.number)


class SignalsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.options = {"checkpoint_dir": folder.name + "/c", "resume": "if-there"}

    def test_ctrl_c_ends_the_run_with_its_checkpoint(self):
        whole = begin([])
        whole.fit()
        before = signal.getsignal(signal.SIGINT)
        run = begin([Sender(signal.SIGINT)], **self.options)
        with self.assertRaisesRegex(KeyboardInterrupt, "SIGINT after 6 steps; resume continues"):
            run.fit()
        self.assertEqual((run.steps_done, run.epochs_done), (6, 1))
        self.assertEqual(signal.getsignal(signal.SIGINT), before)
        resumed = begin([], **self.options)  # `run` is still there
        self.assertEqual(resumed.steps_done, 6)
        path = self.options["checkpoint_dir"] + ".npz"
        run.save(path)
        np.testing.assert_array_equal(run.predict(X), resumed.predict(X))
        np.testing.assert_array_equal(dtnn.load(path).predict(X), resumed.predict(X))
        for _ in range(2):
            with self.assertRaisesRegex(dtnn.Error, "this run has ended"):
                run.fit()
        self.assertIn("categorical_accuracy", run.evaluate(X, Y))
        run.end()
        resumed.fit()
        for name, values in resumed.parameters.items():
            np.testing.assert_array_equal(values, whole.parameters[name])

    def test_sigterm_ends_the_program_as_it_does_the_launcher(self):
        with self.assertRaises(SystemExit) as ended:
            begin([Sender(signal.SIGTERM)], **self.options).fit()
        self.assertEqual(ended.exception.code, 128 + signal.SIGTERM)
        self.assertEqual(begin([], **self.options).steps_done, 6)

    def test_without_it_signals_are_those_of_python(self):
        run = begin([Sender(signal.SIGINT)], stop_on_signal=False)
        with self.assertRaises(KeyboardInterrupt):
            run.fit()

    def test_without_it_they_end_training_and_validation(self):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, signal.SIG_DFL)
        x = np.zeros((200_000, 4, 4, 1), np.float32)
        for share in (0, 0.999):  # most of the time is that of the other part
            run = begin([], data=dtnn.Arrays(x, np.arange(len(x)) % 2), num_epochs=1, batch_size=1,
                        validation_split=share, stop_on_signal=False)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with self.assertRaises(KeyboardInterrupt):
                run.fit()
            self.assertEqual(run.epochs_done, 0)
            self.assertLess(run.steps_done, len(x))

    def test_a_run_that_ctrl_c_ended_can_be_tested_and_saved(self):
        run = begin([Sender(signal.SIGINT)])
        with self.assertRaises(KeyboardInterrupt):
            run.fit()
        path = self.options["checkpoint_dir"] + ".npz"
        run.save(path)
        self.assertIn("categorical_accuracy", run.evaluate(X, Y))
        np.testing.assert_array_equal(dtnn.load(path).predict(X), run.predict(X))
        with self.assertRaisesRegex(dtnn.Error, "this run has ended"):
            run.fit()
        run.end()
        with self.assertRaisesRegex(dtnn.Error, "this run has ended"):
            run.save(path)

    def test_a_test_that_ctrl_c_ended_is_not_kept(self):
        def press(line):
            if "Evaluating" in line:
                signal.raise_signal(signal.SIGINT)

        path = self.options["checkpoint_dir"] + ".csv"
        run = begin([], log=press, history_file=path, data=dtnn.Arrays(X, Y, X, Y))
        run.fit()
        with open(path) as file:
            before = file.read()
        with self.assertRaises(KeyboardInterrupt):
            run.evaluate()
        with open(path) as file:
            self.assertEqual(file.read(), before)

    def interrupted(self, compute):
        """Where in a computation handlers of Python run: 0 at its begin, 1 at its end."""
        times = []
        before = signal.signal(signal.SIGALRM, lambda *_: times.append(time.monotonic()))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        compute()
        return (times[0] - begin) / (time.monotonic() - begin)

    def test_handlers_run_during_predictions(self):
        samples = np.zeros((300_000, 4, 4, 1), np.float32)
        run = begin([], batch_size=1)
        run.save(self.options["checkpoint_dir"] + ".npz")
        model = dtnn.load(self.options["checkpoint_dir"] + ".npz", batch_size=1)
        for compute in (lambda: run.predict(samples), lambda: model.predict(samples)):
            self.assertLess(self.interrupted(compute), 0.7)

    def test_ctrl_c_ends_a_prediction_and_the_run_goes_on(self):
        def press(line):
            if "Predicting" in line and presses:
                presses.pop()
                signal.raise_signal(signal.SIGINT)

        presses = [1]
        run = begin([], log=press)
        with self.assertRaises(KeyboardInterrupt):
            run.predict(X)
        self.assertEqual(run.predict(X).shape, (100, 2))
