#!/usr/bin/env python3
"""A power meter that is made up, to try `benchmark --energy` where there is no real one.

    tools/example_meter.py & benchmark ... --energy --tracer-pmlib-device=example

It speaks PMlib's protocol and measures no power: every 100 ms its watts are 20, and 30 more for each
processor that programs called benchmark have kept busy. It ends with a signal.
"""
import argparse
import glob
import os
import socketserver
import struct
import sys
import threading
import time

CREATE, START, CONTINUE, STOP, GET, FINALIZE = range(6)


def processor_seconds():
    """Of all programs called benchmark."""
    ticks = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                before, after = file.read().rsplit(")", 1)
        except OSError:  # it has ended
            continue
        if before.endswith("(benchmark"):
            ticks += sum(int(value) for value in after.split()[11:13])
    return ticks / os.sysconf("SC_CLK_TCK")


class Counter(socketserver.StreamRequestHandler):
    def sample(self):
        used, now = processor_seconds(), time.monotonic()
        while not self.stopped.wait(0.1):
            used, used_before = processor_seconds(), used
            now, before = time.monotonic(), now
            self.watts.append(20 + 30 * max(used - used_before, 0) / (now - before))

    def ints(self, count):
        return struct.unpack(f"<{count}i", self.rfile.read(4 * count))

    def handle(self):
        self.watts, self.stopped, sampler = [], threading.Event(), None
        try:
            while True:
                operation, = self.ints(1)
                answer = struct.pack("<i", 0)
                if operation == CREATE:
                    self.rfile.read(*self.ints(1))  # the name of the device: there is one
                    self.ints(2)
                    self.rfile.read(*self.ints(1))
                elif operation in (START, CONTINUE):
                    sampler = threading.Thread(target=self.sample, daemon=True)
                    sampler.start()
                elif operation == STOP and sampler:
                    self.stopped.set()
                    sampler.join()
                elif operation == GET:
                    answer = struct.pack(f"<4i{len(self.watts)}d", len(self.watts), 1, 1, 0, *self.watts)
                elif operation != FINALIZE:
                    answer = struct.pack("<i", -1)
                self.wfile.write(answer)
                if operation == FINALIZE:
                    return
        except (struct.error, OSError):
            self.stopped.set()  # the client has gone


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=6526, help="0: a free one, which is printed [6526]")
    port = parser.parse_args().port
    try:
        server = Server(("127.0.0.1", port), Counter)
    except OSError as error:
        sys.exit(f"example_meter.py: port {port}: {error.strerror}")
    with server:
        print(f"listens on 127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
