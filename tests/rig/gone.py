#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the simulated drive away at every request in turn.

Between the program and the drive stands a proxy that counts what is asked of
the drive over NBD, from the first option of the greeting on; at the nth
request the drive's nbdkit is killed, or its supervisor, or its power is cut.

The writer: at every request of connecting, claiming, filling, labelling,
writing and flushing, until a run ends before. It ends soon, with status 2 and
a sentence. When the drive is back nobody is accused, and where the run had
begun it has a verdict and goes on.

The verifier: at every request of opening, scanning and reading again what was
found. It ends soon; the honest drive gets no verdict, the liar none or what
was found before; and when the drive is back, the verdict that is due.
"""
import argparse
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from breaks import TO_COLLECTOR, Proxy

LIMIT_S = 20               # of a program that has lost its drive
REQUEST = b"\x25\x60\x95\x13"
WRITE = 1
TO_DRIVE = TO_COLLECTOR


class Wrong(Exception):
    """What must not happen, whenever the drive goes."""


class NbdProxy(Proxy):
    """Counts options and requests; at the nth, calls break_now()."""

    def __init__(self, listen, upstream, nth, break_now):
        self.break_now = break_now
        self.asked = []
        super().__init__(listen, upstream, "call", TO_DRIVE, nth)

    async def read_frame(self, reader, way):
        if way != TO_DRIVE:
            data = await reader.read(1 << 18)
            if not data:
                raise ConnectionResetError
            return data
        head = await reader.readexactly(4)
        if head == REQUEST:
            head += await reader.readexactly(24)
            kind, length = (struct.unpack_from(">H", head, 6)[0],
                            struct.unpack_from(">I", head, 24)[0])
            self.asked.append(("read", "write", "end", "flush")[kind & 3])
            if kind != WRITE:
                length = 0
        elif head == b"IHAV":
            head += await reader.readexactly(12)
            length = struct.unpack_from(">I", head, 12)[0]
            self.asked.append("option")
        else:
            self.asked.append("greeting")
            length = 0
        return head + await reader.readexactly(length)

    def counts(self, way):
        if super().counts(way):
            self.break_now()
        return False


class Drive:
    """plugpull-simdrive serve, with what is needed to do away with it."""

    def __init__(self, bench, media, size, *options):
        self.bench, self.base = bench, f"{bench.dir}/drive"
        self.size = size
        self.media, self.options, self.process = media, options, None
        self.serve()

    def serve(self):
        for name in (".sock", ".control"):
            if os.path.exists(self.base + name):
                os.unlink(self.base + name)
        # The output of an nbdkit that outlives it is nobody's.
        self.process = subprocess.Popen(
            self.bench.program("simdrive", "serve", "--socket",
                               self.base + ".sock", "--media", self.media,
                               "--size", self.size, "--control",
                               self.base + ".control", "--serial", "gone-1",
                               "--drain-ms", "600000", *self.options),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not any(line.startswith("serving") for line in
                   iter(self.process.stdout.readline, "")):
            raise Wrong("the drive is not served")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="utf-8") as file:
            self.nbdkit = int(file.read().split()[0])

    def switch(self, command):
        done = subprocess.run(
            self.bench.program("simdrive", command, "--control",
                               self.base + ".control"), text=True,
            capture_output=True, check=False)
        if done.returncode:
            raise Wrong(f"cannot {command} the drive: {done.stderr}")

    def go(self, how):
        if how == "cut":
            self.switch("cut")
        elif how == "nbdkit":
            os.kill(self.nbdkit, signal.SIGKILL)
        else:
            self.process.kill()

    def come_back(self, how):
        if how == "cut":
            self.switch("restore")
            return
        self.process.wait(LIMIT_S)
        self.wait_gone()
        self.serve()

    def wait_gone(self):
        """The nbdkit of a supervisor that was killed ends by itself."""
        deadline = time.monotonic() + LIMIT_S
        while os.path.exists(f"/proc/{self.nbdkit}"):
            if time.monotonic() > deadline:
                raise Wrong("nbdkit outlives its supervisor")
            time.sleep(0.005)

    def stop(self):
        self.process.terminate()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()


class Bench:
    def __init__(self, args):
        self.args, self.bin, self.dir = args, args.bin, args.dir
        self.proxy_number = 0
        self.cases, self.asked, self.verdicts = {}, {}, {}

    def program(self, name, *args):
        return [f"{self.bin}/plugpull-{name}", *args]

    def run(self, name, *args):
        start = time.monotonic()
        try:
            done = subprocess.run(self.program(name, *args), text=True,
                                  capture_output=True, timeout=60,
                                  check=False)
        except subprocess.TimeoutExpired:
            raise Wrong(f"the {name} hangs") from None
        if time.monotonic() - start > LIMIT_S:
            raise Wrong(f"the {name} went on for more than {LIMIT_S} s")
        return done

    def behind_proxy(self, drive, nth, how, name, *args):
        """(what ended, proxy) of a program that loses the drive."""
        self.proxy_number += 1
        path = f"{self.dir}/proxy.{self.proxy_number}"
        proxy = NbdProxy("unix:" + path, f"unix:{drive.base}.sock", nth,
                         lambda: drive.go(how))
        try:
            return self.run(name, "--target", uri_of(path), *args), proxy
        finally:
            proxy.stop()                 # behind it nothing breaks any more

    def verify(self, drive, log, *options):
        return self.run("verifier", "--target", uri_of(drive.base + ".sock"),
                        "--acklog", log, "--read-timeout", "5s", *options)

    def count(self, who, proxy, reached, status):
        if reached:
            self.cases[who] = self.cases.get(who, 0) + 1
            last = proxy.asked[-1]
            key = who + " " + str(status)
            self.verdicts[key] = self.verdicts.get(key, 0) + 1
            self.asked.setdefault(who, set()).add(last)

    # ---- the writer ----
    def writer_case(self, how, nth):
        media, log = f"{self.dir}/media", f"{self.dir}/log"
        for path in (media, log):
            if os.path.exists(path):
                os.unlink(path)
        drive = Drive(self, media, "3m")
        try:
            ended, proxy = self.behind_proxy(
                drive, nth, how, "writer", "--erase",
                uri_of(f"{self.dir}/proxy.{self.proxy_number + 1}"),
                "--acklog", log, "--block-size", "64k", "--sync", "flush:4",
                "--queue-depth", "4", "--count", "40", "--seed", "1")
            reached = proxy.failed.is_set()
            if reached:
                drive.come_back(how)
            self.judge_writer(how, ended, proxy, drive, log)
        finally:
            drive.stop()
        self.count("writer", proxy, reached, ended.returncode)
        return reached

    def judge_writer(self, how, ended, proxy, drive, log):
        has_begun = "cycle 1 writing" in ended.stdout
        # Behind the last farewell nobody misses it; an nbdkit without its
        # supervisor ends in its own time.
        allowed = {2} if proxy.failed.is_set() else {0}
        if proxy.asked[-1] == "end" or how == "supervisor":
            allowed = {0, 2}
        if ended.returncode not in allowed:
            raise Wrong(f"the writer behind {proxy.asked[-1:]}: exit "
                        f"{ended.returncode} {ended.stderr}")
        if ended.returncode and not re.search("^plugpull-writer: cannot .{20}"
                                              "|went away after",
                                              ended.stderr, re.M):
            raise Wrong(f"it ended without a word: {ended.stderr}")
        if os.path.exists(log):
            done = self.verify(drive, log)
            if done.returncode not in ((0, 3) if has_begun else (2, 3)):
                raise Wrong(f"the honest drive: {done.returncode} "
                            f"{done.stdout}{done.stderr}")
        if not has_begun:
            log += ".new"
        again = self.run("writer", "--target", uri_of(drive.base + ".sock"),
                         "--erase", uri_of(drive.base + ".sock"), "--acklog",
                         log, "--count", "20", "--block-size", "64k")
        if again.returncode:
            raise Wrong(f"the drive is back, and: {again.stderr}")
        done = self.verify(drive, log)
        if done.returncode not in (0, 3):
            raise Wrong(f"after the next cycle: {done.stdout}{done.stderr}")
        if not has_begun:
            os.unlink(log)

    # ---- the verifier ----
    def prepare(self, lie):
        """Media and log of a drive that was cut under load."""
        media, log = f"{self.dir}/{lie}.media", f"{self.dir}/{lie}.log"
        drive = Drive(self, media, "14m", "--fault", lie)
        try:
            self.behind_proxy(drive, 150, "cut", "writer", "--erase",
                              uri_of(f"{self.dir}/proxy."
                                     f"{self.proxy_number + 1}"),
                              "--acklog", log, "--block-size", "16k",
                              "--sync", "flush:4", "--queue-depth", "4",
                              "--seed", "1")
            drive.switch("restore")
            due = self.verify(drive, log).returncode
        finally:
            drive.stop()
        if due not in ((0, 3) if lie == "none" else (1,)):
            raise Wrong(f"{lie}: exit {due} to begin with")
        return media, log, due

    def verifier_case(self, lie, prepared, how, nth):
        media, log, due = prepared
        shutil.copyfile(media, media + ".now")
        drive = Drive(self, media + ".now", "14m")
        try:
            ended, proxy = self.behind_proxy(
                drive, nth, how, "verifier", "--acklog", log, "--threads",
                "1", "--read-timeout", "5s")
            reached = proxy.failed.is_set()
            allowed = {due} if not reached else \
                {2} if lie == "none" else {1, 2}
            if proxy.asked[-1] == "end" or how == "supervisor":
                allowed |= {due}
            if ended.returncode not in allowed:
                raise Wrong(f"exit {ended.returncode} {ended.stdout}"
                            f"{ended.stderr}")
            if re.search("^(GONE|HUNG|UNREADABLE)", ended.stdout, re.M):
                raise Wrong(f"it is held against the drive: {ended.stdout}")
            if ended.returncode == 2 and "plugpull-verifier: cannot" not in \
                    ended.stderr and "no verdict: " not in ended.stdout:
                raise Wrong(f"it does not say why: {ended.stderr}")
            if reached:
                drive.come_back(how)
                if self.verify(drive, log).returncode != due:
                    raise Wrong("another verdict when the drive is back")
        finally:
            drive.stop()
        self.count(f"verifier, {lie}", proxy, reached, ended.returncode)
        return reached

    def countdown(self, what, case):
        nth, step = self.args.first, 1
        while nth <= self.args.most:
            try:
                if not case(nth):
                    return
            except Wrong as wrong:
                raise Wrong(f"{what}, at request {nth}: {wrong}") from None
            step += self.args.sparse
            nth += step

    def turns(self):
        """How the drive goes: each way for itself, or by turns."""
        hows = self.args.hows.split(",")
        return [hows] if self.args.by_turns else [[how] for how in hows]

    def all(self):
        for turn in self.turns():
            self.countdown("writer", lambda nth: self.writer_case(
                turn[nth % len(turn)], nth))
        for lie in ("none", "ignores-flush"):
            prepared = self.prepare(lie)
            for turn in self.turns():
                self.countdown(
                    f"verifier, {lie}", lambda nth: self.verifier_case(
                        lie, prepared, turn[nth % len(turn)], nth))


def uri_of(socket):
    return f"nbd+unix:///?socket={socket}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--hows", default="nbdkit,supervisor,cut")
    parser.add_argument("--by-turns", action="store_true")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--sparse", type=int, default=0,
                        help="requests left out grow by this each time")
    args = parser.parse_args()
    bench, start = Bench(args), time.monotonic()
    try:
        bench.all()
    except Wrong as wrong:
        sys.exit(f"gone: {wrong}")
    for who, cases in bench.cases.items():
        statuses = ", ".join(f"{number} x exit {key.split()[-1]}"
                             for key, number in bench.verdicts.items()
                             if key.rsplit(" ", 1)[0] == who)
        print(f"{who}: gone at {cases} requests ({args.hows}; "
              f"{', '.join(sorted(bench.asked[who]))}): {statuses}")
    print(f"0 accused, 0 hung; {time.monotonic() - start:.0f} s")


main()
