#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the network between writer and collector at every frame in turn.

For each fault and each direction the 1st, 2nd ... nth frame is where it
happens (breaks.py), until a run ends before it got that far, or --most frames.
Each time the writer goes on and ends well, or it ends with a sentence and the
next cycle goes on when the network is back; what it held as confirmed is in
the log, no write is told durable twice but in a statement that was repeated
over a new connection, and flushes are told in their order; the file that was
written is acquitted.

With --power the target is a simulated drive, whose power is cut behind the
fault: the honest one is acquitted; a drive that ignores FLUSH is convicted by
the log, one that loses the older half of what it flushed by its own records,
too, where the log ends with the network (P5).
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "oracle"))
from formats import AckLog, good_frame, statements  # noqa: E402
from breaks import TO_COLLECTOR, TO_WRITER, Proxy   # noqa: E402

LIMIT_S = 60
SILENT = ("deaf", "stall", "away", "stall-linger", "deaf-linger")


class Wrong(Exception):
    """What must not happen, whatever the network does."""


def durable_statements(data):
    """(stream, flush, numbers) of each in turn."""
    at = 0
    while frame := good_frame(data, at):
        at += 32 + len(frame[0])
        for kind, c in statements(frame[0]):
            if kind == 2:
                yield None, None, None        # flushes are counted anew
            if kind != 4:
                continue
            stream, flush, last, told = c.varint(), c.varint(), 0, set()
            c.varint(), c.varint()
            for _ in range(c.varint()):
                first = c.varint() + last + 1
                last = first + c.varint()
                told |= set(range(first, last + 1))
            yield stream, flush, told


def check_order(data, connections):
    """Nothing twice, but for repetition; flush behind flush."""
    known, flushes, repeated = {}, {}, 0
    for stream, flush, told in durable_statements(data):
        if stream is None:
            flushes = {}
            continue
        held = known.setdefault(stream, set())
        if told <= held:
            repeated += 1
            continue
        if told & held:
            raise Wrong(f"writes {sorted(told & held)[:5]} told twice")
        if flush < flushes.get(stream, 0):
            raise Wrong(f"flush {flush} behind flush {flushes[stream]}")
        flushes[stream] = flush
        held |= told
    if repeated and connections < 2:
        raise Wrong(f"{repeated} statements repeated on one connection")
    return repeated


class Bench:
    def __init__(self, args):
        self.args, self.bin = args, args.bin
        self.acks, self.cases, self.repeated = args.dir + "/acks", 0, 0
        self.went_on = self.ended = self.power_cuts = self.beyond = 0
        self.reached = {}
        self.processes, self.addresses, self.serial = [], {}, 0

    def program(self, name, *args, **more):
        return [f"{self.bin}/plugpull-{name}", *args]

    def run(self, name, *args):
        try:
            return subprocess.run(self.program(name, *args), text=True,
                                  capture_output=True, timeout=LIMIT_S,
                                  check=False)
        except subprocess.TimeoutExpired:
            raise Wrong(f"plugpull-{name} goes on for {LIMIT_S} s: {args}")

    def spawn(self, line, name, *args):
        """A program in the background; returns what follows its LINE."""
        process = subprocess.Popen(self.program(name, *args), text=True,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.processes.append(process)
        for text in process.stdout:
            if text.startswith(line):
                return process, text[len(line):].split()[0]
        raise Wrong(f"plugpull-{name} did not start")

    def begin(self):
        key = self.args.dir + "/key"
        self.run("collector", "--new-key", key)
        for name, listen, keys in (
                ("plain", f"unix:{self.args.dir}/collector.sock", []),
                ("tls", "127.0.0.1:0", ["--key", key])):
            _, address = self.spawn("listening on ", "collector", "--listen",
                                    listen, "--dir", self.acks, *keys)
            self.addresses[name] = (address, keys)

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(LIMIT_S)

    def proxy(self, transport, *fault):
        self.serial += 1
        address = self.addresses[transport][0]
        listen = f"unix:{self.args.dir}/proxy.{self.serial}"
        return Proxy(listen if address.startswith("unix:") else "tcp",
                     address, *fault)

    # ---- a run that is told how many writes to make ----
    def case(self, fault, way, nth, transport):
        """True: the frame was reached."""
        proxy = self.proxy(transport, fault, way, nth)
        base = f"{self.args.dir}/{fault}.{way}.{nth}.{transport}"
        keys, patience = self.addresses[transport][1], "20s"
        if fault in SILENT and self.args.hasty:
            patience = "500ms"
        options = ["--target", base + ".disk", "--collector", proxy.listen,
                   *keys, "--json", base + ".json"]
        try:
            ended = self.run("writer", *options, "--size", "3m", "--seed",
                             "1", "--block-size", "16k", "--sync", "flush:4",
                             "--queue-depth", "4", "--count",
                             self.args.count, "--ack-timeout", patience)
            reached = proxy.failed.is_set()
            self.judge(ended, base, proxy, reached)
            proxy.drop()
            self.go_on(ended, base, transport)
        except Wrong as wrong:
            raise Wrong(f"{fault} at frame {nth} to the {way}, {transport}: "
                        f"{wrong}") from None
        finally:
            proxy.stop()
        os.unlink(base + ".disk")
        self.cases += reached
        return reached

    def judge(self, ended, base, proxy, reached):
        with open(base + ".json", encoding="utf-8") as file:
            told = json.load(file)
        if ended.returncode not in (0, 2) or told["gone"] or (
                ended.returncode == 2 and not reached):
            raise Wrong(f"the writer: {ended.returncode} {ended.stderr}")
        if ended.returncode == 2 and not re.search(
                "^plugpull-writer: .{20}", ended.stderr, re.M):
            raise Wrong(f"it ended without a word: {ended.stderr}")
        self.went_on += reached and ended.returncode == 0
        self.ended += reached and ended.returncode == 2
        run = re.search(r"^run (\w+)", ended.stdout, re.M)
        path = f"{self.acks}/{run[1]}.acklog" if run else ""
        if not os.path.exists(path) or not os.path.getsize(path):
            if told["confirmed"]:
                raise Wrong("confirmed, and no log")
            return
        with open(path, "rb") as file:
            data = file.read()
        held = len(AckLog(data).all("durable"))
        if held < told["confirmed"] or ended.returncode == 0 and not \
                held == told["durable"] == told["confirmed"] == \
                int(self.args.count):
            raise Wrong(f"MISSING: {told['confirmed']} confirmed, {held} "
                        f"in the log")
        self.repeated += check_order(data, proxy.connections)

    def go_on(self, ended, base, transport):
        """The network is back: another cycle, and the verdict."""
        run = re.search(r"^run (\w+)", ended.stdout, re.M)
        path = f"{self.acks}/{run[1]}.acklog" if run else ""
        if not re.search("^cycle 1 writing", ended.stdout, re.M):
            return                            # there is no run to go on with
        if ended.returncode == 2:
            address, keys = self.addresses[transport]
            again = self.run("writer", "--target", base + ".disk", "--run",
                             run[1], "--collector", address, *keys,
                             "--count", "50")
            if again.returncode or "cycle 2 writing" not in again.stdout:
                raise Wrong(f"the next cycle: {again.stderr}")
            with open(path, "rb") as file:
                check_order(file.read(), 2)
        verdict = self.run("verifier", "--target", base + ".disk",
                           "--acklog", path)
        if verdict.returncode != 3:
            raise Wrong(f"the verdict: {verdict.stdout}{verdict.stderr}")

    def countdown(self, faults):
        for fault in faults:
            for way in (TO_COLLECTOR, TO_WRITER):
                nth, step = 1, 1
                while nth <= self.args.most and self.case(
                        fault, way, nth, ("plain", "tls")[nth % 2]):
                    step += self.args.sparse
                    self.reached[way] = max(nth, self.reached.get(way, 0))
                    nth += step

    def switch(self, command, base):
        done = self.run("simdrive", command, "--control", base + ".control")
        if done.returncode:
            raise Wrong(f"cannot {command} the drive: {done.stderr}")

    # ---- a drive that loses its power behind the fault ----
    def power_case(self, lie, fault, way, nth, transport):
        base = f"{self.args.dir}/power.{self.serial}"
        uri = f"nbd+unix:///?socket={base}.sock"
        drive, _ = self.spawn(
            "serving ", "simdrive", "serve", "--socket", base + ".sock",
            "--media", base + ".media", "--size", "6m", "--control",
            base + ".control", "--drain-ms", "600000",
            "--fault", lie, "--seed", str(nth))
        proxy = self.proxy(transport, fault, way, nth)
        keys = self.addresses[transport][1]
        writer = subprocess.Popen(
            self.program("writer", "--target", uri, "--erase", uri,
                         "--collector", proxy.listen, *keys, "--sync",
                         "flush:8", "--block-size", "16k", "--json",
                         base + ".json", "--seed", str(nth),
                         "--ack-timeout", "2s"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(writer)
        try:
            if not proxy.failed.wait(LIMIT_S):
                raise Wrong("the fault was never reached")
            time.sleep(random.Random(nth).random() * 0.1)
            self.switch("cut", base)
            out, err = writer.communicate(timeout=LIMIT_S)
            self.switch("restore", base)
            self.judge_power(lie, uri, base, out, err)
        except subprocess.TimeoutExpired:
            raise Wrong("the writer does not end") from None
        finally:
            proxy.stop()
            drive.terminate()
            drive.wait(LIMIT_S)

    def judge_power(self, lie, uri, base, out, err):
        run = re.search(r"^run (\w+)", out, re.M)[1]
        path = f"{self.acks}/{run}.acklog"
        # One without numbers to give out does not notice the drive's end.
        if "went away" not in err and "the collector was lost" not in err:
            raise Wrong(f"the writer does not say what it lost: {err}")
        verdict = self.run("verifier", "--target", uri, "--acklog", path,
                           "--json", base + ".verdict")
        with open(base + ".verdict", encoding="utf-8") as file:
            told = json.load(file)
        with open(base + ".json", encoding="utf-8") as file:
            confirmed = json.load(file)["confirmed"]
        if told["durable_log"] < confirmed:
            raise Wrong(f"MISSING: {confirmed} confirmed, "
                        f"{told['durable_log']} in the log")
        wanted = (0, 3) if lie == "none" else (1,)
        if verdict.returncode not in wanted:
            raise Wrong(f"{lie}: {verdict.returncode} {verdict.stdout}")
        self.power_cuts += 1
        self.beyond += told["durable_media"] > told["durable_log"]

    def power(self):
        number = 0
        for lie in ("none", "ignores-flush", "reorders"):
            for fault in self.args.power.split(","):
                for way in (TO_COLLECTOR, TO_WRITER):
                    number += 1
                    transport = ("plain", "tls")[number % 2]
                    # Behind greeting, run and cycle.
                    nth = 12 + 2 * number % 9
                    try:
                        self.power_case(lie, fault, way, nth, transport)
                    except Wrong as wrong:
                        raise Wrong(f"{lie}, {fault} at frame {nth} to the "
                                    f"{way}, {transport}: {wrong}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--faults", default="")
    parser.add_argument("--count", default="300", help="writes of a run")
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--sparse", type=int, default=0,
                        help="frames left out grow by this each time")
    parser.add_argument("--hasty", action="store_true",
                        help="a writer that waits for half a second")
    parser.add_argument("--power", default="")
    args = parser.parse_args()
    bench, start = Bench(args), time.monotonic()
    try:
        bench.begin()
        bench.countdown([f for f in args.faults.split(",") if f])
        if args.power:
            bench.power()
    except Wrong as wrong:
        sys.exit(f"network: {wrong}")
    finally:
        bench.end()
    seconds = f"{time.monotonic() - start:.0f} s"
    if bench.cases:
        print(f"{args.faults}: {bench.cases} breaks, to frame "
              f"{bench.reached[TO_COLLECTOR]} to the collector and "
              f"{bench.reached[TO_WRITER]} to the writer: {bench.went_on} "
              f"went on, {bench.ended} ended with a sentence and were "
              f"resumed; {bench.repeated} statements repeated, 0 missing, "
              f"0 doubled; {seconds}")
    if bench.power_cuts:
        print(f"{args.power}: {bench.power_cuts} power cuts behind a break "
              f"judged rightly, {bench.beyond} of them beyond the log; "
              f"{seconds}")


main()
