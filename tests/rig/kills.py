#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills plugpull-collector again and again, and looks into its logs.

Clients that only acknowledge (ackstream) and real writers stream to one
collector, which is killed with SIGKILL at random moments and started again on
the same folder. After each kill every log must hold, without a gap, what its
client held as confirmed at that moment. The tail of some logs is first made
what the death of a host may leave of it: cut anywhere behind what was synced
(synced.c knows), or followed by half a frame, noise or zeros. The collector
must say how many bytes it cut off, to the byte, and go on.

The log is read here by its tables alone (tests/oracle/formats.py).
"""
import argparse
import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "oracle"))
from formats import AckLog, good_frame, statements  # noqa: E402

LIMIT_S = 30


class Wrong(Exception):
    """What the collector may not do."""


def wait_for(what, condition, limit=LIMIT_S):
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            raise Wrong(f"still not true: {what}")
        time.sleep(0.001)


class Log:
    """A log that grows; each frame is read and checked once."""

    def __init__(self, path):
        self.path, self.at, self.index, self.previous = path, 0, 0, 0
        self.durable, self.ends, self.repeats = {}, [(0, {}, 0, 0)], 0

    def read(self):
        """Takes the frames that have come; returns the bytes behind them."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self.at)
                data = file.read()
        except FileNotFoundError:
            return 0
        at = 0
        while frame := good_frame(data, at):
            payload, index, previous, crc = frame
            if (index, previous) != (self.index, self.previous):
                raise Wrong(f"{self.path}: frame {index} does not follow")
            self._take(payload)
            at += 32 + len(payload)
            self.index, self.previous = index + 1, crc
            self.ends.append((self.at + at, dict(self.durable), index + 1,
                              crc))
        self.at += at
        return len(data) - at

    def _take(self, payload):
        for kind, c in statements(payload):
            if kind != 4:
                continue
            stream, _ = c.varint(), c.varint()
            c.varint(), c.varint(), c.varint()
            first, known = c.varint() + 1, self.durable.get(stream, 0)
            last = first + c.varint()
            if first > known + 1:
                raise Wrong(f"{self.path}: a gap before write {first}")
            if known >= first > known - (last - first):
                raise Wrong(f"{self.path}: write {first} in two statements")
            self.repeats += last <= known
            self.durable[stream] = max(known, last)

    def cut_off(self, chance, synced):
        """Cuts the file off somewhere behind what was synced."""
        size = os.path.getsize(self.path)
        if size <= synced:
            return
        size = chance.choice([synced, chance.randint(synced, size - 1)])
        os.truncate(self.path, size)
        kept = [end for end in self.ends if end[0] <= size]
        self.at, self.durable, self.index, self.previous = kept[-1]
        self.durable, self.ends = dict(self.durable), kept

    def append_torn(self, chance):
        with open(self.path, "r+b") as file:
            head = file.read(4096)
            torn = chance.choice([head[:chance.randint(1, len(head) - 1)]
                                  if not good_frame(head, 0) else
                                  head[:chance.randint(1, 100)],
                                  chance.randbytes(chance.randint(1, 5000)),
                                  bytes(chance.randint(1, 5000))])
            file.seek(0, 2)
            file.write(torn)


class Client:
    """An ackstream: its log, and its record of what was confirmed."""

    def __init__(self, rig, number):
        chance = rig.chance
        self.run = chance.randbytes(16).hex()
        self.streams = 1 + number % 3
        self.record_path = f"{rig.dir}/record.{number}"
        self.log = Log(f"{rig.acks}/{self.run}.acklog")
        self.process = subprocess.Popen(
            [rig.args.client, rig.address, rig.key or "-", str(self.streams),
             self.run, str(chance.getrandbits(32)), self.record_path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for("a record", lambda: self.ended() or
                 os.path.exists(self.record_path)
                 and os.path.getsize(self.record_path) >= 24 + 8 * 64)
        with open(self.record_path, "rb") as file:
            self.record = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    def ended(self):
        if self.process.poll() is not None:
            raise Wrong(f"a client ended: {self.process.stderr.read()}")
        return False

    def numbers(self):
        return struct.unpack_from(f"<{3 + self.streams}Q", self.record)

    def is_connected(self):
        return not self.ended() and self.numbers()[0] == 1

    def payloads(self):
        return self.numbers()[2]

    def confirmed(self):
        return self.numbers()[3:]


class Writer:
    """A real writer on a file of its own."""

    def __init__(self, rig, number):
        self.base = f"{rig.dir}/writer.{number}"
        self.rig = rig
        key = ["--key", rig.key] if rig.key else []
        with open(self.base + ".out", "wb") as out, \
                open(self.base + ".err", "wb") as err:
            self.process = subprocess.Popen(
                [f"{rig.args.bin}/plugpull-writer", "--target",
                 self.base + ".disk", "--size", "6m", "--collector",
                 rig.address, *key, "--sync", f"flush:{1 + 7 * number}",
                 "--streams", str(1 + number), "--block-size", "64k",
                 "--json", self.base + ".json"], stdout=out, stderr=err)
        wait_for("a writer that writes", lambda: self.ended() or
                 b"writing" in self.said(".out"))
        run = re.search(rb"^run (\w+)", self.said(".out"), re.M)[1].decode()
        self.log_path = f"{rig.acks}/{run}.acklog"

    def said(self, suffix):
        with open(self.base + suffix, "rb") as file:
            return file.read()

    def ended(self):
        if self.process.poll() is not None:
            raise Wrong(f"a writer ended: {self.said('.err').decode()}")
        return False

    def size(self):
        self.ended()
        return os.path.getsize(self.log_path)

    def finish(self):
        self.process.terminate()
        if self.process.wait(LIMIT_S) != 0:
            raise Wrong(f"a writer ended badly: {self.said('.err')}")
        with open(self.base + ".json", encoding="utf-8") as file:
            told = json.load(file)
        with open(self.log_path, "rb") as file:
            log = AckLog(file.read())
        in_log = len(log.all("durable"))
        if not told["durable"] == told["confirmed"] == in_log > 0:
            raise Wrong(f"durable {told['durable']}, confirmed "
                        f"{told['confirmed']}, in the log {in_log}")
        verdict = subprocess.run(
            [f"{self.rig.args.bin}/plugpull-verifier", "--target",
             self.base + ".disk", "--acklog", self.log_path],
            capture_output=True, text=True, check=False)
        if verdict.returncode != 3:
            raise Wrong(f"the verdict: {verdict.stdout}{verdict.stderr}")
        return in_log


class Rig:
    def __init__(self, args):
        self.args, self.chance = args, random.Random(args.seed)
        self.dir, self.acks = args.dir, args.dir + "/acks"
        os.makedirs(self.acks)
        self.key = None
        self.address = f"unix:{self.dir}/collector.sock"
        if args.transport == "tls":
            self.key, self.address = self.dir + "/key", "127.0.0.1:0"
            subprocess.run([f"{args.bin}/plugpull-collector", "--new-key",
                            self.key], check=True)
        self.process, self.clients, self.writers = None, [], []
        self.checks = self.torn = self.cut = self.at_once = 0
        self.synced = args.dir + "/synced"
        os.makedirs(self.synced)
        self.environment = dict(os.environ, SYNCED_DIR=self.synced,
                                LD_PRELOAD=args.preload)

    def begin(self):
        self.start()
        self.address = self.listening()
        for number in range(self.args.clients):
            self.clients.append(Client(self, number))
        for number in range(self.args.writers):
            self.writers.append(Writer(self, number))

    def start(self):
        key = ["--key", self.key] if self.key else []
        with open(self.dir + "/out", "wb") as out, \
                open(self.dir + "/err", "wb") as err:
            self.process = subprocess.Popen(
                [f"{self.args.bin}/plugpull-collector", "--listen",
                 self.address, "--dir", self.acks, *key],
                stdout=out, stderr=err, env=self.environment)

    def said(self, name):
        with open(f"{self.dir}/{name}", encoding="utf-8") as file:
            return file.read()

    def listening(self):
        def is_up():
            if self.process.poll() is not None:
                raise Wrong(f"the collector ended: {self.said('err')}")
            return "listening on " in self.said("out")
        wait_for("a collector that listens", is_up)
        return self.said("out").split()[2]

    def under_load(self, number):
        """Until a random moment: from at once to many frames."""
        if self.chance.random() < 0.15:
            self.at_once += 1
            time.sleep(self.chance.random() * 0.02)
            return
        self.listening()
        if self.writers and number % 10 == 0:
            writer = self.chance.choice(self.writers)
            size = writer.size()
            wait_for("a writer that is back", lambda: writer.size() > size)
        client = self.chance.choice(self.clients)
        aim = client.payloads() + int(2 ** (self.chance.random() * 7))
        wait_for("a client that is served",
                 lambda: client.ended() or client.payloads() >= aim)
        if self.chance.random() < 0.3:
            wait_for("clients", lambda: all(c.is_connected()
                                            for c in self.clients))
        time.sleep(self.chance.random() * 0.003)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        # What the collector had sent is taken before the end is noticed.
        wait_for("clients that notice", lambda: not any(
            c.is_connected() for c in self.clients))

    def check_repair(self, client, expected):
        """The tail that was left there was cut off, and said."""
        said = re.findall(rf"run {client.run}: cut a torn tail of (\d+) ",
                          self.said("err"))
        is_claimed = f"run {client.run}: " in self.said("err")
        if said != ([str(expected)] if is_claimed and expected else []):
            raise Wrong(f"{expected} torn bytes, but it said {said}")
        self.torn += len(said)

    def check(self, client):
        """All that was confirmed is in the log."""
        torn = client.log.read()
        for stream, number in enumerate(client.confirmed()):
            held = client.log.durable.get(stream, 0)
            if held < number:
                raise Wrong(f"MISSING: run {client.run}, stream {stream}: "
                            f"{number} confirmed, {held} in the log")
            self.checks += 1
        return torn

    def spoil(self, client):
        """What a host that dies may leave of a log."""
        log, synced = client.log, 0
        if not os.path.exists(log.path):
            return
        if os.path.exists(f"{self.synced}/{client.run}.acklog"):
            with open(f"{self.synced}/{client.run}.acklog", "rb") as file:
                synced = int.from_bytes(file.read(), sys.byteorder)
        draw = self.chance.random()
        if draw < 0.5:
            before = log.at
            log.cut_off(self.chance, synced)
            self.cut += log.at < before
        elif draw < 0.75 and synced:
            log.append_torn(self.chance)

    def rounds(self):
        expected = {}
        for number in range(self.args.count):
            self.under_load(number)
            self.kill()
            for client in self.clients:
                self.check_repair(client, expected.get(client, 0))
                client.log.read()
                self.spoil(client)
                expected[client] = self.check(client)
            self.start()
        self.listening()

    def finish(self):
        for client in self.clients:
            client.ended()
            client.process.terminate()
            out, err = client.process.communicate(timeout=LIMIT_S)
            if client.process.returncode != 0:
                raise Wrong(f"a client ended badly: {err}")
            if self.check(client):
                raise Wrong(f"{client.log.path} has a torn tail")
        return sum(writer.finish() for writer in self.writers)

    def end(self):
        for thing in self.clients + self.writers + [self]:
            if thing.process and thing.process.poll() is None:
                thing.process.kill()
                thing.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--preload", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transport", choices=["unix", "tls"],
                        default="unix")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--writers", type=int, default=1)
    args = parser.parse_args()
    start, rig = time.monotonic(), Rig(args)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        rig.begin()
        rig.rounds()
        written = rig.finish()
    except Wrong as wrong:
        sys.exit(f"kills: seed {args.seed}: {wrong}")
    finally:
        rig.end()
    payloads = sum(c.payloads() for c in rig.clients)
    numbers = sum(sum(c.confirmed()) for c in rig.clients)
    print(f"{args.transport}, {args.clients} clients and {args.writers} "
          f"writers: {args.count} kills ({rig.at_once} at once) in "
          f"{time.monotonic() - start:.0f} s; {rig.cut} logs lost frames "
          f"that were not synced, {rig.torn} torn tails were cut off and said;"
          f" {payloads} frames with {numbers} writes confirmed, "
          f"looked for {rig.checks} times, and {written} of the writers; "
          f"0 missing")


main()
