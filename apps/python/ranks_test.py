"""dtnn.run_as_rank: processes that mpirun or launch started train one model."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import dtnn
import numpy as np

BEGIN = """
import hashlib, sys
import dtnn
import numpy as np

X = np.random.default_rng(0).random((80, 4, 4, 1), dtype=np.float32)
Y = (X.mean((1, 2, 3)) > 0.5).astype(np.int32)


def make(**options):
    net = dtnn.Network("mine").conv2d(4).relu().flatten().fc(2).softmax()
    options = {"validation_split": 0, "schedulers": [], "num_epochs": 2, **options}
    return dtnn.Run(net, dtnn.Arrays(X, Y, X, Y), **options)

"""
TRAIN = """
def train(rank, ranks):
    run = make(parallel="data", batch_size=10)
    run.fit()
    digest = hashlib.sha256(b"".join(a.tobytes() for a in run.parameters.values())).hexdigest()
    run.save(sys.argv[1])
    # One write, which lines of other ranks do not divide.
    sys.stdout.write(f"rank {rank} of {ranks}: {run.steps_done} steps, {digest}\\n")

dtnn.run_as_rank(train)
print("after")
"""
FAIL = """
def fail(rank, ranks):
    run = make(parallel="data", num_epochs=1000000)
    if rank == 1:
        raise ValueError("of rank 1 alone")
    run.fit()

dtnn.run_as_rank(fail)
print("after")
"""

PREDICT = """
def predict(rank, ranks):
    run = make(parallel="data", batch_size=10)
    run.fit()
    some = X[:7]
    answers = run.predict(some)
    one = run.predict(X[:1])  # fewer than ranks
    run.save(sys.argv[1])
    np.testing.assert_allclose(one, answers[:1], rtol=1e-5)
    np.save(f"{sys.argv[1]}.{rank}.npy", answers)

dtnn.run_as_rank(predict)
"""

ALONE = """
def alone(rank, ranks):
    run = make(parallel="sequential", report=sys.argv[1] + ".html")
    run.fit()
    sys.stdout.write(f"rank {rank} is done\\n")

make()
dtnn.run_as_rank(alone)
"""

IN_A_THREAD = """
import threading

begun = threading.Event()
runs = []

class Watch(dtnn.Callback):
    def on_batch_end(self, batch, metrics):
        begun.set()

    def on_epoch_end(self, epoch, metrics):
        sys.stdout.write(f"epoch {epoch}\\n")

def begin(rank, ranks):
    runs.append(make(parallel="data", batch_size=10, callbacks=[Watch()]))
    threading.Thread(target=runs[0].fit).start()
    begun.wait()

dtnn.run_as_rank(begin)
sys.stdout.write("after\\n")
try:
    runs[0].parameters
except dtnn.Error as error:
    sys.stdout.write(f"{error}\\n")
"""
FAILS_BESIDE_A_THREAD = """
import threading

begun = threading.Event()

def fail(rank, ranks):
    run = make(parallel="data", num_epochs=1000000, callbacks=[Watch()])
    threading.Thread(target=run.fit).start()
    begun.wait()
    raise ValueError("beside a thread")

class Watch(dtnn.Callback):
    def on_batch_end(self, batch, metrics):
        begun.set()

dtnn.run_as_rank(fail)
"""
WAITS_FOR_ANOTHER_RANK = """
import threading

def fail(rank, ranks):
    global end
    run = make(parallel="data", batch_size=10, stop_on_signal=False)
    if rank == 1:
        return open(sys.argv[1] + ".end").read()  # until rank 0 has left
    end = open(sys.argv[1] + ".end", "w")
    threading.Thread(target=run.fit).start()
    while "computes" not in repr(run):
        pass
    raise ERROR("beside a thread")

dtnn.run_as_rank(fail, comm_timeout=1000)
"""
CTRL_C = """
import signal, threading

class Watch(dtnn.Callback):
    def on_epoch_begin(self, epoch):
        if epoch == 2:  # the main thread runs the handler, wherever the signal arrives
            signal.raise_signal(signal.SIGINT)

def begin(rank, ranks):
    options = {"num_epochs": 1000000, "stop_on_signal": False, "callbacks": [Watch()]}
    run = make(parallel="data", batch_size=10, **options)
    threading.Thread(target=run.fit).start()

dtnn.run_as_rank(begin)
sys.stdout.write("after\\n")
"""
ENDS_IN_A_THREAD = """
import threading, time

class Log:
    entered = threading.Event()

    def __call__(self, line):
        pass

    def __del__(self):
        Log.entered.set()
        time.sleep(0.5)
        sys.stdout.write("deleted\\n")

def end(rank, ranks):
    run = make(parallel="data", log=Log())
    threading.Thread(target=run.end).start()
    Log.entered.wait()

dtnn.run_as_rank(end)
sys.stdout.write("after\\n")
"""


class RanksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, launcher, program):
        script = self.folder + "/train.py"
        with open(script, "w") as file:
            file.write(BEGIN + program)
        model = self.folder + "/mine.safetensors"
        return subprocess.run(
            [*launcher, sys.executable, script, model],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        )

    def trains_one_model(self, launcher):
        done = self.start(launcher, TRAIN)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = re.findall(r"rank (.) of 2: 8 steps, (\w{64})\n", done.stdout)
        self.assertEqual([rank for rank, _ in sorted(lines)], ["0", "1"], done.stdout)
        self.assertEqual(lines[0][1], lines[1][1], "all have the same parameters")
        self.assertEqual(done.stdout.count("after"), 2)
        # A single process with as many samples in a step.
        program = BEGIN + "run = make(batch_size=20)\nrun.fit()\nanswers = run.predict(X)\n"
        alone = {}
        exec(compile(program, "alone", "exec"), alone)
        answers = dtnn.load(self.folder + "/mine.safetensors").predict(alone["X"])
        np.testing.assert_allclose(answers, alone["answers"], rtol=1e-4)

    def test_ranks_of_launch(self):
        self.trains_one_model(["apps/launch/launch", "-n", "2", "--"])

    def test_ranks_of_mpirun(self):
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        flags = ["--allow-run-as-root", "--oversubscribe", "-np", "2"]
        self.trains_one_model(["mpirun", *flags])

    def test_all_ranks_predict_all_samples(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], PREDICT)
        self.assertEqual(done.returncode, 0, done.stdout)
        program = {}
        exec(compile(BEGIN, "begin", "exec"), program)
        model = self.folder + "/mine.safetensors"
        expected = dtnn.load(model).predict(program["X"][:7])
        for rank in (0, 1):
            answers = np.load(f"{model}.{rank}.npy")
            np.testing.assert_allclose(answers, expected, rtol=1e-4)

    def test_an_exception_in_one_rank_ends_all(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], FAIL)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ValueError: of rank 1 alone", done.stdout)
        self.assertNotIn("after", done.stdout)

    def test_a_run_that_another_thread_uses_is_awaited(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], IN_A_THREAD)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("epoch 1\n"), 2, done.stdout)
        self.assertLess(done.stdout.index("epoch 1\n"), done.stdout.index("after\n"))
        self.assertEqual(done.stdout.count("this run has ended"), 2, done.stdout)

    def test_an_exception_stops_a_run_of_another_thread(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], FAILS_BESIDE_A_THREAD)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("ValueError: beside a thread", done.stdout)

    def test_an_exception_stops_a_thread_that_waits_for_another_rank(self):
        os.mkfifo(self.folder + "/mine.safetensors.end")
        for error in ("ValueError", "KeyboardInterrupt"):
            program = WAITS_FOR_ANOTHER_RANK.replace("ERROR", error)
            done = self.start(["apps/launch/launch", "-n", "2", "--"], program)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("dtnn.Error: rank 0 gave up", done.stdout)

    def test_ctrl_c_stops_a_run_that_is_awaited(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], CTRL_C)
        self.assertEqual(done.returncode, 130, done.stdout)
        self.assertNotIn("after", done.stdout)

    def test_a_run_that_another_thread_ends_is_awaited(self):
        done = self.start(["apps/launch/launch", "-n", "1", "--"], ENDS_IN_A_THREAD)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"deleted\n.*after\n$")

    def test_processes_that_do_not_train_together_are_told(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], ALONE)
        self.assertEqual(done.returncode, 0, done.stdout)
        words = (
            "UserWarning: 2 processes were started, but each of them trains all by itself, and "
            'writes the same files; parallel="data" in a function that dtnn.run_as_rank calls '
            'divides the work among all of them (parallel="sequential": no warning)\n'
        )
        self.assertEqual(done.stdout.count(words), 1, done.stdout)  # of one rank, of the first run
        self.assertEqual(done.stdout.count("Warning: "), 1, done.stdout)
        self.assertEqual(done.stdout.count(" is done"), 2)

    def test_a_process_alone_is_told_what_starts_several(self):
        with self.assertRaisesRegex(
            dtnn.InvalidArgument, "^run_as_rank: this process was started alone; start several: mpirun"
        ):
            dtnn.run_as_rank(lambda rank, ranks: None)
        with self.assertRaisesRegex(dtnn.InvalidArgument, "^transport=carrier: unknown word"):
            dtnn.run_as_rank(lambda rank, ranks: None, transport="carrier")
        with self.assertRaisesRegex(TypeError, "^work: expected a function"):
            dtnn.run_as_rank(None)


if __name__ == "__main__":
    unittest.main()
