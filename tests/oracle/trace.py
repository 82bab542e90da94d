# SPDX-License-Identifier: MIT
"""What really happened at the drive's own interface, from its trace.

Replays the trace to the media, keeps every version of every atom that ever
arrived, and says of each numbered write when it arrived, was answered and
became durable by rule P1. A contradiction is an error of the drive or of the
trace; what the writer did wrong is collected in a list.
"""
import struct
from collections import namedtuple

from formats import ATOM, GOOD, read_label

HEADER = struct.Struct("<IBBHIIQQQ")
ON, WRITE, WRITE_DONE, FLUSH, FLUSH_DONE, TO_MEDIA, DAMAGE, CUT, PARTIAL, \
    SCAR, READ_WRONG, STOP = range(1, 13)
SCARS, SCAR_HEALED = {1: "unreadable", 2: "hung", 3: "gone"}, 5
WITH_DATA = (WRITE, DAMAGE, PARTIAL, READ_WRONG)
Event = namedtuple("Event", "kind flags length request offset time data")


class Contradiction(Exception):
    """The trace contradicts itself or the media."""


def read_events(raw):
    events, at = [], 0
    while at < len(raw):
        if at + HEADER.size > len(raw):
            raise Contradiction("the trace ends within an event")
        magic, kind, flags, zero, length, count, request, offset, time \
            = HEADER.unpack_from(raw, at)
        data = raw[at + HEADER.size:at + HEADER.size + count]
        at += HEADER.size + count
        if magic != 0x52545050 or zero or not ON <= kind <= STOP \
                or len(data) != (length if kind in WITH_DATA else 0):
            raise Contradiction(f"event {len(events)} is malformed")
        events.append(Event(kind, flags, length, request, offset, time, data))
    return events


def addresses(e):
    return range(e.offset, e.offset + e.length, ATOM)


def atoms_of(e):
    """(address, content) of each atom of an Event or a Write."""
    for k in range(0, len(e.data), ATOM):
        yield e.offset + k, e.data[k:k + ATOM]


class Write:
    """One write request as the drive saw it."""

    def __init__(self, event):
        self.offset, self.data = event.offset, event.data
        self.end = event.offset + event.length
        self.fua = bool(event.flags & 1)
        self.done = None         # time of the answer
        self.durable = False     # now, by P1


class Drive:
    """The drive after all events, and what the writer did wrong by then."""

    def __init__(self, events, run, decode, before=b""):
        self.run, self.decode, self.before = run, decode, before
        self.media, self.is_on = None, False
        self.versions = {}       # address of an atom -> contents that arrived
        self.records = {}        # (stream, number) -> {index: Write}
        self.reach = {}          # (stream, first) -> highest proved by P1
        self.flush_spans = []    # (arrived, answered) of answered flushes
        self.scars = {}          # address, or None for all -> what reads meet
        self.fills, self.label_writes = {}, {}
        self.begun = False       # this run; before it the drive is another's
        self.numbered = False    # the first numbered write has arrived
        self.faults = []         # what the writer did wrong
        decode.learn(c for e in events if e.kind == WRITE
                     for _, c in atoms_of(e))
        for self.now, event in enumerate(events):
            self._apply(event)

    def _wrong(self, text):
        raise Contradiction(f"event {self.now}: {text}")

    def _apply(self, e):
        if not self.is_on and e.kind != ON:
            self._wrong("power is off")
        if e.kind in (CUT, STOP):
            self.is_on = False
        elif e.kind == READ_WRONG:
            for address, content in atoms_of(e):
                self.wrong.setdefault(address, content)
        else:
            {ON: self._on, WRITE: self._write, WRITE_DONE: self._write_done,
             FLUSH: self._flush, FLUSH_DONE: self._flush_done,
             TO_MEDIA: self._to_media, DAMAGE: self._put,
             PARTIAL: self._to_media, SCAR: self._scar}[e.kind](e)

    def _on(self, e):
        self.is_on = True        # perhaps again: its process has died
        if self.media is None:
            self.media = bytearray(self.before.ljust(e.offset, b"\0"))
        if len(self.media) != e.offset:
            self._wrong("the size of the media has changed")
        self.requests = {}       # number -> Write, or what a flush covers
        self.in_flight, self.waiting = set(), []   # answered, not durable
        self.cached = {}         # address -> content of this life's writes
        self.wrong = {}          # address -> content first read in this life

    def _put(self, e):
        if e.offset + e.length > len(self.media):
            self._wrong("behind the media's end")
        self.media[e.offset:e.offset + e.length] = e.data

    def _request(self, e, kind):
        if not isinstance(self.requests.get(e.request), kind):
            self._wrong(f"request {e.request} is unknown")
        return self.requests[e.request]

    def _to_media(self, e):
        write = self._request(e, Write)
        part = write.data[max(0, e.offset - write.offset):][:e.length]
        if e.offset < write.offset or e.offset + e.length > write.end \
                or e.data not in (b"", part):
            self._wrong("not a part of its write")
        self._put(e._replace(data=part))

    def _scar(self, e):
        places = addresses(e) if e.length else [None]
        if e.flags == SCAR_HEALED and not e.length:
            self.scars = {}
        for place in places:
            if e.flags in SCARS:
                self.scars[place] = SCARS[e.flags]
            elif e.flags == SCAR_HEALED:
                self.scars.pop(place, None)

    # The interface, and what P1 says there of each write
    def _write(self, e):
        write = Write(e)
        if self.requests.setdefault(e.request, write) is not write:
            self._wrong(f"request {e.request} twice")
        if any(other.offset < write.end and write.offset < other.end
               for other in self.in_flight):
            self._blame(f"two writes at once to bytes {e.offset} to "
                        f"{write.end - 1}")
        self.in_flight.add(write)
        for address, content in atoms_of(e):
            self.versions.setdefault(address, set()).add(content)
        self._look_at(write)

    def _write_done(self, e):
        write = self._request(e, Write)
        if write.done is not None:
            self._wrong("answered twice")
        write.done, write.durable = e.time, write.fua
        self.in_flight.remove(write)
        self.cached.update(atoms_of(write))
        if not write.fua:
            self.waiting.append(write)

    def _flush(self, e):
        if e.request in self.requests:
            self._wrong(f"request {e.request} twice")
        self.requests[e.request] = (e.time, list(self.waiting))

    def _flush_done(self, e):
        began, covered = self._request(e, tuple)
        self.requests[e.request] = None
        self.flush_spans.append((began, e.time))
        for write in covered:
            write.durable = True
        self.waiting = [w for w in self.waiting if not w.durable]

    def pieces(self, stream, seq):
        """The Writes that brought this numbered write; empty if not all."""
        record = self.records.get((stream, seq), {})
        return set(record.values()) if len(record) == self.run.atoms else ()

    def is_durable(self, stream, seq):
        pieces = self.pieces(stream, seq)
        return bool(pieces) and all(w.durable for w in pieces)

    # The writer: what it may send
    def _blame(self, text):
        if self.begun:
            self.faults.append(f"event {self.now}: {text}")

    def _look_at(self, write):
        run, seen = self.run, set()
        for address, content in atoms_of(write):
            atom = self.decode(content)
            self.begun |= atom.kind == GOOD
            if address in run.labels:
                self._look_at_label(write, address)
            elif any(p < address < p + 4096 for p in run.labels):
                continue
            elif not run.start <= address < run.end:
                self._blame(f"byte {address} is not to be written")
            elif atom.kind != GOOD or atom.offset != address:
                self._blame(f"content for byte {address} is {atom.kind} and "
                            f"of byte {atom.offset}")
            elif atom.seq == 0:
                if self.numbered:
                    self._blame("a fill behind the first write")
                self.fills[address] = write
            else:
                seen.add(atom._replace(offset=0, index=0))
                self._look_at_atom(atom, address, write)
        for atom in seen:
            self._look_at_w(atom)

    def _look_at_label(self, write, address):
        label = read_label(write.data[address - write.offset:][:4096])
        is_ours = label is not None and label.raw == self.run.raw
        self.begun |= is_ours
        if self.numbered or not is_ours:
            self._blame("a label that is late or another run's")
        self.label_writes[address] = write

    def _look_at_atom(self, atom, address, write):
        if not self.numbered:    # fill and labels must be durable by now
            self.numbered = True
            ground = [self.label_writes.get(p) for p in self.run.labels]
            if self.run.filled:
                ground += [self.fills.get(a) for a in
                           range(self.run.start, self.run.end, ATOM)]
            if not all(w and w.durable for w in ground):
                self._blame("fill and labels are not durable before the "
                            "first write")
        record = self.records.setdefault((atom.stream, atom.seq), {})
        index = (address - self.run.start) % self.run.block // ATOM
        if (atom.index, atom.length) != (index, self.run.atoms):
            self._blame(f"atom {atom.index} of {atom.length} at {address}")
        if record.setdefault(atom.index, write) is not write:
            self._blame(f"write {atom.seq} of stream {atom.stream} arrives "
                        f"twice")

    def _look_at_w(self, atom):
        """P5: W must not be above what P1 allows at this moment."""
        key = (atom.stream, atom.first)
        reach = self.reach.get(key, atom.first - 1)
        while reach < atom.w and self.is_durable(atom.stream, reach + 1):
            reach += 1
        self.reach[key] = reach
        if atom.w > reach:
            self._blame(f"write {atom.seq} of stream {atom.stream} has W "
                        f"{atom.w}, allowed is {reach}")

    def answer(self, address, first=True):
        """What the first read of this atom answers, or one that is not
        answered wrongly: content or trouble."""
        scar = self.scars.get(None) or self.scars.get(address)
        if scar:
            return scar
        held = bytes(self.media[address:address + ATOM])
        held = self.cached.get(address, held)
        return self.wrong.get(address, held) if first else held


def honesty(drive, log, slots, same_clock):
    """All that the writer did wrong: P1 and P2 for every sentence of the log,
    limits and places for every write that arrived."""
    yield from drive.faults
    for cycle in log.cycles if log else ():
        for stream, seq in sorted(cycle.durable | cycle.shadow):
            if not drive.is_durable(stream, seq):
                yield (f"write {seq} of stream {stream} is in the log as "
                       f"durable, and no flush covers it")
        for stream, seq in sorted(cycle.completed):
            pieces = drive.pieces(stream, seq)
            if not pieces or any(w.done is None for w in pieces):
                yield (f"write {seq} of stream {stream} is in the log as "
                       f"completed, and was never answered")
        for claim in cycle.claims if same_clock else ():
            yield from _early(drive, *claim)
    for number, record in drive.records.items():
        for index, write in record.items():
            if not _is_in_order(drive, log, slots, number, index, write):
                yield (f"write {number[1]} of stream {number[0]} is above "
                       f"its limit, not of its cycle or not at its place")
                break


def _early(drive, stream, first, last, submit, done):
    """Did the flush that the log names do it? It reached the drive after it
    was submitted, when the write had been answered, and ended before the
    writer saw its end. All by one clock."""
    fits = any(b >= submit and e <= done for b, e in drive.flush_spans)
    for seq in range(first, last + 1):
        if submit and not (fits and all(
                w.done is not None and w.done <= submit
                for w in drive.pieces(stream, seq))):
            yield (f"write {seq} of stream {stream} is called durable by a "
                   f"flush that does not cover it")


def _is_in_order(drive, log, slots, number, index, write):
    if number not in slots:
        return False
    address = drive.run.start + slots[number] * drive.run.block + index * ATOM
    if not write.offset <= address < write.end:
        return False
    atom = drive.decode(write.data[address - write.offset:][:ATOM])
    cycle = log.cycle_of(*number) if log else None
    return not log or cycle is not None and (atom.cycle, atom.first) \
        == (cycle.number, cycle.firsts[number[0]])
