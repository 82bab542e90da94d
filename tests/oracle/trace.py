# SPDX-License-Identifier: MIT
"""What really happened at the drive's own interface, from its trace.

Replays the trace to the media, keeps every version of every atom that ever
arrived, and says of each numbered write when it arrived, was answered and
became durable by rule P1. A contradiction is an error of the drive or of the
trace; what the writer did wrong is collected in a list.
"""
import struct
from bisect import bisect_left
from collections import namedtuple

from formats import ATOM, GOOD, read_label, shifted, slot_of

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


def addresses(offset, length):
    return range(offset, offset + length, ATOM)


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


Piece = namedtuple("Piece", "atom count write")


def all_durable(writes):
    return all(w is not None and w.durable for w in writes)


class Drive:
    """The drive after all events, and what the writer did wrong by then."""

    def __init__(self, events, run, decode, before=b""):
        self.run, self.decode, self.before = run, decode, before
        self.media, self.is_on = None, False
        self.records = {}        # (stream, number) -> its Pieces
        self.reach = {}          # (stream, first) -> highest proved by P1
        self.flush_spans = []    # (arrived, answered) of answered flushes
        self.scars = {}          # address, or None for all -> what reads meet
        self.fills, self.labels, self.claims = {}, {}, {}   # place -> Write
        self.begun = False       # this run; before it the drive is another's
        self.numbered = False    # the first numbered write has arrived
        self.faults = []         # what the writer did wrong
        for self.now, event in enumerate(events):
            self._apply(event)

    def _wrong(self, text):
        raise Contradiction(f"event {self.now}: {text}")

    def _apply(self, e):
        if not self.is_on and e.kind != ON:
            self._wrong("power is off")
        self.appliers[e.kind](self, e)

    def _off(self, _):
        self.is_on = False

    def _on(self, e):
        self.is_on = True        # perhaps again: its process has died
        if self.media is None:
            self.media = bytearray(self.before.ljust(e.offset, b"\0"))
        if len(self.media) != e.offset:
            self._wrong("the size of the media has changed")
        self.requests = {}       # number -> Write, or what a flush covers
        self.in_flight, self.waiting = set(), []   # answered, not durable
        self.answered = []       # Writes of this life
        self.wrong = {}          # address -> content first read in this life

    def _damage(self, e):
        self._put(e, e.data)

    def _put(self, e, data):
        if e.offset + e.length > len(self.media):
            self._wrong("behind the media's end")
        self.media[e.offset:e.offset + e.length] = data

    def _read_wrong(self, e):
        for address, content in atoms_of(e):
            self.wrong.setdefault(address, content)

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
        self._put(e, part)

    def _scar(self, e):
        places = addresses(e.offset, e.length) if e.length else [None]
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
        self._look_at(write)

    def _write_done(self, e):
        write = self._request(e, Write)
        if write.done is not None:
            self._wrong("answered twice")
        write.done, write.durable = e.time, write.fua
        self.in_flight.remove(write)
        self.answered.append(write)
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

    appliers = {ON: _on, WRITE: _write, WRITE_DONE: _write_done,
                FLUSH: _flush, FLUSH_DONE: _flush_done, TO_MEDIA: _to_media,
                DAMAGE: _damage, CUT: _off, PARTIAL: _to_media, SCAR: _scar,
                READ_WRONG: _read_wrong, STOP: _off}

    def pieces(self, stream, seq):
        """The Pieces of this numbered write; none if not all has arrived."""
        pieces = self.records.get((stream, seq), ())
        return pieces if sum(p.count for p in pieces) == self.run.atoms \
            else ()

    def is_durable(self, stream, seq):
        pieces = self.pieces(stream, seq)
        return bool(pieces) and all(p.write.durable for p in pieces)

    def has_arrived(self, atom):
        """Was this good atom ever sent?"""
        if not atom.seq:
            return atom.offset in self.fills
        return any(shifted(p.atom, k) == atom
                   for p in self.records.get((atom.stream, atom.seq), ())
                   for k in [atom.index - p.atom.index] if 0 <= k < p.count)

    # The writer: what it may send
    def _blame(self, text):
        if self.begun:
            self.faults.append(f"event {self.now}: {text}")

    def _look_at(self, write):
        address = write.offset
        for atom, count in self.decode.pieces(write.data):
            self._look_at_piece(address, Piece(atom, count, write))
            address += count * ATOM

    def _look_at_piece(self, address, piece):
        atom, count, write = piece
        run, end = self.run, address + count * ATOM
        self.begun |= atom.kind == GOOD
        if address in run.labels:
            self._look_at_label(write, address)
        elif any(p < address < p + 4096 for p in run.labels):
            pass
        elif not run.start <= address < end <= run.end:
            self._blame(f"byte {address} is not to be written")
        elif atom.kind != GOOD or atom.offset != address:
            self._blame(f"content for byte {address} is {atom.kind} and "
                        f"of byte {atom.offset}")
        elif atom.seq == 0:
            self._look_at_fill(address, piece)
        else:
            self._look_at_record(address, piece)

    def _look_at_label(self, write, address):
        label = read_label(write.data[address - write.offset:][:4096])
        raw = label and label.raw
        self.begun |= raw in (self.run.raw, self.run.inverted().raw)
        if self.numbered:
            self._blame("a label behind the first write")
        elif raw == self.run.raw:
            if not self.labels and not self._is_filled():
                self._blame("claim and fill are not durable before the label")
            self.labels[address] = write
        elif raw == self.run.inverted().raw and not self.fills:
            self.claims[address] = write
        else:
            self._blame("a label that is late or another run's")

    def _is_claimed(self):
        return all_durable(self.claims.get(p) for p in self.run.labels)

    def _is_filled(self):
        return self._is_claimed() and (not self.run.filled or all_durable(
            self.fills.get(a) for a in range(self.run.start, self.run.end,
                                             ATOM)))

    def _look_at_fill(self, address, piece):
        if self.numbered or self.labels or not self.run.filled:
            self._blame("a fill behind the label or the first write, or in a "
                        "run without one")
        elif not self.fills and not self._is_claimed():
            self._blame("the claim is not durable before the fill")
        self.fills.update(dict.fromkeys(
            addresses(address, piece.count * ATOM), piece.write))

    def _look_at_record(self, address, piece):
        atom = piece.atom
        if not self.numbered:
            self.numbered = True
            if not all_durable(self.labels.get(p) for p in self.run.labels):
                self._blame("the labels are not durable before the first "
                            "write")
        index = (address - self.run.start) % self.run.block // ATOM
        if (atom.index, atom.length) != (index, self.run.atoms):
            self._blame(f"atom {atom.index} of {atom.length} at {address}")
        record = self.records.setdefault((atom.stream, atom.seq), [])
        if any(p.atom.index < index + piece.count
               and index < p.atom.index + p.count for p in record):
            self._blame(f"write {atom.seq} of stream {atom.stream} arrives "
                        f"twice")
        record.append(piece)
        self._look_at_w(atom)

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

    # Reading, once all events have been told
    def odd_answers(self, first):
        """address -> content or trouble, where a read does not answer what
        the media hold. FIRST: the first read, else those behind it."""
        odd = {a: c for w in self.answered for a, c in atoms_of(w)}
        if first:
            odd.update(self.wrong)
        odd.update(self.scars)
        if None in self.scars:
            odd.update(dict.fromkeys(range(0, len(self.media), ATOM),
                                     self.scars[None]))
        return odd

    def read(self, odd, start, end):
        """([(address, trouble)], bytes) of this range."""
        data, trouble = bytes(self.media[start:end]), []
        places = [a for a in range(start, end, ATOM) if a in odd] if odd \
            else ()
        for a in places:
            if isinstance(odd[a], str):
                trouble.append((a, odd[a]))
            else:
                data = data[:a - start] + odd[a] + data[a - start + ATOM:]
        return trouble, data


def honesty(drive, log, same_clock):
    """All that the writer did wrong: P1 and P2 for every sentence of the log,
    limits and places for every write that arrived."""
    yield from drive.faults
    spans = Spans(drive.flush_spans)
    for cycle in log.cycles if log else ():
        for stream, seq in sorted(cycle.durable | cycle.shadow):
            if not drive.is_durable(stream, seq):
                yield (f"write {seq} of stream {stream} is in the log as "
                       f"durable, and no flush covers it")
        for stream, seq in sorted(cycle.completed):
            pieces = drive.pieces(stream, seq)
            if not pieces or any(p.write.done is None for p in pieces):
                yield (f"write {seq} of stream {stream} is in the log as "
                       f"completed, and was never answered")
        for claim in cycle.claims if same_clock else ():
            yield from _early(drive, spans, *claim)
    for (stream, seq), pieces in drive.records.items():
        if not all(_is_in_order(drive.run, log, p.atom) for p in pieces):
            yield (f"write {seq} of stream {stream} is above its limit, not "
                   f"of its cycle or not at its place")


class Spans:
    """Flushes: (arrived, answered)."""

    def __init__(self, spans):
        spans = sorted(spans)
        self.began, self.ended = [b for b, _ in spans], [e for _, e in spans]
        for k in reversed(range(len(spans) - 1)):
            self.ended[k] = min(self.ended[k], self.ended[k + 1])

    def has_one_within(self, submit, done):
        k = bisect_left(self.began, submit)
        return k < len(self.ended) and self.ended[k] <= done


def _early(drive, spans, stream, first, last, submit, done):
    """Did the flush that the log names do it? It reached the drive after it
    was submitted, when the write had been answered, and ended before the
    writer saw its end. All by one clock."""
    fits = not submit or spans.has_one_within(submit, done)
    for seq in range(first, last + 1):
        if submit and not (fits and all(
                p.write.done is not None and p.write.done <= submit
                for p in drive.pieces(stream, seq))):
            yield (f"write {seq} of stream {stream} is called durable by a "
                   f"flush that does not cover it")


def _is_in_order(run, log, atom):
    """The drive has seen to it that the atom arrived where it says."""
    if atom.stream >= run.streams or atom.offset != run.start \
            + slot_of(run, atom.stream, atom.seq) * run.block \
            + atom.index * ATOM:
        return False
    cycle = log.cycle_of(atom.stream, atom.seq) if log else None
    return not log or cycle is not None and (atom.cycle, atom.first) \
        == (cycle.number, cycle.firsts[atom.stream])
