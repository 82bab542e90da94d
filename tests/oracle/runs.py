#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real cycles against the simulated drive and asks the oracle.

runs.py --bin DIR [--count N] [--seed N] [--keep DIR] [NAME=VALUE ...]

Each configuration is drawn from the seed; NAME=VALUE pins one choice (see
CHOICES). Every cycle of every configuration is compared. Where the oracle
does not agree, the folder is kept and the commands are in its file `how`.
Exit status: 0 all agreed, 1 some did not, 2 trouble.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import formats

HERE = os.path.dirname(os.path.abspath(__file__))
FAULTS = ("none ignores-flush ignores-fua flushes-late flushes-late=20 "
          "flushes-partly reorders protected weak-capacitor tears tears=4096 "
          "tears-in-flight corrupts collateral blanks misdirects rolls-back "
          "stale-after-restore stale-after-restore=3 unreadable hangs dies")
CHOICES = {
    "fault": FAULTS.split(),
    "sync": "flush:1 flush:4 flush:32 flush:3ms fua none".split(),
    "depth": [1, 2, 4, 8, 32, 64],
    "block": [512, 1024, 4096, 4096, 8192, 16384, 65536],
    "logical": [512, 4096],
    "streams": [1, 1, 2, 3],
    "slots": [3, 4, 5, 7, 16, 50, 64, 200],
    "pattern": ["random", "random", "sequential"],
    "cycles": [1, 2, 3],
    "fill": [1, 1, 1, 0],
    "log": [1, 1, 1, 0],
    "collector": [0, 0, 1],
    "offset": [0, 0, 65536],
    "drain": [2000, 2000, 30, 3],
    "spare": ["1m", "1m", "0"],
    "late": [0, 1, 1],
    "cache": ["64m", "64m", "256k"],
    "every": [1, 1, 2],          # fault bites at every nth cut
    "control": [0, 0, 1],        # every second cycle has no flush
    "stop": [0, 0, 0, 1],        # the writer ends by itself before the cut
    "kill": [0, 0, 1],           # the writer's host dies with the drive
    "lose": [0, 0, 1],           # acknowledgements die: P5 must speak
}


class Rig:
    def __init__(self, binaries, folder, c):
        self.bin, self.dir, self.c = binaries, folder, c
        self.how = open(os.path.join(folder, "how"), "w")
        self.children = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def command(self, name, *arguments):
        line = [os.path.join(self.bin, "plugpull-" + name)]
        line += [str(a) for a in arguments]
        print(*line, file=self.how, flush=True)
        return line

    def start(self, until, *command):
        child = subprocess.Popen(
            self.command(*command), stdout=subprocess.PIPE, text=True,
            stderr=open(self.path("errors"), "a"))
        self.children.append(child)
        for line in child.stdout:
            if line.startswith(until):
                return child, line
        raise RuntimeError(f"{command[0]} ended, see {self.dir}/errors")

    def call(self, *command, ok=(0,)):
        done = subprocess.run(self.command(*command), text=True,
                              capture_output=True, timeout=120)
        if done.returncode not in ok:
            raise RuntimeError(f"{' '.join(map(str, command))}: status "
                               f"{done.returncode} {done.stderr}")
        return done

    def begin(self):
        c = self.c
        size = 2 * (1 << 20) + c["slots"] * c["block"]
        size = -(-size // c["logical"]) * c["logical"] + c["offset"]
        self.call_size = size - c["offset"]
        arguments = ["serve", "--socket", self.path("s"), "--media",
                     self.path("media"), "--size", size, "--control",
                     self.path("control"), "--trace", self.path("trace"),
                     "--logical-block", c["logical"], "--drain-ms",
                     c["drain"], "--cache", c["cache"], "--spare",
                     c["spare"], "--fault", c["fault"], "--fault-every",
                     c["every"], "--seed",
                     "%x" % c["seed"]]
        self.start("serving", "simdrive", *arguments)
        self.uri = "nbd+unix:///?socket=" + self.path("s")
        if c["collector"]:
            _, line = self.start("listening", "collector", "--listen",
                                 "unix:" + self.path("c"), "--dir", self.dir)
            self.collector = line.split()[-1]

    def write(self, cycle, run):
        c = self.c
        sync = "none" if c["control"] and cycle % 2 else c["sync"]
        arguments = ["--target", self.uri, "--erase", self.uri, "--sync",
                     sync, "--queue-depth", c["depth"], "--seed",
                     "%x" % c["seed"], "--size", self.call_size, "--offset",
                     c["offset"], "--block-size", c["block"], "--streams",
                     c["streams"], "--pattern", c["pattern"]]
        if not c["fill"] and not run:
            arguments += ["--no-fill"]
        if c["collector"]:
            arguments += ["--collector", self.collector]
            arguments += ["--run", run] if run else []
        else:
            arguments += ["--acklog", self.path("log")]
        if c["stop"]:
            arguments += ["--count", 10 + int(2000 * c["pause"][cycle])]
        child, line = self.start("run ", "writer", *arguments)
        run = line.split()[1]
        if c["collector"]:
            self.log = self.path(run + ".acklog")
        else:
            self.log = self.path("log")
        for line in child.stdout:
            if line.startswith("cycle"):
                break
        if c["stop"]:
            child.communicate(timeout=60)
        else:
            time.sleep(c["pause"][cycle])
        return child, run

    def cut(self, child, run):
        c = self.c
        if c["collector"]:
            self.call("collector", "--send", "cut-asked", "--run", run,
                      "--connect", self.collector)
            time.sleep(0.02 * c["late"])
        if c["kill"]:
            child.kill()
        self.call("simdrive", "cut", "--control", self.path("control"))
        if not c["stop"]:
            child.communicate(timeout=60)
        self.call("simdrive", "restore", "--control", self.path("control"))

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
        end = random.Random(at).choice([e for e in ends if e >= least])
        with open(self.path("shorter"), "wb") as f:
            f.write(data[:end])
        return self.path("shorter")

    def verify(self):
        self.judged_by = self.lose() if self.c["lose"] else self.log
        arguments = ["--target", self.uri, "--json", self.path("verdict"),
                     "--read-timeout", "1s", "--offset", self.c["offset"]]
        if self.c["log"]:
            arguments += ["--acklog", self.judged_by]
        self.call("verifier", *arguments, ok=(0, 1, 2, 3))

    def ask(self):
        line = [sys.executable, os.path.join(HERE, "oracle.py"), "--trace",
                self.path("trace"), "--media", self.path("media"),
                "--verdict", self.path("verdict"), "--offset",
                str(self.c["offset"])]
        if self.c["log"]:
            line += ["--acklog", self.judged_by]
        print(*line, file=self.how, flush=True)
        return subprocess.run(line, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def end(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
            child.communicate(timeout=30)
        self.how.close()


def draw(chance, pinned):
    c = {name: chance.choice(values) for name, values in CHOICES.items()}
    c.update(pinned)
    if c["fault"] == "tears-in-flight":
        c["logical"] = 4096
    c["block"] = max(c["block"], c["logical"])
    c["slots"] = max(c["slots"], c["streams"])
    if c["block"] == 65536:
        c["slots"] = min(c["slots"], 16)
    c["seed"] = chance.getrandbits(48)
    c["pause"] = [chance.random() ** 3 * 0.15 for _ in range(c["cycles"])]
    return c


def run_one(binaries, c, keep):
    """(cycles compared, text of the first disagreement or None)."""
    folder = tempfile.mkdtemp(prefix="oracle-", dir=keep)
    rig, run, agreed, wrong = Rig(binaries, folder, c), None, 0, None
    try:
        rig.begin()
        for cycle in range(c["cycles"]):
            try:
                child, run = rig.write(cycle, run)
            except RuntimeError:
                if not cycle or c["fault"] not in (
                        "unreadable", "hangs", "dies"):
                    raise
                print("  the writer does not begin on such a drive")
                break
            rig.cut(child, run)
            rig.verify()
            answer = rig.ask()
            print(f"  cycle {cycle + 1}: {answer.stdout.strip()}",
                  flush=True)
            if answer.returncode:
                wrong = f"cycle {cycle + 1}, status {answer.returncode}"
                break
            if c["fault"] in ("none", "protected") \
                    and "agreed: kept" not in answer.stdout:
                wrong = f"cycle {cycle + 1}: an honest drive is accused"
                break
            agreed += 1
    except (RuntimeError, subprocess.TimeoutExpired) as e:
        wrong = f"trouble: {e}"
    finally:
        rig.end()
    if wrong:
        return agreed, f"{wrong}; kept in {folder}"
    shutil.rmtree(folder)
    return agreed, None


def main(argv):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", required=True)
    p.add_argument("--count", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", default=tempfile.gettempdir())
    p.add_argument("pin", nargs="*")
    a = p.parse_args(argv)
    pinned = {}
    for pin in a.pin:
        name, value = pin.split("=", 1)
        if name not in CHOICES:
            p.error(f"no choice is called {name}")
        pinned[name] = int(value) if value.isdigit() \
            and name != "spare" else value
    compared, bad = 0, []
    for n in range(a.seed, a.seed + a.count):
        c = draw(random.Random(n), pinned)
        print(f"{n}: " + " ".join(f"{k}={v}" for k, v in c.items()
                                  if k not in ("seed", "pause")), flush=True)
        cycles, wrong = run_one(os.path.abspath(a.bin), c, a.keep)
        compared += cycles
        if wrong:
            print(f"  WRONG {wrong}", flush=True)
            bad.append((n, wrong))
    print(f"{a.count} configurations, {compared} cycles agreed, "
          f"{len(bad)} configurations did not")
    for n, wrong in bad:
        print(f"  --seed {n} --count 1: {wrong}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
