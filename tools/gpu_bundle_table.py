#!/usr/bin/env python3
"""A short table of the tests that run.sh of a GPU bundle ran, and of each failure its first words.

    gpu_bundle_table.py RESULTS NAME...

Reads, of each NAME, RESULTS/NAME.status (exit code and seconds), RESULTS/NAME.json (GoogleTest's) and the end of
RESULTS/NAME.log where there is no other word. A program of whose tests none used a real GPU has failed, however it
ended. Exit code 1 if any failed.
"""

import json
import os
import sys


def tests_of(report):
    return [test for suite in report.get("testsuites", []) for test in suite["testsuite"]]


class Program:
    def __init__(self, folder, name):
        self.name = name
        self.code, self.seconds = self.status(folder)
        self.tests, self.problem = [], ""
        try:
            with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
                self.tests = tests_of(json.load(file))
        except (OSError, ValueError):
            self.problem = "left no results" + (" (over its limit)" if self.code in (124, 137) else "")
        self.skipped = [test for test in self.tests if test.get("result") == "SKIPPED"]
        self.failed = [test for test in self.tests if "failures" in test]
        self.on_gpu = [test for test in self.tests if "gpu" in test and test not in self.skipped]
        if not self.problem and not self.on_gpu:
            self.problem = "no test used a real GPU"
        if self.problem:
            self.problem += ": " + self.last_words(folder)

    def status(self, folder):
        try:
            with open(os.path.join(folder, self.name + ".status"), encoding="utf-8") as file:
                code, seconds = file.read().split()
                return int(code), float(seconds)
        except (OSError, ValueError):
            return -1, 0.0

    def last_words(self, folder):
        try:
            with open(os.path.join(folder, self.name + ".log"), encoding="utf-8", errors="replace") as file:
                return " / ".join(line.strip() for line in file.readlines()[-3:])[-300:]
        except OSError:
            return "no log"

    def good(self):
        return self.code == 0 and not self.failed and not self.problem


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    programs = [Program(sys.argv[1], name) for name in sys.argv[2:]]
    print(f"{'program':<52} {'exit':>4} {'s':>6} {'tests':>5} {'GPU':>4} {'skip':>4} {'fail':>4}")
    for program in programs:
        print(f"{program.name[-52:]:<52} {program.code:>4} {program.seconds:>6.1f} {len(program.tests):>5} "
              f"{len(program.on_gpu):>4} {len(program.skipped):>4} {len(program.failed):>4}")
    bad = [program for program in programs if not program.good()]
    for program in bad:
        for test in program.failed:
            words = " ".join(test["failures"][0]["failure"].split())
            print(f"FAILED {program.name}: {test['classname']}.{test['name']}: {words[:400]}")
        if program.problem:
            print(f"FAILED {program.name}: {program.problem}")
        elif not program.failed:
            print(f"FAILED {program.name}: exit code {program.code}")
    print(f"{len(programs)} programs, {len(bad)} failed; {sum(len(p.on_gpu) for p in programs)} tests on a real GPU")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
