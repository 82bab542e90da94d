#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real cycles against the simulated drive and asks the oracle.

Each configuration is drawn from its seed; NAME=VALUE pins one choice of it
(draw.py says which there are). Every cycle is compared. Where verifier and
oracle differ, or an honest drive is accused, the folder of the configuration
is kept with the commands in its file `how`, and it is repeated by its seed or,
whatever becomes of the draw, by the pins that are printed.

Exit status: 0 no difference, 1 some, 2 usage or trouble.
"""
import argparse
import collections
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import oracle
from draw import PLAIN, draw, is_honest, pins_of, plain, words_of
from rig import Rig, Trouble

SHM, SHM_BYTES_MIN = "/dev/shm", 1 << 30
PROGRESS_SECONDS = 15
VERDICTS = ("kept, shown", "broken", "none", "kept, nothing shown")


def work_folder():
    """In memory where there is room: media and traces are small."""
    try:
        room = os.statvfs(SHM)
        if room.f_bavail * room.f_frsize >= SHM_BYTES_MIN \
                and os.access(SHM, os.W_OK):
            return SHM
    except OSError:
        pass
    return tempfile.gettempdir()


class Outcome:
    """What became of one configuration; goes from worker to parent."""

    def __init__(self, seed, c):
        self.seed, self.c = seed, c
        self.cuts = self.refused = 0
        self.verdicts = collections.Counter()
        self.lines, self.wrong, self.kind = [], None, None
        self.repeated = None     # what trouble it had the first time

    def fail(self, kind, text):
        self.kind, self.wrong = kind, text


def told(rig, name):
    with open(rig.path(name)) as f:
        told = json.load(f)
    if "not for the drive's reasons" in (told["reason"] or ""):
        raise Trouble(told["reason"])
    return told["verdict"]


def is_same(rig, verdict, text):
    """A run that has not begun has promised nothing but, perhaps, its fill:
    "kept, nothing shown" and "no verdict" are both right, and the verifier
    need not count what it did not promise."""
    return not rig.is_begun and verdict != "broken" \
        and "the oracle says broken" not in text


def compare(rig, outcome):
    """True where verifier and oracle agree, and no honest drive is accused."""
    status, question = rig.judge()
    answer, text = oracle.ask(question)
    verdict = told(rig, "verdict")
    outcome.verdicts[VERDICTS[status]] += 1
    outcome.lines.append(f"cycle {outcome.cuts}: {text.strip()}")
    if answer == 1 and is_same(rig, verdict, text):
        answer = 0
    if is_honest(rig.c) and verdict == "broken":
        outcome.fail("false accusation", "an honest drive is accused: " + text)
    elif answer == 1 and verdict == "broken" and \
            "verdict: the oracle says" in text:
        outcome.fail("false accusation", text)
    elif answer == 1 and "verdict: the oracle says broken" in text:
        outcome.fail("missed lie", text)
    elif answer:
        outcome.fail("difference", f"status {answer}: {text}")
    return outcome.wrong is None


def compare_old(rig, outcome):
    """A run that another was written over gets no verdict."""
    c = rig.c
    rig.verify(rig.old_log, "verdict-old")
    verdict = told(rig, "verdict-old")
    survives = str(c["spare"]) != "0" or is_honest(c)
    if survives and "dies" not in c["fault"] and verdict != "none":
        outcome.fail("false accusation" if verdict == "broken" else
                     "difference", f"the log of the run before: {verdict}")


def may_refuse(rig):
    """May the writer end before it has begun, with the power on?"""
    c = rig.c
    return not is_honest(c) or not rig.is_begun or c["collector"] and (
        c["net"] != "none" or c["fuss"] != "none")


def go_through(rig, outcome):
    c = rig.c
    rig.begin()
    for number in range(c["cycles"]):
        begun, gone = rig.cycle(number)
        outcome.cuts += 1
        if not compare(rig, outcome):
            return
        if begun and rig.old_log:
            compare_old(rig, outcome)
        if not begun and not gone:
            outcome.refused += 1
            outcome.lines.append("the writer does not begin on this drive")
            if not may_refuse(rig):
                return outcome.fail("trouble",
                                    "the writer refuses an honest drive")
            if "dies" in c["fault"]:
                return
            rig.is_unfit = True


def keep_files(folder, target):
    os.makedirs(target)
    for entry in os.scandir(folder):
        if entry.is_file():      # and no socket
            shutil.copy(entry.path, target)


def run_one(binaries, keep, seed, c):
    """Trouble of the rig is no difference: then the configuration is tried
    once more, and told to have been."""
    outcome = try_one(binaries, keep, seed, c)
    if outcome.kind == "trouble":
        trouble = outcome.wrong
        outcome = try_one(binaries, keep, seed, c)
        outcome.repeated = trouble
    return outcome


def try_one(binaries, keep, seed, c):
    outcome = Outcome(seed, c)
    folder = tempfile.mkdtemp(prefix="torture-", dir=work_folder())
    rig = Rig(binaries, folder, c)
    rig.note("#", words_of(c))
    try:
        go_through(rig, outcome)
    except (Trouble, OSError) as e:
        outcome.fail("trouble", f"{type(e).__name__}: {e}")
    finally:
        rig.end()
        if outcome.wrong:
            outcome.folder = os.path.join(keep, os.path.basename(folder))
            keep_files(folder, outcome.folder)
        shutil.rmtree(folder)
    return outcome


class Summary:
    def __init__(self):
        self.began = time.monotonic()
        self.bad, self.kinds = [], collections.Counter()
        self.verdicts = collections.Counter()
        self.count = self.cuts = self.refused = self.repeated = 0

    def add(self, outcome):
        self.count += 1
        self.cuts += outcome.cuts
        self.refused += outcome.refused
        self.repeated += outcome.repeated is not None
        self.verdicts.update(outcome.verdicts)
        if outcome.wrong:
            self.kinds[outcome.kind] += 1
            self.bad.append(outcome)

    def line(self):
        minutes = (time.monotonic() - self.began) / 60
        return (f"{self.count} configurations, {self.cuts} cuts, "
                f"{len(self.bad)} bad, {self.count / minutes:.0f} a minute")

    def print(self):
        for o in self.bad:
            print(f"{o.kind}, {o.seed}: {o.wrong.splitlines()[0]}\n"
                  f"  kept in {o.folder}\n  {words_of(o.c)}")
        shown = ", ".join(f"{self.verdicts[v]} {v}" for v in VERDICTS)
        print(f"verdicts: {shown}; {self.refused} writers refused the drive, "
              f"{self.repeated} configurations were repeated")
        print(f"{self.line()}: " + ", ".join(
            f"{self.kinds[k]} {k}" for k in (
                "false accusation", "missed lie", "difference", "trouble")))


def describe(outcome, is_verbose):
    if is_verbose or outcome.wrong:
        print(f"{outcome.seed}: {words_of(outcome.c)}")
        for line in outcome.lines:
            print(" ", line)
    if outcome.repeated:
        print(f"{outcome.seed}: repeated: {outcome.repeated}")
    if outcome.wrong:
        print(f"  {outcome.kind.upper()}: {outcome.wrong.strip()}\n"
              f"  kept in {outcome.folder}")


def prepare_worker():
    """Ends in order when it is told to, and so does what it has started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))


def run_all(arguments, tasks):
    summary, room = Summary(), threading.Semaphore(arguments.jobs)
    spoken = time.monotonic()
    results = collections.deque()

    def done(result):
        results.append(result)
        room.release()

    def empty():
        nonlocal spoken
        while results:
            outcome = results.popleft()
            if isinstance(outcome, BaseException):
                raise outcome
            summary.add(outcome)
            describe(outcome, arguments.verbose)
        if time.monotonic() - spoken > PROGRESS_SECONDS:
            spoken = time.monotonic()
            print(summary.line(), flush=True)

    deadline = time.monotonic() + (arguments.seconds or 1e9)
    with multiprocessing.get_context("fork").Pool(
            arguments.jobs, prepare_worker, maxtasksperchild=50) as pool:
        for seed, c in tasks:
            room.acquire()
            empty()
            if time.monotonic() > deadline:
                room.release()
                break
            pool.apply_async(run_one, (arguments.bin, arguments.keep, seed, c),
                             callback=done, error_callback=done)
        for _ in range(arguments.jobs):
            room.acquire()
        pool.close()
        pool.join()
    empty()
    return summary


def draw_tasks(arguments):
    pinned = pins_of(arguments.pin)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        yield seed, plain(pinned) if arguments.plain else \
            draw(random.Random(seed), pinned)


def list_tasks(path, count):
    """The pins of each line, COUNT times: what hangs on the order of events
    does not show each time."""
    with open(path) as f:
        for number, line in enumerate(f, 1):
            words = line.split("#")[0].split()
            for _ in range(count if words else 0):
                yield f"line {number}", plain(pins_of(words))


def options(argv):
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", required=True, help="where the programs are")
    p.add_argument("--count", type=int, default=20, help="configurations (20)")
    p.add_argument("--seed", type=int, default=1, help="of the first one (1)")
    p.add_argument("--jobs", type=int, default=4, help="side by side (4)")
    p.add_argument("--seconds", type=int, help="begin none after this time")
    p.add_argument("--list", help="run the pins in the lines of this file")
    p.add_argument("--plain", action="store_true",
                   help="draw nothing: what is not pinned is as plain as can "
                        "be, to find the smallest case")
    p.add_argument("--keep", default=tempfile.gettempdir(),
                   help="what differs is kept there")
    p.add_argument("--verbose", action="store_true", help="tell each cycle")
    p.add_argument("pin", nargs="*", metavar="NAME=VALUE")
    a = p.parse_args(argv)
    a.bin, a.keep = os.path.abspath(a.bin), os.path.abspath(a.keep)
    for pin in a.pin:
        if pin.split("=")[0] not in PLAIN or "=" not in pin:
            p.error(f"no choice is called {pin.split('=')[0]}")
    return a


def main(argv):
    arguments = options(argv)
    tasks = list_tasks(arguments.list, arguments.count) if arguments.list \
        else draw_tasks(arguments)
    summary = run_all(arguments, tasks)
    summary.print()
    return 1 if summary.bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
