# SPDX-License-Identifier: MIT
"""One configuration: its programs, its cuts and what can go wrong beside them.

A configuration is a dictionary of words and numbers, see draw.py. Everything
that was started is ended by end(), by its own pid.
"""
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import formats
from proxy import Proxy

BEGIN_SECONDS = 15               # a writer that has not begun by then
END_SECONDS = 30                 # one that has not ended after the cut
CONTROL_SECONDS = 60
# What a writer says that has lost the drive before it had begun.
GONE = ("went away", "connection was lost", "not connected", "reset by peer",
        "shutdown", "cannot connect to nbd")


class Trouble(Exception):
    """The rig itself did not work."""


class Later(threading.Thread):
    """Does it in the background; join() raises what it raised."""

    def __init__(self, what, *arguments):
        super().__init__(daemon=True)
        self.what, self.arguments, self.error = what, arguments, None
        self.start()

    def run(self):
        try:
            self.what(*self.arguments)
        except Exception as e:   # it is raised again where it is waited for
            self.error = e

    def join(self, timeout=None):
        super().join(timeout)
        if self.error:
            raise self.error


class Rig:
    def __init__(self, binaries, folder, c):
        self.bin, self.dir, self.c = binaries, folder, c
        self.how = open(os.path.join(folder, "how"), "w")
        self.children, self.proxy, self.collector = [], None, None
        self.run, self.runs = None, 0    # id of the run, and how many
        self.log = self.old_log = None
        self.is_begun = False    # the run: it has written
        self.is_unfit = False    # the run: the writer does not go on with it

    def path(self, name):
        return os.path.join(self.dir, name)

    def note(self, *words):
        print(*words, file=self.how, flush=True)

    def command(self, name, *arguments):
        line = [os.path.join(self.bin, "plugpull-" + name)]
        line += [str(a) for a in arguments]
        self.note(*line)
        return line

    def spawn(self, *command):
        with open(self.path("errors"), "a") as errors:
            child = subprocess.Popen(
                self.command(*command), stdout=subprocess.PIPE, text=True,
                stderr=errors, stdin=subprocess.DEVNULL)
        self.children.append(child)
        return child

    def serve(self, until, *command):
        child = self.spawn(*command)
        for line in child.stdout:
            if line.startswith(until):
                return child, line
        raise Trouble(f"{command[0]} ended, see errors")

    def call(self, *command, ok=(0,)):
        try:
            done = subprocess.run(self.command(*command), text=True,
                                  capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            raise Trouble(f"{command[0]} does not end")
        if done.returncode not in ok:
            raise Trouble(f"{' '.join(map(str, command))}: status "
                          f"{done.returncode} {done.stderr}")
        return done.returncode

    def control(self, line):
        """The power switch, without a program between."""
        self.note("control:", line)
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(CONTROL_SECONDS)
            s.connect(self.path("control"))
            s.sendall(line.encode() + b"\n")
            answer = s.makefile().readline()
        if not answer.startswith("ok"):
            raise Trouble(f"{line}: {answer.strip()}")

    # Setting up
    def begin(self):
        c = self.c
        self.region = 2 * formats.MIB + c["slots"] * c["block"]
        size = -(-self.region // c["logical"]) * c["logical"] + c["offset"]
        arguments = ["serve", "--socket", self.path("s"), "--media",
                     self.path("media"), "--control", self.path("control"),
                     "--trace", self.path("trace"), "--size", size,
                     "--logical-block", c["logical"], "--seed", c["seed"]]
        for option, name in (("drain-ms", "drain"), ("drain-order", "order"),
                             ("cut-drain", "cutdrain"), ("cache", "cache"),
                             ("flush-ms", "flushms"), ("spare", "spare"),
                             ("ready-ms", "readyms"),
                             ("fault-every", "every")):
            arguments += ["--" + option, c[name]]
        for fault in c["fault"].split("+"):
            arguments += ["--fault", fault]
        if c["bites"] != "all":
            arguments += ["--fault-cuts", c["bites"]]
        self.serve("serving", "simdrive", *arguments)
        self.uri = "nbd+unix:///?socket=" + self.path("s")
        if c["collector"]:
            self.start_collector()
            self.proxy = Proxy(self.path("p"), self.path("c"),
                               int(c["seed"], 16))

    def start_collector(self):
        self.collector, _ = self.serve(
            "listening", "collector", "--listen", "unix:" + self.path("c"),
            "--dir", self.dir)

    def disturb(self, word, since):
        """kill:AT or stop:AT:FOR, of the collector."""
        kind, *numbers = word.split(":")
        if kind == "none":
            return
        at, *rest = [int(n) / 1000 for n in numbers]
        time.sleep(max(0, since + at - time.monotonic()))
        if kind == "kill":
            self.collector.kill()
            self.collector.communicate()
            return self.start_collector()
        self.collector.send_signal(signal.SIGSTOP)
        time.sleep(rest[0])
        self.collector.send_signal(signal.SIGCONT)

    # One cycle
    def writer(self, cycle):
        c = self.c
        sync = "none" if c["control"] and cycle % 2 else c["sync"]
        arguments = ["--target", self.uri, "--erase", self.uri, "--sync",
                     sync, "--queue-depth", c["depth"], "--seed", c["seed"],
                     "--size", self.region, "--offset", c["offset"],
                     "--block-size", c["block"], "--streams", c["streams"],
                     "--pattern", c["pattern"], "--ack-timeout",
                     c["patience"]]
        if self.is_unfit or cycle and cycle == c["second"]:
            self.old_log, self.run = self.log, None
        if not self.run:
            self.runs += 1
            self.is_begun = self.is_unfit = False
            self.known = {f for f in os.listdir(self.dir)
                          if f.endswith(".acklog")}
        if not c["fill"] and not self.run:
            arguments += ["--no-fill"]
        if c["collector"]:
            arguments += ["--collector", "unix:" + self.path("p")]
            arguments += ["--run", self.run] if self.run else []
        else:
            self.log = self.path(f"log{self.runs}")
            arguments += ["--acklog", self.log]
        if c["stop"].isdigit() and int(c["stop"]):
            arguments += ["--count", c["stop"]]
        return self.spawn("writer", *arguments)

    def await_cycle(self, child):
        """Has the writer begun? Its run is known then, and often before."""
        clock = threading.Timer(BEGIN_SECONDS, child.kill)
        clock.start()
        begun = False
        for line in child.stdout:
            if line.startswith("run "):
                self.run = line.split()[1]
            if line.startswith("cycle"):
                begun = True
                break
        clock.cancel()
        self.is_begun |= begun
        if self.c["collector"]:
            new = [f for f in sorted(os.listdir(self.dir))
                   if f.endswith(".acklog") and f not in self.known]
            if self.run and self.run + ".acklog" not in new:
                new = [self.run + ".acklog"]
            if new:
                self.log = self.path(new[0])
                self.run = new[0][:-len(".acklog")]
        elif os.path.exists(self.log):
            self.run = self.run or "as the log says"
        return begun

    def ask_first(self):
        """P11: the collector is told before the power goes, as a campaign
        does; where it cannot be reached, the power goes all the same."""
        if self.c["collector"] and self.c["ask"] and self.run:
            self.call("collector", "--send", "cut-asked", "--run", self.run,
                      "--connect", "unix:" + self.path("c"), "--timeout",
                      "5s", ok=(0, 2))
            time.sleep(0.02 * self.c["late"])

    def complaints(self, since):
        with open(self.path("errors")) as f:
            f.seek(since)
            return [line for line in f if line.startswith("plugpull-writer")]

    def cycle(self, number):
        """Writes until the power goes, and gives it back. (begun, gone): has
        the writer written; had the power gone when it ended?"""
        c = self.c
        moment, within = c["cuts"].split(",")[number].split("/")
        is_armed = moment.startswith("a")
        order = f"cut {moment[1:]} {int(within) + c['readyms']}"
        since, armed, trouble = time.monotonic(), None, None
        if self.proxy:
            self.proxy.begin(c["net"])
            trouble = Later(self.disturb, c["fuss"], since)
        if is_armed:
            armed = Later(self.control, order)
        said = os.path.getsize(self.path("errors"))
        child = self.writer(number)
        begun = self.await_cycle(child)
        if begun and c["kill"] >= 0:
            time.sleep(c["kill"] / 1000)
            child.kill()
        if begun and c["stop"].startswith("term"):
            time.sleep(int(c["stop"][4:]) / 1000)
            child.terminate()
        if begun and c["stop"].isdigit() and int(c["stop"]):
            self.finish(child)
        gone = any(word in line for line in self.complaints(said)
                   for word in GONE)
        if not armed:
            self.ask_first()
            self.control(order)
        else:
            armed.join()
        self.finish(child)
        if trouble:
            trouble.join()
            self.proxy.begin("none")
        self.control("restore")
        return begun, gone

    def finish(self, child):
        try:
            child.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()         # as its host may die
            child.communicate()
            self.note("the writer did not end by itself")

    # Judging
    def lose(self):
        """Takes a random part of the frames behind the last reservation
        from the end of the log, as if they had never arrived."""
        with open(self.log, "rb") as f:
            data = f.read()
        ends, least, at = [], 0, 0
        while frame := formats.good_frame(data, at):
            at += 32 + len(frame[0])
            ends.append(at)
            if any(kind in (1, 2, 3) for kind, _ in
                   formats.statements(frame[0])):
                least = at
        if not ends:
            return self.log
        end = random.Random(at).choice([e for e in ends if e >= least])
        with open(self.path("shorter"), "wb") as f:
            f.write(data[:end])
        return self.path("shorter")

    def snapshot(self):
        """What a slow network still delivers is for neither side."""
        return shutil.copyfile(self.log, self.path("log-then"))

    def verify(self, log, verdict):
        arguments = ["--target", self.uri, "--json", self.path(verdict),
                     "--read-timeout", "1s", "--offset", self.c["offset"]]
        if log:
            arguments += ["--acklog", log]
        return self.call("verifier", *arguments, ok=(0, 1, 2, 3))

    def judge(self):
        """The verifier's exit status, and what is to be asked of the
        oracle."""
        question = ["--trace", self.path("trace"), "--media",
                    self.path("media"), "--verdict", self.path("verdict"),
                    "--offset", str(self.c["offset"])]
        log = None
        if self.c["log"] and self.log and os.path.exists(self.log):
            log = self.lose() if self.c["lose"] else self.snapshot()
            question += ["--acklog", log]
        status = self.verify(log, "verdict")
        self.note("oracle.py", *question)
        return status, question

    def end(self):
        if self.proxy:
            self.proxy.close()
        for child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.terminate()
            try:
                child.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
        self.how.close()
