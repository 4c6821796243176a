#!/usr/bin/env python3
"""Compares federations without and with each kind of protection: accuracy, parameters, bytes, time.

    bazel build //apps:benchmark //apps:aggregator
    bench/compare_protections.py --dataset-path=FOLDER [--rounds 5] [--clients 4]

Clients train simplecnn8 on parts of MNIST (FOLDER has its files), one thread each, an epoch per
round. For each protection there is one federation of a single round, after which the parameters of
a client are compared with those without protection, and one of all rounds, whose accuracy on the
test set is that of a client. Prints a table in Markdown; fails where an accuracy differs by more
than 0.2 % or a parameter by more than 1e-4 from those without protection.

Gradient descent is chaotic: differences that float32 hardly shows grow over the rounds. So with
--repeat N all rounds are done N times, with other seeds, and accuracies are means.
"""
import argparse
import array
import csv
import os
import re
import secrets
import statistics
import subprocess
import sys
import tempfile
import zipfile

PROTECTIONS = ["none", "masked", "tenseal", "openfhe"]


def parameters(path):
    """All float32 arrays of a .npz file, in its order."""
    numbers = array.array("f")
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            if name.startswith("__"):
                continue
            data = file.read(name)
            begin = 10 + int.from_bytes(data[8:10], "little")
            if b"'<f4'" in data[:begin]:
                numbers.frombytes(data[begin:])
    return numbers


def federation(options, protection, rounds, seed, folder):
    """Runs one; the lines of its history, and what client 1 printed."""
    history = os.path.join(folder, "rounds.csv")
    environment = dict(os.environ, DTNN_JOB_SECRET=secrets.token_hex(32), OMP_NUM_THREADS="1")
    alike = ["--model=simplecnn8", f"--random-seed={seed}", f"--comm-timeout={options.timeout}"]
    if protection != "none":
        alike.append(f"--encryption={protection}")
    address = f"127.0.0.1:{options.port}"
    aggregator = subprocess.Popen(
        [options.aggregator, "--dataset=mnist", f"--address={address}", f"--rounds={rounds}",
         f"--min-clients={options.clients}", f"--history-file={history}", *alike],
        env=environment, stdout=subprocess.DEVNULL)
    clients = []
    for k in range(1, options.clients + 1):
        command = [options.benchmark, "--parallel=federated", f"--server={address}", "--dataset=mnist",
                   f"--dataset-path={options.dataset_path}", f"--dataset-part={k}/{options.clients}",
                   "--num-epochs=1", "--learning-rate=0.05", f"--client-name=client-{k}",
                   f"--save-model={folder}/client{k}.npz", *alike]
        if protection == "tenseal":
            command.append(f"--encryption-key-file={options.key}")
        if k == 1:
            command.append("--evaluate")
        clients.append(subprocess.Popen(command, env=environment, text=True,
                                        stdout=subprocess.PIPE if k == 1 else subprocess.DEVNULL,
                                        stderr=subprocess.STDOUT if k == 1 else None))
    text = clients[0].communicate()[0]
    for process in [*clients, aggregator]:
        if process.wait() != 0:
            sys.exit(f"{protection}: a process ended with exit code {process.returncode}:\n{text}")
    with open(history, newline="") as file:
        return list(csv.DictReader(file)), text


def accuracy(text):
    found = re.findall(r"test_acc: *([0-9.]+)%", text)
    if not found:
        sys.exit(f"no accuracy in what a client printed:\n{text}")
    return float(found[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset-path", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--port", type=int, default=61655)
    parser.add_argument("--timeout", type=int, default=120)
    parser.add_argument("--aggregator", default="bazel-bin/apps/aggregator/aggregator")
    parser.add_argument("--benchmark", default="bazel-bin/apps/benchmark")
    options = parser.parse_args()
    wrong, plain = [], None
    print("| | to the aggregator, per client and round | to each client | a round | test accuracy "
          f"after {options.rounds} rounds | largest difference to none after 1 round |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        options.key = os.path.join(folder, "key")
        with os.fdopen(os.open(options.key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        for protection in PROTECTIONS:
            federation(options, protection, 1, 0, folder)
            numbers = parameters(os.path.join(folder, "client1.npz"))
            lines, accuracies = [], []
            for seed in range(options.repeat):
                history, text = federation(options, protection, options.rounds, seed, folder)
                lines += history
                accuracies.append(accuracy(text))
            mean = statistics.mean(accuracies)
            if plain is None:
                plain = (numbers, mean)
            difference = max(abs(a - b) for a, b in zip(numbers, plain[0]))
            if len(numbers) != len(plain[0]) or difference > 1e-4:
                wrong.append(f"{protection}: parameters differ by {difference:g}")
            if abs(mean - plain[1]) > 0.2:
                wrong.append(f"{protection}: accuracy differs by {abs(mean - plain[1]):.2f} %")
            # With a shared key the parameters are plain numbers in the first round only.
            to_client = max(int(line["bytes_sent"]) for line in lines) / options.clients
            received = statistics.median(int(line["bytes_received"]) for line in lines)
            seconds = statistics.median(float(line["seconds"]) for line in lines)
            print(f"| {protection} | {received / options.clients / 1e6:.2f} MB | "
                  f"{to_client / 1e6:.2f} MB | {seconds:.1f} s | {mean:.2f} % | "
                  f"{'' if protection == 'none' else f'{difference:.0e}'} |", flush=True)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
