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
import functools
import json
import sys
from collections import Counter

sys.dont_write_bytecode = True

from formats import (ATOM, BLANK, CORRUPT, FOREIGN, GOOD, MIB, AckLog, Atom,
                     Damaged, Decoder, read_label, slot_of)
from trace import WRITE, Contradiction, Drive, honesty, read_events

BROKEN = ("lost", "blank", "foreign", "torn", "corrupt", "misdirected",
          "unreadable", "hung", "gone")
CLASSES = ("intact", "newer", "unpromised", "impossible") + BROKEN
TROUBLE = {"unreadable", "hung", "gone"}
# Labels that can be read: the run's own, its claim, one that has come back (an
# own label of another run, which no claim can be), and any other
OWN, CLAIM, BACK, OTHER = "own", "claim", "come back", "other"
# What the verifier may go by: the first answers; all of them; or the later
# ones, the first only to learn from ("Changed answers" in docs/VERDICTS.md)
FIRST, ALL, LEARNED = "first", "all", "learned"

decoder_of = functools.lru_cache(maxsize=1)(Decoder)


class Dishonest(Exception):
    """The writer broke P1, P2 or P5; holds what it did."""


class Judge:
    """One class for every atom of the region: (class, expected, found)."""

    def __init__(self, run, log, drive, labels, saw=FIRST):
        self.run, self.log = run, log
        # slot -> Atoms, whose kind may be trouble: as they are answered
        # first, and as they are held where a first answer was wrong
        self.seen = read_slots(run, drive, True)
        self.held = read_slots(run, drive, False) if drive.wrong \
            else self.seen
        self._collect_promises(
            {a for slots in (self.seen, self.held)[:1 if saw == FIRST else 2]
             for atoms in slots for a in atoms if a.kind == GOOD and a.seq},
            labels)
        # bytes where a second answer is another one
        self.moved = {run.start + slot * run.block + i * ATOM
                      for slot, pair in enumerate(zip(self.seen, self.held))
                      if pair[0] != pair[1]
                      for i, (a, b) in enumerate(zip(*pair)) if a != b}
        self.unsettled = False
        if saw == LEARNED:
            self.fill_accuses = self._fill_accuses()
            self.unsettled, self.seen = self.seen != self.held, self.held
        self.told, self.writes = {}, Counter()
        self.completed_lost = self.shadow_lost = self.judged = 0
        for slot in range(run.slots):
            self._judge_slot(slot)
        self._rename_gone()
        self.atoms = Counter(t[0] for t in self.told.values()
                             if not is_information(t))

    def _rename_gone(self):
        """Where not one block can be read the drive is gone."""
        silent = "unreadable", "hung"
        if all(a.kind in silent for atoms in self.seen for a in atoms) and \
                len(self.labels) == 2 and \
                all(found in silent for found in self.labels.values()):
            self.told = {p: ("gone", *t[1:]) for p, t in self.told.items()}
            self.labels = dict.fromkeys(self.labels, "gone")
            self.writes = Counter({"gone": sum(
                self.writes[name] for name in silent)})

    def _collect_promises(self, records, labels):
        """The log's promises and those that the media prove (P5, P6)."""
        log, last = self.log, None
        if log and log.cycles:
            last = log.cycles[-1]
        # What stands behind them was flushed before: docs/FORMATS.md, "Order
        # of a new run"
        self.labels_promised = bool(last or records)
        self.fill_promised = self.run.filled and (
            self.labels_promised or OWN in labels.values())
        self.labels = {p: FOREIGN if found in (CLAIM, BACK) else found
                       for p, found in labels.items()
                       if found != OWN and self.labels_promised}
        proofs = {}
        for a in records:
            key = a.stream, a.first
            proofs[key] = max(a.w, proofs.get(key, 0))
        self.by_media = {(k, q) for (k, first), w in proofs.items()
                         for q in range(first, w + 1)}
        self.by_log = log.all("durable") if log else set()
        late = {n: cycle for n in self.by_media - self.by_log if log
                for cycle in [log.cycle_of(*n)]
                if cycle and cycle.media_may_be_late()}     # P11
        durable = self.by_log | self.by_media - late.keys()
        shadow = completed = set()
        if last:
            shadow = last.shadow | {n for n in late if late[n] is last}
            shadow -= durable
            completed = last.completed - durable - shadow
        self.durable, self.shadow, self.completed = (
            self._newest(numbers) for numbers in (durable, shadow, completed))

    def _fill_accuses(self):
        """Is there a wrong first answer that no place of a filled region
        may give?"""
        places = iter(range(self.run.start, self.run.end, ATOM))
        return self.fill_promised and any(
            a != b and (a.kind in (BLANK, FOREIGN, CORRUPT)
                        or a.kind == GOOD and a.offset != p)
            for seen, held in zip(self.seen, self.held)
            for a, b, p in zip(seen, held, places))

    def _newest(self, numbers):
        newest = {}
        for stream, seq in numbers:
            slot = slot_of(self.run, stream, seq)
            newest[slot] = max(seq, newest.get(slot, 0))
        return newest

    def _is_possible(self, atom, slot, index):
        """P9: can this atom have been issued, for SLOT if that is given?"""
        if atom.seq == 0:
            return self.run.filled
        if atom.stream >= self.run.streams or self.log \
                and not self.log.cycle_of(atom.stream, atom.seq):
            return False
        home = slot_of(self.run, atom.stream, atom.seq)
        return slot is None or (home, atom.index, atom.length) \
            == (slot, index, self.run.atoms)

    def _judge_slot(self, slot):
        start = self.run.start + slot * self.run.block
        places = range(start, start + self.run.block, ATOM)
        promised = self.durable.get(slot, 0 if self.fill_promised else None)
        self.judged += promised is not None
        atoms, held = self.seen[slot], self.held[slot]
        told, at_home = self._judge_places(slot, places, promised, atoms)
        if atoms != held and not any(t[0] in BROKEN for t in told.values()):
            # A wrong answer that breaks no promise: nobody can say which
            # answer the verifier took for the one that counts.
            self.unsettled, atoms = True, held
            told, at_home = self._judge_places(slot, places, promised, atoms)
        self.told.update(told)
        self._count_write(told)
        if any(a.kind in TROUBLE for a in atoms):
            return               # what could not be read shows nothing (P9)
        newest = max([promised or 0] + at_home)
        self.shadow_lost += self.shadow.get(slot, 0) > newest
        self.completed_lost += self.completed.get(slot, 0) > newest

    def _judge_places(self, slot, places, promised, atoms):
        at_home = [a.seq for a, p in zip(atoms, places)
                   if a.kind == GOOD and a.offset == p]
        told = {p: self._judge_atom(slot, p, index, promised, at_home, atom)
                for index, (p, atom) in enumerate(zip(places, atoms))}
        self._judge_blocks(told, places, promised)
        return told, at_home

    def _judge_atom(self, slot, place, index, promised, at_home, atom):
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
        """P8: one logical block, one version; also where nothing was
        promised, since what was there before is no part of a record. What
        is a finding by itself stays that."""
        versions_of = {"intact", "newer"}
        if promised is None:
            versions_of.add("unpromised")
        for k in range(0, len(places), self.run.logical // ATOM):
            block = [p for p in places[k:k + self.run.logical // ATOM]
                     if told[p][0] in versions_of]
            if len({told[p][2] for p in block}) > 1:
                for p in block:
                    told[p] = ("corrupt", promised or 0, told[p][2])

    def _count_write(self, told):
        """A write counts once in each class that it has atoms of; intact
        only where it is nothing else, newer only where it is not broken."""
        classes = {t[0] for t in told.values() if not is_information(t)}
        if len(classes) > 1:
            classes -= {"intact"}
        if classes.intersection(BROKEN):
            classes -= {"newer"}
        self.writes.update(classes)


class Unread:
    """The opinion that nothing was promised, so that nothing was looked at."""

    told, writes, atoms, labels = {}, Counter(), Counter(), {}
    by_log = by_media = frozenset()
    completed_lost = shadow_lost = judged = unsettled = 0


def is_information(told):
    """Broken where nothing was promised: told, and accuses nobody."""
    return told[0] in BROKEN and told[1] is None


def read_slots(run, drive, first):
    """slot -> Atoms, as this read finds them."""
    odd, found, decode = drive.odd_answers(first), [], decoder_of(run.id)
    for start in range(run.start, run.end, run.block):
        trouble, data = drive.read(odd, start, start + run.block)
        found.append(decode.atoms(data))
        for place, kind in trouble:
            found[-1][(place - start) // ATOM] = Atom(kind)
    return found


def labels_on(run, drive):
    """(place, Run or None or trouble, bytes) of the two copies."""
    odd = drive.odd_answers(True)
    for place in run.labels:
        trouble, data = drive.read(odd, place, place + 4096)
        yield place, trouble[0][1] if trouble else read_label(data), data


def read_labels(run, drive):
    """place -> OWN, CLAIM, BACK, OTHER or the class of what is no label; a
    label is one record, so it counts with all its eight atoms."""
    found = {}
    for place, label, data in labels_on(run, drive):
        if isinstance(label, str):
            found[place] = label
        elif label is None:
            found[place] = CORRUPT if any(data) else BLANK
        elif label.raw == run.raw:
            found[place] = OWN
        elif label.raw == run.inverted().raw:
            found[place] = CLAIM
        else:
            found[place] = BACK if label.filled and (
                label.offset, label.size) == (run.offset, run.size) else OTHER
    return found


def run_of_labels(run, drive):
    """The run as a reader without a log must take it: that of the first copy
    that is a label, but a claim gives way to the label it was made for."""
    labels = [label for _, label, _ in labels_on(run, drive)
              if label and not isinstance(label, str)]
    if len(labels) == 2 and labels[1].inverted().raw == labels[0].raw:
        return labels[1]
    return labels[0] if labels else None


def verdict_of(judge):
    """(verdict, exit status): design section 6 and P9."""
    if not judge:
        return "none", 2
    if judge.atoms["impossible"]:       # doubt outweighs findings
        return "none", 2
    if judge.labels or any(t[0] in BROKEN and not is_information(t)
                           for t in judge.told.values()):
        return "broken", 1
    return "kept", 0 if judge.completed_lost else 3


class Comparison:
    """The verifier's JSON against what the oracle says."""

    def __init__(self, judge, told):
        self.judge, self.told, self.differences = judge, told, []
        self.excused = Counter()
        verdict, status = verdict_of(judge)
        if verdict != "kept" or not judge.unsettled or told["verdict"] \
                == "broken":
            self._equal("verdict", verdict, told["verdict"])
            self._equal("exit status", status, told["exit_status"])
        if verdict != "none" != told["verdict"]:
            self._compare_findings()
            self._compare_counts()

    def _is_excused(self, place, ours, theirs):
        """A first answer may have come before what it breaks was known, or
        for a part of the write only, so that the rest is whole."""
        if not ours or not self.told["findings_total"] or \
                place not in self.judge.moved:
            return False
        if theirs:
            if (ours[0], theirs[0]) != ("lost", "torn") or \
                    ours[1:] != theirs[1:]:
                return False
            self.excused["torn"] -= 1
        self.excused[ours[0]] += 1
        return True

    def _equal(self, name, ours, theirs):
        changed = self.judge and self.judge.unsettled or \
            self.told.get("changed") or self.told.get("unstable")
        if ours != theirs and not (changed and name.startswith((
                "intact", "newer", "unpromised", "completed_lost",
                "shadow_lost", "durable_media"))):
            self.differences.append(f"{name}: the oracle says {ours}, the "
                                    f"verifier {theirs}")

    def _compare_counts(self):
        judge, labels = self.judge, Counter(self.judge.labels.values())
        for name in CLASSES:
            theirs = self.told[name]
            self._equal(f"{name}, atoms", judge.atoms[name]
                        + 8 * labels[name] - self.excused[name],
                        theirs["atoms"])
            if name not in self.excused:
                self._equal(f"{name}, writes", judge.writes[name]
                            + labels[name], theirs["writes"])
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
            if self._is_excused(place, a, b):
                continue
            if a and b:
                b[2] = a[2] if a[2] is None or a[0] == CORRUPT else b[2]
                b[1] = a[1] if a[3] else b[1]
            self._equal(f"byte {place} (class, expected, found, information)",
                        a, b)
        self._equal("labels", self.judge.labels, labels)


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


def run_on(media, offset):
    """The run that the first readable label of the media describes."""
    last_label = range(len(media) - MIB, offset, -ATOM)
    return next(filter(None, (read_label(media[place:place + 4096])
                              for place in (offset, *last_label))), None)


def run_in(events, media, offset):
    """The run that the writer wrote, where no log says it: that of the last
    label that it sent, or, if that is a claim, the run that claimed."""
    writes = [e for e in events if e.kind == WRITE]
    sent = [label for e in writes for label in [read_label(e.data[:4096])]
            if label and label.offset == offset]
    last = sent[-1] if sent else run_on(media, offset)
    if not last:
        return None
    records = {(e.data[16:32], e.data[32:40] == bytes(8)) for e in writes
               if e.data[:4] == b"PPAT"}
    inverse = last.inverted().id
    if inverse in {label.id for label in sent} \
            or last.id in {run for run, _ in records}:
        return last
    return last.inverted((inverse, True) in records) if sent else last


def changed_opinions(run, log, drive, labels):
    """Without a log the first of two readings only learns what was promised
    and is judged by the fill alone; a change that no finding explains gives
    no verdict."""
    judges = [Judge(run, log, drive, labels, ALL)]
    if not log:
        judge = Judge(run, log, drive, labels, LEARNED)
        if verdict_of(judge)[0] == "broken":
            judges.append(judge)
        elif judge.unsettled and not judge.fill_accuses:
            judges.append(None)
    return judges


def opinions(run, log, drive):
    """Judges, or None for no verdict, each of which the verifier may share.

    Where the drive answered wrongly for a time only, nobody can say which
    records the verifier has seen: the first answers, or those behind as well.
    """
    labels = read_labels(run, drive)
    judge = Judge(run, log, drive, labels)
    for atoms in judge.seen:
        for a in atoms:
            if a.kind == GOOD and not drive.has_arrived(a):
                raise Contradiction(f"a record of byte {a.offset} is on the "
                                    f"media and never arrived")
    return beside_log(judge, labels, drive) if log \
        else without_log(judge, labels, drive)


def beside_log(judge, labels, drive):
    """"The labels" in docs/VERDICTS.md."""
    run, log, kinds = judge.run, judge.log, set(labels.values())
    if OTHER in kinds or OWN not in kinds and (
            BACK in kinds or CLAIM in kinds and not log.cycles):
        return [None]            # whose region is it? (P9)
    judges = [judge]
    if drive.wrong:
        judges += changed_opinions(run, log, drive, labels)
    if not log.cycles and not kinds & {OWN, CLAIM} \
            and set(judge.atoms) <= {"unpromised"}:
        judges.append(Unread())
    return judges


def without_log(judge, labels, drive):
    run = run_of_labels(judge.run, drive)
    if not run:
        return [None]            # nobody can say what run this is
    if run.raw == judge.run.inverted().raw and judge.labels_promised:
        # Only the claim is there, and records of the run that claimed: its
        # labels are lost, and with them its name
        return [None, judge]
    if run.raw != judge.run.raw:
        labels = read_labels(run, drive)
        judge = Judge(run, None, drive, labels)
    if OTHER in labels.values():
        return [None]
    judges = [judge]
    if drive.wrong:
        judges += changed_opinions(run, None, drive, labels)
    return judges


def look(arguments, media, log):
    """What opinions() says, once trace, media and writer are believed."""
    events = read_events(read(arguments.trace))
    run = log.run if log else run_in(events, media, arguments.offset)
    if not run:
        return [None]
    drive = Drive(events, run, decoder_of(run.id),
                  read(arguments.before) if arguments.before else b"")
    if drive.media != media:
        wrong = [a for a in range(0, len(media), ATOM)
                 if (drive.media or b"")[a:a + ATOM] != media[a:a + ATOM]]
        raise Contradiction(f"replay and media differ in {len(wrong)} atoms, "
                            f"the first at byte {wrong[0]}")
    faults = list(honesty(drive, log, not arguments.other_clock))
    if faults:
        raise Dishonest(faults)
    return opinions(run, log, drive)


def consult(arguments):
    """(status, lines)"""
    media, told = read(arguments.media), json.loads(read(arguments.verdict))
    try:
        log = AckLog(read(arguments.acklog)) if arguments.acklog else None
        judges, doubt = look(arguments, media, log), []
    except Damaged as e:
        judges, doubt = [None], [f"the log is not to be believed: {e}"]
    for judge in judges:
        different = Comparison(judge, told).differences
        if not different:
            break
    else:
        return 1, doubt + complaint("difference", different, arguments.most)
    verdict, status = verdict_of(judge)
    counts = [f"{judge.atoms[n]} {n}" for n in CLASSES if judge.atoms[n]] + [
        f"{judge.completed_lost} completed lost",
        f"{judge.shadow_lost} shadow lost"] if judge else []
    return 0, doubt + [f"agreed: {verdict}, exit status {status}: "
                       f"{', '.join(counts)}"]


def complaint(what, lines, most):
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return [f"{what}: {line}" for line in lines[:most] + more]


def ask(argv):
    """All that the command does, for a caller in Python: (status, text)."""
    arguments = options(argv)
    try:
        status, lines = consult(arguments)
    except (OSError, ValueError, KeyError) as e:
        status, lines = 2, [f"oracle: {type(e).__name__}: {e}"]
    except Contradiction as e:
        status, lines = 3, complaint("contradiction", [str(e)], 1)
    except Dishonest as e:
        status, lines = 4, complaint("writer", e.args[0], arguments.most)
    return status, "".join(line + "\n" for line in lines)


def main(argv):
    status, text = ask(argv)
    (sys.stderr if status == 2 else sys.stdout).write(text)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
