#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the ends of small experiments, and compares.

small.py [FILE]          (else standard input)

The small-model check (tests/unit/test_smallmodel.c) tries every history of a
few writes and every content that a drive can show afterwards, and with
SMALLMODEL_EXPORT=FILE writes each distinct end there with what plugpull makes
of it; tests/fake/smallmodel_export.h has the lines. Here the oracle decodes
the same log and the same atoms, judges them by its own rules, and every
difference is printed. This file holds no rule of its own.

exit status
  0  no difference
  1  some, or nothing was compared
  2  usage, or a file that cannot be read
"""
import contextlib
import sys
import time
from collections import Counter

sys.dont_write_bytecode = True

import oracle
from formats import ATOM, AckLog, Atom, Run

LETTERS = dict(zip("inuxlbftcmrhg", (
    "intact newer unpromised impossible lost blank foreign torn corrupt "
    "misdirected unreadable hung gone").split()))
MOST = 10          # differences printed


class Shelf:
    """Stands for the oracle's drive: Atoms, slot by slot, read alike twice."""
    wrong = ()

    def __init__(self):
        self.slots = []


def read_slots(run, drive, first):
    return drive.slots


class World:
    """One run, the contents that its atoms can have, and the current log."""

    def __init__(self, raw):
        self.run, self.atoms, self.log = Run(raw), {}, None
        self.decode, self.shelf = oracle.decoder_of(self.run.id), Shelf()
        self.labels = {place: oracle.OWN for place in self.run.labels}

    def learn(self, number, text):
        if text in oracle.TROUBLE:
            self.atoms[number] = Atom(text)
        else:
            self.atoms[number], = self.decode.atoms(bytes.fromhex(text))

    def judge(self, numbers):
        atoms = [self.atoms[n] for n in numbers.split(",")]
        per = self.run.atoms
        self.shelf.slots = [atoms[k:k + per]
                            for k in range(0, len(atoms), per)]
        return oracle.Judge(self.run, self.log, self.shelf, self.labels)


def counts(digits):
    return {name: int(n) for name, n in zip(LETTERS.values(), digits)
            if n != "0"}


def said_by(judge, run):
    """What the oracle says of an end, in the words of an M line."""
    told = [judge.told[p][0] for p in range(run.start, run.end, ATOM)]
    return {
        "classes": told, "completed lost": judge.completed_lost,
        "shadow lost": judge.shadow_lost, "judged": judge.judged,
        "by log": len(judge.by_log), "by media": len(judge.by_media),
        "exit status": oracle.verdict_of(judge)[1],
        "atoms": {k: n for k, n in judge.atoms.items() if n},
        "writes": {k: n for k, n in judge.writes.items() if n}}


def said_by_plugpull(classes, completed, shadow, judged, log, media, status,
                     atoms, writes):
    return {
        "classes": [LETTERS[c] for c in classes],
        "completed lost": int(completed), "shadow lost": int(shadow),
        "judged": int(judged), "by log": int(log), "by media": int(media),
        "exit status": int(status), "atoms": counts(atoms),
        "writes": counts(writes)}


class Comparison:
    def __init__(self):
        self.world, self.ends, self.logs = None, 0, 0
        self.different, self.statuses = 0, Counter()

    def take(self, line):
        kind, *words = line.split()
        if kind == "R":
            self.world = World(bytes.fromhex(words[0]))
        elif kind == "A":
            self.world.learn(*words)
        elif kind == "L":
            self.logs += 1
            self.issued = words[1:]
            self.world.log = None if words[0] == "-" \
                else AckLog(bytes.fromhex(words[0]))
        elif kind == "M":
            self.compare(*words)
        else:
            raise ValueError(f"a line that begins with {kind}")

    def compare(self, numbers, *words):
        ours = said_by(self.world.judge(numbers), self.world.run)
        theirs = said_by_plugpull(*words)
        if ours["exit status"] == theirs["exit status"] == 2:
            ours = theirs = {"exit status": 2}    # nothing else counts (P9)
        self.ends += 1
        self.statuses[words[6]] += 1
        if ours != theirs:
            self.different += 1
            if self.different <= MOST:
                self.explain(numbers, ours, theirs)

    def explain(self, numbers, ours, theirs):
        print(f"issued {' '.join(self.issued)}")
        log = self.world.log
        for c in log.cycles if log else ():
            print(f"  cycle {c.number}: durable {sorted(c.durable)} shadow "
                  f"{sorted(c.shadow)} completed {sorted(c.completed)}")
        for n in numbers.split(","):
            a = self.world.atoms[n]
            print(f"  {a.kind} " + (f"write {a.seq} of stream {a.stream}, W "
                                    f"{a.w}, meant for {a.offset}"
                                    if a.seq is not None else ""))
        for name in ours:
            if ours[name] != theirs[name]:
                print(f"  {name}: the oracle says {ours[name]}, plugpull "
                      f"{theirs[name]}")


def main(argv):
    if len(argv) > 1 or argv and argv[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    oracle.read_slots = read_slots
    began, comparison = time.monotonic(), Comparison()
    try:
        with contextlib.ExitStack() as stack:
            lines = stack.enter_context(open(argv[0])) if argv else sys.stdin
            for line in lines:
                comparison.take(line)
    except OSError as e:
        print(f"small: {e}", file=sys.stderr)
        return 2
    verdicts = ", ".join(f"{n} with status {s}" for s, n
                         in sorted(comparison.statuses.items()))
    print(f"{comparison.ends} ends ({verdicts}) after {comparison.logs} logs, "
          f"{comparison.different} differ, "
          f"{time.monotonic() - began:.1f} s")
    return 0 if comparison.ends and not comparison.different else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
