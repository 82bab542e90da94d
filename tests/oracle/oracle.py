#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second opinion on plugpull: what the verdict must be, worked out anew.

Takes the trace of the simulated drive (plugpull-simdrive serve --trace), its
media after the last cut, the ack log and the verifier's JSON, and believes
none of them: it replays the trace to the media, holds every sentence of the
log and every W against what the drive itself saw, and judges each 512-byte
atom by the rules P1 to P11 from nothing but docs/FORMATS.md. It shares no
code with plugpull; where the two differ, one of them is wrong.

exit status
  0  no difference
  1  the verifier's verdict, classes or findings differ
  2  usage, or a file that cannot be read
  3  the trace contradicts itself or the media
  4  the writer was not honest (P1, P2, P5)
"""
import argparse
import json
import sys
from collections import Counter

sys.dont_write_bytecode = True

from formats import (ATOM, BLANK, CORRUPT, FOREIGN, GOOD, MIB, AckLog, Atom,
                     Damaged, Decoder, read_label, scheduled_slot)
from trace import Contradiction, Drive, honesty, read_events

BROKEN = ("lost", "blank", "foreign", "torn", "corrupt", "misdirected",
          "unreadable", "hung", "gone")
CLASSES = ("intact", "newer", "unpromised", "impossible") + BROKEN


class Dishonest(Exception):
    """The writer broke P1, P2 or P5; holds what it did."""


def all_slots(run, drive, log):
    """(stream, number) -> slot: the schedule for every possible number."""
    limit = Counter()
    for stream, seq in drive.records:
        limit[stream] = max(limit[stream], seq)
    for cycle in log.cycles if log else ():
        for stream, seq in cycle.reserved.items():
            limit[stream] = max(limit[stream], seq)
    return {(k, q): k * run.own + scheduled_slot(run, k, q)
            for k in limit if k < run.streams
            for q in range(1, limit[k] + 1)}


class Judge:
    """One class for every atom of the region: (class, expected, found)."""

    def __init__(self, run, log, slots, drive, saw_all):
        self.run, self.log, self.slots = run, log, slots
        # address -> Atom, its kind may be trouble: as it is answered first,
        # and as it is held where a first answer was wrong
        self.seen, self.held = ({
            address: Atom(held) if isinstance(held, str)
            else drive.decode(held)
            for address in range(run.start, run.end, ATOM)
            for held in [drive.answer(address, first)]}
            for first in (True, False))
        self._collect_promises([*self.seen.values()] + (
            [*self.held.values()] if saw_all else []))
        self.told, self.writes, self.unsettled = {}, Counter(), False
        self.completed_lost = self.shadow_lost = self.judged = 0
        for slot in range(run.slots):
            self._judge_slot(slot)
        self.atoms = Counter(t[0] for t in self.told.values()
                             if not is_information(t))

    def _collect_promises(self, witnesses):
        """The log's promises and those that the media prove (P5)."""
        proofs = {(a.stream, a.first, a.w) for a in witnesses
                  if a.kind == GOOD and a.seq}
        self.by_media = {(k, q) for k, first, w in proofs
                         for q in range(first, w + 1)}
        self.by_log = self.log.all("durable") if self.log else set()
        durable = self.by_log | self.by_media
        last = self.log.cycles[-1] if self.log and self.log.cycles else None
        shadow = last.shadow - durable if last else set()
        completed = last.completed - durable - shadow if last else set()
        self.durable, self.shadow, self.completed = (
            self._newest(numbers) for numbers in (durable, shadow, completed))

    def _newest(self, numbers):
        newest = {}
        for stream, seq in numbers:
            slot = self.slots[stream, seq]
            newest[slot] = max(seq, newest.get(slot, 0))
        return newest

    def _is_possible(self, atom, slot, index):
        """P9: can this atom have been issued, for SLOT if that is given?"""
        if atom.seq == 0:
            return self.run.filled
        home = self.slots.get((atom.stream, atom.seq))
        if home is None or self.log and not self.log.cycle_of(atom.stream,
                                                              atom.seq):
            return False
        return slot is None or (home, atom.index, atom.length) \
            == (slot, index, self.run.atoms)

    def _judge_slot(self, slot):
        start = self.run.start + slot * self.run.block
        places = range(start, start + self.run.block, ATOM)
        promised = self.durable.get(slot, 0 if self.run.filled else None)
        self.judged += promised is not None
        told, at_home = self._judge_places(slot, places, promised)
        if not any(t[0] in BROKEN for t in told.values()):
            # A wrong answer that breaks no promise: nobody can say which
            # answer the verifier took for the one that counts.
            self.unsettled |= any(self.seen[p] != self.held[p]
                                  for p in places)
            self.seen.update((p, self.held[p]) for p in places)
            told, at_home = self._judge_places(slot, places, promised)
        self.told.update(told)
        self._count_write(told)
        if any(self.seen[p].kind in ("unreadable", "hung", "gone")
               for p in places):
            return               # what could not be read shows nothing (P9)
        newest = max([promised or 0] + at_home)
        self.shadow_lost += self.shadow.get(slot, 0) > newest
        self.completed_lost += self.completed.get(slot, 0) > newest

    def _judge_places(self, slot, places, promised):
        at_home = [self.seen[p].seq for p in places
                   if self.seen[p].kind == GOOD and self.seen[p].offset == p]
        told = {p: self._judge_atom(slot, p, index, promised, at_home)
                for index, p in enumerate(places)}
        if promised is not None:
            self._judge_blocks(told, places, promised)
        return told, at_home

    def _judge_atom(self, slot, place, index, promised, at_home):
        atom = self.seen[place]
        if atom.kind in (BLANK, FOREIGN, CORRUPT):
            name = "unpromised" if promised is None else atom.kind
        elif atom.kind != GOOD:
            name = atom.kind
        elif atom.offset != place:
            name = "misdirected" if self._is_possible(atom, None, index) \
                else "impossible"
        elif not self._is_possible(atom, slot, index):
            name = "impossible"
        elif promised is None or atom.seq > promised:
            name = "newer"
        elif atom.seq == promised:
            name = "intact"
        else:
            name = "torn" if promised in at_home else "lost"
        return name, promised, atom.seq if atom.kind == GOOD else None

    def _judge_blocks(self, told, places, promised):
        """P8: one logical block, one version."""
        for k in range(0, len(places), self.run.logical // ATOM):
            block = places[k:k + self.run.logical // ATOM]
            if len({told[p][2] for p in block
                    if told[p][0] in ("intact", "newer")}) > 1:
                for p in block:
                    told[p] = ("corrupt", promised, told[p][2])

    def _count_write(self, told):
        """A write counts once in each class that it has atoms of; intact
        only where it is nothing else, newer only where it is not broken."""
        classes = {t[0] for t in told.values() if not is_information(t)}
        if len(classes) > 1:
            classes -= {"intact"}
        if classes.intersection(BROKEN):
            classes -= {"newer"}
        self.writes.update(classes)


def is_information(told):
    """Broken where nothing was promised: told, and accuses nobody."""
    return told[0] in BROKEN and told[1] is None


def bad_labels(run, drive):
    """place -> class of the labels that do not answer as they were written;
    a label is one record, so it counts with all its eight atoms."""
    found = {}
    for place in run.labels:
        data = [drive.answer(a) for a in range(place, place + 4096, ATOM)]
        trouble = [d for d in data if isinstance(d, str)]
        label = None if trouble else read_label(b"".join(data))
        if label is None:
            found[place] = trouble[0] if trouble else \
                CORRUPT if any(map(any, data)) else BLANK
        elif label.raw != run.raw:
            found[place] = "other"
    return found


def verdict_of(judge, labels):
    """(verdict, exit status): design section 6 and P9."""
    if not judge or "other" in labels.values():
        return "none", 2
    if labels or any(t[0] in BROKEN and not is_information(t)
                     for t in judge.told.values()):
        return "broken", 1
    if judge.atoms["impossible"]:
        return "none", 2
    return "kept", 0 if judge.completed_lost else 3


class Comparison:
    """The verifier's JSON against what the oracle says."""

    def __init__(self, judge, labels, told):
        self.judge, self.labels, self.told = judge, labels, told
        self.differences = []
        verdict, status = verdict_of(judge, labels)
        if verdict != "kept" or not judge.unsettled or told["verdict"] \
                == "broken":
            self._equal("verdict", verdict, told["verdict"])
            self._equal("exit status", status, told["exit_status"])
        if verdict != "none" != told["verdict"]:
            self._compare_counts()
            self._compare_findings()

    def _equal(self, name, ours, theirs):
        if ours != theirs and not (
                self.judge and self.judge.unsettled and name.startswith((
                    "intact", "newer", "completed_lost", "shadow_lost",
                    "durable_media"))):
            self.differences.append(f"{name}: the oracle says {ours}, the "
                                    f"verifier {theirs}")

    def _compare_counts(self):
        judge, labels = self.judge, Counter(self.labels.values())
        for name in CLASSES:
            theirs = self.told[name]
            self._equal(f"{name}, atoms", judge.atoms[name]
                        + 8 * labels[name], theirs["atoms"])
            self._equal(f"{name}, writes", judge.writes[name] + labels[name],
                        theirs["writes"])
        for name, ours in (("completed_lost", judge.completed_lost),
                           ("shadow_lost", judge.shadow_lost),
                           ("judged_writes", judge.judged),
                           ("durable_log", len(judge.by_log)),
                           ("durable_media", len(judge.by_media))):
            self._equal(name, ours, self.told[name])

    def _compare_findings(self):
        """Each finding covers its atoms; the list ends after 1000. Not
        compared: what was found where that is no record of this run, and
        what was expected where nothing was promised."""
        theirs, labels = {}, {}
        for f in self.told["findings"]:
            if f["label"]:
                labels[f["offset"]] = f["class"]
                continue
            for k in range(f["atoms"]):
                theirs[f["offset"] + k * ATOM] = [
                    f["class"], f["expected"], f["found"], f["information"]]
        ours = {p: [*t, is_information(t)]
                for p, t in self.judge.told.items() if t[0] in BROKEN}
        if self.told["findings_total"] > len(self.told["findings"]):
            last = max(theirs, default=0)
            ours = {p: t for p, t in ours.items() if p <= last}
        for place in sorted(ours.keys() | theirs.keys()):
            a, b = ours.get(place), theirs.get(place)
            if a and b:
                b[2] = a[2] if a[2] is None or a[0] == CORRUPT else b[2]
                b[1] = a[1] if a[3] else b[1]
            self._equal(f"byte {place} (class, expected, found, information)",
                        a, b)
        self._equal("labels", self.labels, labels)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def options(argv):
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--trace", required=True)
    p.add_argument("--media", required=True, help="after the last cut")
    p.add_argument("--acklog", help="without it, media proof alone (P5)")
    p.add_argument("--verdict", required=True, help="the verifier's --json")
    p.add_argument("--before", help="media before the trace; else zeros")
    p.add_argument("--offset", type=int, default=0,
                   help="of the region; needed only without --acklog")
    p.add_argument("--other-clock", action="store_true",
                   help="the writer ran on another host than the drive")
    p.add_argument("--most", type=int, default=20,
                   help="print so many lines of a kind (20)")
    return p.parse_args(argv)


def complain(what, lines, most, status):
    for line in lines[:most]:
        print(f"{what}: {line}")
    if len(lines) > most:
        print(f"{what}: and {len(lines) - most} more")
    return status


def run_of(media, offset):
    """The run that the first readable label of the media describes."""
    last_label = range(len(media) - MIB, offset, -ATOM)
    return next(filter(None, (read_label(media[place:place + 4096])
                              for place in (offset, *last_label))), None)


def look(arguments, media, log, run):
    """([Judge, Judge], bad labels) once trace, media and writer are believed.

    Where the drive answered wrongly for a time only, nobody can say which
    records the verifier has seen: the first answers, or those behind as well.
    """
    drive = Drive(read_events(read(arguments.trace)), run, Decoder(run.id),
                  read(arguments.before) if arguments.before else b"")
    wrong = [a for a in range(0, len(media), ATOM)
             if (drive.media or b"")[a:a + ATOM] != media[a:a + ATOM]]
    if wrong:
        raise Contradiction(f"replay and media differ in {len(wrong)} atoms, "
                            f"the first at byte {wrong[0]}")
    slots = all_slots(run, drive, log)
    faults = list(honesty(drive, log, slots, not arguments.other_clock))
    if faults:
        raise Dishonest(faults)
    labels = bad_labels(run, drive)
    if not log and len(labels) == 2:
        return [None], labels    # nobody can say what run this is
    judges = [Judge(run, log, slots, drive, b) for b in (False, True)]
    for place, atom in judges[0].seen.items():
        if atom.kind == GOOD and atom not in map(
                drive.decode, drive.versions.get(atom.offset, ())):
            raise Contradiction(f"byte {place} holds a record that never "
                                f"arrived")
    return judges, labels


def consult(arguments):
    media, told = read(arguments.media), json.loads(read(arguments.verdict))
    log, judges, labels = None, [None], {}
    try:
        if arguments.acklog:
            log = AckLog(read(arguments.acklog))
        run = log.run if log else run_of(media, arguments.offset)
    except Damaged as e:
        run = print(f"the log is not to be believed: {e}")
    if run:
        judges, labels = look(arguments, media, log, run)
    for judge in judges:
        different = Comparison(judge, labels, told).differences
        if not different:
            break
    else:
        return complain("difference", different, arguments.most, 1)
    verdict, status = verdict_of(judge, labels)
    counts = [f"{judge.atoms[n]} {n}" for n in CLASSES if judge.atoms[n]] + [
        f"{judge.completed_lost} completed lost",
        f"{judge.shadow_lost} shadow lost"] if judge else []
    print(f"agreed: {verdict}, exit status {status}: {', '.join(counts)}")
    return 0


def main(argv):
    arguments = options(argv)
    try:
        return consult(arguments)
    except (OSError, ValueError, KeyError) as e:
        print(f"oracle: {type(e).__name__}: {e}", file=sys.stderr)
        return 2
    except Contradiction as e:
        return complain("contradiction", [str(e)], arguments.most, 3)
    except Dishonest as e:
        return complain("writer", e.args[0], arguments.most, 4)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
