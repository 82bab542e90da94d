# SPDX-License-Identifier: MIT
"""Hand-made worlds of six places: a trace, media, a log and a verdict, put
together by an encoder of this file's own, and what the oracle must make of
them. Only the keystream is that of formats.py, which the self-test holds
against golden files.
"""
import json
import os
import re
import struct
import tempfile

import oracle
from formats import MIB, Atom, Decoder, crc32c

RUN, OTHER = bytes(range(1, 17)), bytes(range(2, 18))
ON, WRITE, WRITE_DONE, FLUSH, FLUSH_DONE, TO_MEDIA, DAMAGE, CUT, PARTIAL, \
    SCAR, READ_WRONG, STOP = range(1, 13)


def sealed(data, at=8):
    crc = crc32c(data[:at] + bytes(4) + data[at + 4:])
    return data[:at] + struct.pack("<I", crc) + data[at + 4:]


def atom(offset, seq=0, index=0, length=1, cycle=0, first=1, w=0, stream=0,
         run=RUN, flip=False):
    stamp = 99 if seq else 0
    numbers = Atom("good", cycle, run, seq, offset, index, length, stream,
                   first, w, stamp)
    head = b"PPAT" + struct.pack("<HHII", 1, 0, 0, cycle) + run \
        + struct.pack("<QQHHHHQQQ", seq, offset, index, length, stream, 0,
                      first, w, stamp)
    body = bytearray(head + Decoder(run).build(numbers, 1)[80:])
    body[300] ^= flip
    return sealed(bytes(body))


def varint(v):
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def statement(kind, *parts):
    content = b"".join(p if isinstance(p, bytes) else varint(p)
                       for p in parts)
    return bytes([kind]) + varint(len(content)) + content


class World:
    """A drive of six places with one stream in sequential order."""

    def __init__(self, logical=512, filled=True, run=RUN, block=1024):
        self.block, self.slots, self.logical = block, 6, logical
        self.atoms = block // 512
        self.size = 2 * MIB + self.slots * self.block
        self.raw = run + struct.pack("<QQIIHHHHQQ", 0, self.size, self.block,
                                     logical, 1, 1, filled, 0, 5, 7)
        self.raw = self.raw.ljust(640, b"\0")
        self.trace, self.media, self.clock = [], bytearray(self.size), 1000
        self.request, self.sent, self.filled = 0, {}, filled
        self.frames, self.crc, self.offset = [], 0, 0
        self.cycle, self.first, self.w = 0, 1, 0

    # the drive
    def event(self, kind, request=0, offset=0, length=0, data=b"", flags=0):
        self.clock += 10
        self.trace.append(struct.pack(
            "<IBBHIIQQQ", 0x52545050, kind, flags, 0, length or len(data),
            len(data), request, offset, self.clock) + data)

    def on(self):
        self.request = 0
        self.event(ON, offset=self.size, length=self.logical)

    def write(self, offset, data, done=True, kept=True, fua=0):
        self.request += 1
        r = self.request
        self.sent[r] = (offset, data)
        self.event(WRITE, r, offset, data=data, flags=fua)
        if kept:
            self.event(TO_MEDIA, r, offset, len(data))
            self.media[offset:offset + len(data)] = data
        if done:
            self.event(WRITE_DONE, r, offset, len(data))
        return r

    def answer(self, request):
        self.event(WRITE_DONE, request)

    def flush(self, done=True):
        self.request += 1
        self.submitted = self.clock + 1
        self.event(FLUSH, self.request)
        if done:
            self.event(FLUSH_DONE, self.request)
        return self.request

    def damage(self, offset, data, kind=DAMAGE, request=0):
        self.event(kind, request, offset, data=data)
        self.media[offset:offset + len(data)] = data

    # the writer
    def place(self, seq):
        return MIB + (seq - 1) % self.slots * self.block

    def fill(self, slot):
        at = MIB + slot * self.block
        return b"".join(atom(at + i * 512) for i in range(self.atoms))

    def record(self, seq, place=None, **other):
        fields = {"cycle": self.cycle, "first": self.first, "w": self.w,
                  "length": self.atoms, **other}
        place = self.place(seq) if place is None else place
        return b"".join(atom(place + i * 512, seq, index=i, **fields)
                        for i in range(self.atoms))

    def claim(self):
        return bytes(255 - b for b in self.raw[:16]) + self.raw[16:44] \
            + bytes(2) + self.raw[46:]

    def label(self, raw=None, copies=(0, 1), damage=False):
        body = sealed((b"PLUGPULL" + struct.pack("<HHI", 1, 0, 0)
                       + (raw or self.raw)).ljust(4096, b"\0"), 12)
        for copy in copies:
            put = self.damage if damage else self.write
            put(copy * (self.size - MIB), body)

    def fill_all(self):
        if self.filled:
            self.write(MIB, b"".join(map(self.fill, range(self.slots))))

    def begin(self, without=""):
        self.on()
        for step in "claim flush1 fill flush2 label flush3".split():
            if step != without:
                {"claim": lambda: self.label(self.claim()),
                 "fill": self.fill_all, "label": self.label}.get(
                     step, self.flush)()
        self.tell(statement(1, self.raw))
        self.start(1, 1)

    def start(self, cycle, first, upto=100):
        self.cycle, self.first, self.w = cycle, first, first - 1
        self.tell(statement(2, cycle, b"\0", 4, 8, 1, 1, first))
        self.tell(statement(3, 0, upto))

    def issue(self, seq, **how):
        fields = {k: how.pop(k) for k in list(how)
                  if k not in ("done", "kept", "fua")}
        return self.write(self.place(seq), self.record(seq, **fields), **how)

    # the log
    def tell(self, statements):
        head = b"PPL1" + struct.pack("<IQQII", len(statements),
                                     len(self.frames), 5, self.crc, 0)
        frame = sealed(head + statements, 28)
        self.crc = struct.unpack_from("<I", frame, 28)[0]
        self.frames.append(frame)

    def ranges(self, kind, first, last, submit=0, took=0):
        self.tell(statement(kind, 0, 1, submit, took, 1, first - 1,
                            last - first))

    def durable(self, first, last):
        self.ranges(4, first, last, self.submitted,
                    self.clock + 1 - self.submitted)

    def cut(self):
        self.event(CUT)
        self.on()


def usual(at_cut=None, before=None, **how):
    """1-4 durable; 5 completed and gone; 7 issued over 1 and there."""
    w = World(**how)
    w.begin()
    for seq in (1, 2, 3, 4):
        w.issue(seq)
    w.flush()
    w.durable(1, 4)
    w.w = 4
    w.issue(5, kept=False)
    w.ranges(5, 5, 5)
    if before:
        before(w)
    w.issue(7, done=False)
    if at_cut:
        at_cut(w)
    w.cut()
    return w


def at(slot, index=0):
    return MIB + slot * 1024 + index * 512


def label_world(copies, records=0, lost=(), filled=True, log=True):
    """Labels as they stood when power went: a letter each for what is there
    of the Own label, the Claim, Nothing, a Stranger's, an Unfilled stranger's
    or another's claim, or Damaged. Records: 1 has been issued."""
    w = World(filled=filled)
    w.on()
    w.label(w.claim())
    w.flush()
    w.fill_all()
    w.flush()
    w.label()
    w.flush()
    w.tell(statement(1, w.raw))
    if records or log:
        w.start(1, 1)
    if records:
        w.issue(1)
    raws = {"C": w.claim(), "S": World(run=OTHER).raw,
            "U": World(run=OTHER, filled=False).raw}
    for copy, letter in enumerate(copies):
        place = copy * (w.size - MIB)
        if letter == "N":
            w.damage(place, bytes(4096))
        elif letter == "D":
            w.damage(place + 700, b"\1" * 512)
        elif letter != "O":
            w.label(raws[letter], (copy,), damage=True)
    for slot in lost:
        w.damage(at(slot), bytes(1024))
    w.cut()
    return w


USUAL = {"intact": (10, 5), "newer": (2, 1), "verdict": "kept", "exit": 0,
         "completed_lost": 1}


def verdict(expected, findings=()):
    e = {**USUAL, **expected}
    told = {name: dict(zip(("atoms", "writes"), e.get(name, (0, 0))))
            for name in oracle.CLASSES}
    told.update(verdict=e["verdict"], exit_status=e["exit"],
                completed_lost=e["completed_lost"],
                shadow_lost=e.get("shadow_lost", 0),
                judged_writes=e.get("judged", 6),
                durable_log=e.get("log", 4), durable_media=e.get("media", 4),
                findings_total=len(findings), findings=[
                    dict(zip(("class", "offset", "atoms", "expected", "found",
                              "information", "label"), f)) for f in findings])
    return told


def finding(name, slot, atoms, expected, found, index=0, information=False):
    return (name, at(slot, index), atoms, expected, found, information, False)


def consult(w, told, log=True):
    """(status, what the oracle printed)"""
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        for name, content in (("trace", b"".join(w.trace)),
                              ("media", bytes(w.media)),
                              ("acklog", b"".join(w.frames)),
                              ("verdict", json.dumps(told).encode())):
            path = os.path.join(folder, name)
            with open(path, "wb") as f:
                f.write(content)
            if name != "acklog" or log:
                arguments += ["--" + name, path]
        return oracle.ask(arguments)


FAILED, COUNT = [], [0]


def expect(name, w, told, status, pattern="", log=True):
    COUNT[0] += 1
    got, text = consult(w, told, log)
    if got != status or not re.search(pattern, text):
        FAILED.append(name)
        print(f"FAILED {name}: status {got}, wanted {status} {pattern!r}\n"
              f"{text}")


def broken(name, w, expected, *findings, log=True):
    """The oracle agrees with this verdict, and not with `kept`."""
    told = verdict({"verdict": "broken", "exit": 1, **expected}, findings)
    expect(name, w, told, 0, "agreed: broken", log)
    expect(name + ", acquitted", w, verdict({}), 1, "verdict: the oracle "
           "says broken", log)
