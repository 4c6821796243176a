#!/usr/bin/env python3
"""Compares encrypted sums with TenSEAL's (pip install tenseal): errors, and time in turns.

    bazel build //bench:encrypted_sum
    bench/compare_encryption.py [--values 15245130] [--rounds 3] [--key secret]

Both encrypt with degree 2^13, scale 2^40 and a modulus of one 60-bit prime (TenSEAL asks for a
second one, which its ciphertexts do not use), numbers in slots; ours also in coefficients, which
only sums allow. Ours run on OMP_NUM_THREADS threads; TenSEAL's n_threads changed nothing where it
was tried, nor did vectors of many ciphertexts. Fails where the errors of our sums of 2 to 64
clients are larger than 1.5 times TenSEAL's; with a public key, than 1.5 times the predicted ones,
since TenSEAL then encrypts modulo both primes and divides the errors by the second. Prints seconds
of encryption, addition and decryption, and the median ratio ours / TenSEAL's of their sum. Says
"skipped" and succeeds where there is no TenSEAL.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

SLOTS = 4096


def tenseal_context(ts, key):
    kind = ts.ENCRYPTION_TYPE.SYMMETRIC if key == "secret" else ts.ENCRYPTION_TYPE.ASYMMETRIC
    context = ts.context(ts.SCHEME_TYPE.CKKS, 1 << 13, coeff_mod_bit_sizes=[60, 60],
                         encryption_type=kind, n_threads=os.cpu_count())
    context.global_scale = 2.0**40
    return context


def tenseal_error(ts, context, clients):
    wanted, total = [0.0] * SLOTS, None
    for client in range(clients):
        source = random.Random(client)
        values = [source.uniform(-1, 1) for _ in range(SLOTS)]
        vector = ts.ckks_vector(context, values)
        total = vector if total is None else total + vector
        wanted = [a + b for a, b in zip(wanted, values)]
    errors = [a - b for a, b in zip(total.decrypt(), wanted)]
    return statistics.pstdev(errors, 0.0)


def tenseal_seconds(ts, context, values):
    source = random.Random(1)
    numbers = ts.plain_tensor([source.uniform(-1, 1) for _ in range(SLOTS)])
    other = ts.ckks_vector(context, numbers)
    times = {"encrypt": 0.0, "add": 0.0, "decrypt": 0.0}
    for _ in range(0, values, SLOTS):
        start = time.perf_counter()
        vector = ts.ckks_vector(context, numbers)
        encrypted = time.perf_counter()
        total = vector + other
        added = time.perf_counter()
        total.decrypt()
        done = time.perf_counter()
        times["encrypt"] += encrypted - start
        times["add"] += added - encrypted
        times["decrypt"] += done - added
    return times


def ours(options, packing, values, clients=2):
    command = [options.binary, str(values), str(clients), options.key, packing]
    return json.loads(subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout)


def total(times):
    return times["encrypt"] + times["add"] + times["decrypt"]


def show(name, times):
    print(f"{name:22} {times['encrypt']:9.3f} {times['add']:9.3f} {times['decrypt']:9.3f} "
          f"{total(times):9.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="bazel-bin/bench/encrypted_sum")
    parser.add_argument("--values", type=int, default=15245130, help="those of vgg16_cifar10")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--key", choices=["secret", "public"], default="secret")
    options = parser.parse_args()
    try:
        import tenseal as ts
    except ImportError as error:
        print(f"skipped: {error} (pip install tenseal)")
        return 0

    context = tenseal_context(ts, options.key)
    ciphertext = ts.ckks_vector(context, [1.0] * SLOTS)
    print(f"bytes of {SLOTS} numbers: TenSEAL {len(ciphertext.serialize())}, ours "
          f"{ours(options, 'slots', 1)['bytes']}; of 8192 in coefficients "
          f"{ours(options, 'coefficients', 1)['bytes']}")
    worst = 0
    print("clients   TenSEAL's error      ours  predicted")
    for clients in (2, 4, 8, 16, 32, 64):
        theirs = tenseal_error(ts, context, clients)
        mine = ours(options, "slots", 1, clients)
        worst = max(worst, mine["error"] / (theirs if options.key == "secret" else mine["predicted"]))
        print(f"{clients:7} {theirs:17.3g} {mine['error']:9.3g} {mine['predicted']:10.3g}")

    values = -(-options.values // SLOTS) * SLOTS
    print(f"seconds for {values} numbers, {options.key} key")
    print(f"{'':22} {'encrypt':>9} {'add':>9} {'decrypt':>9} {'together':>9}")
    ratios = {"slots": [], "coefficients": []}
    for _ in range(options.rounds):
        theirs = tenseal_seconds(ts, context, values)
        show("TenSEAL", theirs)
        for packing, list_of in ratios.items():
            mine = ours(options, packing, values)
            show(f"ours, {packing}", mine)
            list_of.append(total(mine) / total(theirs))
    for packing, list_of in ratios.items():
        print(f"ours / TenSEAL, {packing}: {statistics.median(list_of):.2f}")
    if worst > 1.5:
        print(f"our error is {worst:.2f} times what it may be", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
