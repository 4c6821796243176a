"""dtnn.run_as_rank: processes that mpirun or launch started train one model."""

import os
import re
import shutil
import socket
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

EXITS = """
def leave(rank, ranks):
    run = make(parallel="data", num_epochs=1000000)
    if rank == 1:
        sys.exit(255)
    run.fit()

dtnn.run_as_rank(leave, comm_timeout=1000)
"""
EXITS_ALONE = """
dtnn.run_as_rank(lambda rank, ranks: sys.exit(CODE))
print("after")
"""
NEVER_MEETS = """
print("begin")
dtnn.run_as_rank(lambda rank, ranks: None, comm_timeout=0.5)
"""
OPTIONS = """
import warnings

def refuse(**options):
    try:
        dtnn.run_as_rank(lambda rank, ranks: None, **options)
    except dtnn.InvalidArgument as error:
        print(error)

def train(rank, ranks):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        make(parallel="data", use_mpi_buffers=False, comm_timeout=20)
        make(parallel="data")
    print(*[warning.message for warning in seen], sep="\\n")

refuse(batch_size=10, num_epochs=50)
refuse(parallel="data")
refuse(elastic="1:2")
dtnn.run_as_rank(train, comm_timeout=50, use_mpi_buffers=False)
"""
THREADS = """
import os, threading

X = np.ones((80, 32, 32, 1), np.float32)
counts = []

def count(epoch, metrics):
    counts.append(len(os.listdir("/proc/self/task")))

def train(rank, ranks):
    run = make(parallel="data", callbacks=[count])
    run.fit(1)
    thread = threading.Thread(target=run.fit, args=[1])
    thread.start()
    thread.join()
    sys.stdout.write(f"{counts[1] - counts[0]} more\\n")

dtnn.run_as_rank(train)
"""


class RanksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, launcher, program, **environment):
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
            env={**os.environ, **environment},
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

    def test_sys_exit_in_one_rank_ends_all(self):
        done = self.start(["apps/launch/launch", "-n", "2", "--"], EXITS)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("dtnn.Error: rank 1 gave up", done.stdout)

    def test_sys_exit_is_that_of_python(self):
        for code, number in (("'no data in x'", 1), ("2**40", 1), ("10**30", 255), ("3", 3), ("0", 0)):
            program = EXITS_ALONE.replace("CODE", code)
            with self.subTest(code):
                done = self.start(["apps/launch/launch", "-n", "1", "--"], program)
                self.assertEqual(done.returncode, number, done.stdout)
                self.assertEqual("no data in x\n" in done.stdout, "data" in code, done.stdout)
                self.assertEqual("after" in done.stdout, number == 0)
                self.assertNotIn("Error", done.stdout)

    def test_what_was_printed_before_a_rank_that_meets_nobody_is_shown(self):
        port = {"PYMPI_ADDR": "127.0.0.1", "DTNN_JOB_SECRET": "5" * 64}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port["PYMPI_PORT"] = str(free.getsockname()[1])
        done = self.start([], NEVER_MEETS, PYMPI_PROTO="tcp", PYMPI_RANK="0", PYMPI_SIZE="2", **port)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, "(?s)^begin\n.*dtnn: ")

    def test_options_are_those_of_ranks_or_of_runs(self):
        done = self.start(["apps/launch/launch", "-n", "1", "--"], OPTIONS)
        self.assertEqual(done.returncode, 0, done.stdout)
        rest = (
            "not for run_as_rank, which takes what says how ranks meet and add; give the rest to "
            "dtnn.Run"
        )
        self.assertEqual(
            done.stdout.replace("[0] ", "").splitlines(),
            [
                f"batch_size, num_epochs: {rest}",
                f"parallel: {rest}",
                "elastic=1:2: ranks of Python do not come and go; the program benchmark trains with "
                "such ranks",
                "use_mpi_buffers, comm_timeout: no effect once ranks have met; give it to "
                "dtnn.run_as_rank",
            ],
        )

    def test_other_threads_have_the_share_of_the_rank(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("a host with one processor")
        without = ["env", "--unset=OMP_NUM_THREADS"]
        done = self.start([*without, "apps/launch/launch", "-n", "2", "--"], THREADS)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("1 more\n"), 2, done.stdout)

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
