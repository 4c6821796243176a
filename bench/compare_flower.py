#!/usr/bin/env python3
"""Compares simulated federations with Flower's: rounds per second of both, in turns.

    bazel build //apps:simulate
    pip install 'flwr[simulation]' torch
    bench/compare_flower.py --dataset-path=FOLDER [--clients 1000] [--clients-per-round 50] [--rounds 5]

FOLDER has MNIST's files, .gz or not. Both train simplecnn8, in PyTorch here, by SGD with the same
learning rate and batches; a client has an equal part of the samples and trains an epoch per round;
the average is weighted with samples. Both use as many threads as --threads says: ours trains one
client on each, Flower has one actor of Ray on each, and each actor computes with one thread. Flower
keeps its actors' data in memory, once per actor. The first round, in which actors begin and nothing
is compiled yet, is not counted: times are those between the ends of the first and the last round.
Prints a line of JSON per run, and a table in Markdown. Nothing is tested on either side.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time


def read_idx(folder, name):
    """The bytes after the header of an IDX file, as a NumPy array of its shape."""
    import numpy

    path = os.path.join(folder, name)
    opened = gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb")
    with opened as file:
        data = file.read()
    rank = data[3]
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def parts_of(samples, clients):
    """Equal random parts."""
    import numpy

    return numpy.array_split(numpy.random.default_rng(0).permutation(samples), clients)


_kept = {}  # of an actor: its data and network


def network():
    """simplecnn8."""
    import torch

    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(8 * 14 * 14, 128), torch.nn.ReLU(), torch.nn.Dropout(0.5),
        torch.nn.Linear(128, 10))


def train(parameters, indices, options):
    """An epoch on these samples; the parameters after it."""
    import torch

    if not _kept:
        torch.set_num_threads(1)
        images = read_idx(options["path"], "train-images-idx3-ubyte")
        labels = read_idx(options["path"], "train-labels-idx1-ubyte")
        _kept["x"] = torch.from_numpy(images.copy()).unsqueeze(1)
        _kept["y"] = torch.from_numpy(labels.astype("int64"))
        _kept["network"] = network()
    net = _kept["network"]
    with torch.no_grad():
        for own, given in zip(net.parameters(), parameters):
            own.copy_(torch.from_numpy(given.copy()))
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=options["rate"])
    loss = torch.nn.CrossEntropyLoss()
    order = torch.from_numpy(indices.copy())[torch.randperm(len(indices))]
    for begin in range(0, len(order), options["batch"]):
        batch = order[begin:begin + options["batch"]]
        optimizer.zero_grad(set_to_none=True)
        loss(net(_kept["x"][batch].float() / 255), _kept["y"][batch]).backward()
        optimizer.step()
    return [p.detach().numpy() for p in net.parameters()]


def run_flower(options):
    """Seconds per round."""
    import flwr
    from flwr.simulation import run_simulation

    parts = parts_of(len(read_idx(options.dataset_path, "train-labels-idx1-ubyte")), options.clients)
    how = {"path": options.dataset_path, "rate": options.learning_rate, "batch": options.batch_size}
    ends = []

    class Client(flwr.client.NumPyClient):
        def __init__(self, indices):
            self.indices = indices

        def fit(self, parameters, config):
            return train(parameters, self.indices, how), len(self.indices), {}

    def client_fn(context):
        return Client(parts[int(context.node_config["partition-id"])]).to_client()

    class Timed(flwr.server.strategy.FedAvg):
        def aggregate_fit(self, server_round, results, failures):
            if failures or len(results) != options.clients_per_round:
                raise SystemExit(f"round {server_round}: {len(results)} updates, {len(failures)} failures")
            averaged = super().aggregate_fit(server_round, results, failures)
            ends.append(time.monotonic())
            return averaged

    initial = flwr.common.ndarrays_to_parameters([p.detach().numpy() for p in network().parameters()])
    strategy = Timed(fraction_fit=options.clients_per_round / options.clients, fraction_evaluate=0,
                     min_fit_clients=options.clients_per_round, min_available_clients=options.clients,
                     initial_parameters=initial)

    def server_fn(context):
        return flwr.server.ServerAppComponents(
            strategy=strategy, config=flwr.server.ServerConfig(num_rounds=options.rounds + 1))

    run_simulation(server_app=flwr.server.ServerApp(server_fn=server_fn),
                   client_app=flwr.client.ClientApp(client_fn=client_fn),
                   num_supernodes=options.clients,
                   backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0},
                                   "init_args": {"num_cpus": options.threads}})
    return (ends[-1] - ends[0]) / options.rounds


def run_ours(options):
    """Seconds per round, all that is between two rounds included."""
    command = [options.simulate, "--model=simplecnn8", "--dataset=mnist", f"--dataset-path={options.dataset_path}",
               f"--clients={options.clients}", f"--clients-per-round={options.clients_per_round}",
               f"--min-clients={options.clients_per_round}", f"--rounds={options.rounds + 1}", "--test-every=0",
               f"--batch-size={options.batch_size}", f"--learning-rate={options.learning_rate}", "--optimizer=sgd"]
    ends = []
    process = subprocess.Popen(command, env=dict(os.environ, OMP_NUM_THREADS=str(options.threads)),
                               stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("**** Round "):
            ends.append(time.monotonic())
    if process.wait() != 0 or len(ends) != options.rounds + 1:
        raise SystemExit(f"simulate: exit code {process.returncode}, {len(ends)} rounds")
    return (ends[-1] - ends[0]) / options.rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset-path", required=True)
    parser.add_argument("--simulate", default="bazel-bin/apps/simulate/simulate")
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--clients-per-round", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--learning-rate", type=float, default=0.05)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, in turns")
    parser.add_argument("--one", choices=["ours", "flower"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        seconds = run_ours(options) if options.one == "ours" else run_flower(options)
        print(json.dumps({"who": options.one, "rounds_per_second": 1 / seconds}), flush=True)
        return
    speeds = {"ours": [], "flower": []}
    # Else Ray's actors make way for all other programs.
    environment = dict(os.environ, RAY_worker_niceness="0")
    for _ in range(options.repeat):
        for who in speeds:  # in a process of its own: Ray's threads must not stay
            printed = subprocess.run([sys.executable, __file__, *sys.argv[1:], f"--one={who}"], check=True,
                                     env=environment, stdout=subprocess.PIPE, text=True).stdout
            line = [text for text in printed.splitlines() if text.startswith("{")][-1]
            print(line, flush=True)
            speeds[who].append(json.loads(line)["rounds_per_second"])
    ours, flower = (statistics.median(speeds[who]) for who in ("ours", "flower"))
    print("\n| | rounds per second |\n| --- | --- |")
    print(f"| simulate | {ours:.2f} |\n| Flower | {flower:.3f} |\n| ratio | {ours / flower:.1f} |")


if __name__ == "__main__":
    main()
