#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that the oracle can see what it is there to see.

Hand-made worlds of six places: a trace, media, a log and a verdict, put
together by an encoder of this file's own. Each class, each way in which a
writer can be dishonest and each way in which a trace can be wrong has a case
in which the oracle must object, beside one in which it must not.
"""
import contextlib
import copy
import io
import json
import os
import re
import struct
import sys
import tempfile

sys.dont_write_bytecode = True

import oracle
from formats import MIB, Atom, crc32c, aes_many, crc32c_many, keystreams

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
    body = bytearray(head + keystreams(run, [numbers])[80:])
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

    def __init__(self, logical=512, filled=True, run=RUN):
        self.block, self.slots, self.logical = 1024, 6, logical
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
        return atom(at) + atom(at + 512)

    def record(self, seq, place=None, **other):
        fields = {"cycle": self.cycle, "first": self.first, "w": self.w,
                  "length": 2, **other}
        place = self.place(seq) if place is None else place
        return b"".join(atom(place + i * 512, seq, index=i, **fields)
                        for i in range(2))

    def label(self):
        body = sealed((b"PLUGPULL" + struct.pack("<HHI", 1, 0, 0) + self.raw)
                      .ljust(4096, b"\0"), 12)
        for place in (0, self.size - MIB):
            self.write(place, body)

    def begin(self, flush=True):
        self.on()
        if self.filled:
            self.write(MIB, b"".join(map(self.fill, range(self.slots))))
        self.label()
        if flush:
            self.flush()
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
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            status = oracle.main(arguments)
        return status, text.getvalue()


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


def at(slot, index=0):
    return MIB + slot * 1024 + index * 512


def finding(name, slot, atoms, expected, found, index=0, information=False):
    return (name, at(slot, index), atoms, expected, found, information, False)


def test_classes():
    expect("kept", usual(), verdict({}), 0, "agreed: kept, exit status 0")
    less = {"intact": (8, 4)}
    broken("lost", usual(lambda w: w.damage(at(1), w.fill(1))),
           {**less, "lost": (2, 1)}, finding("lost", 1, 2, 2, 0))
    broken("torn", usual(lambda w: w.damage(at(1), w.fill(1)[:512])),
           {"intact": (9, 4), "torn": (1, 1)}, finding("torn", 1, 1, 2, 0))
    broken("blank", usual(lambda w: w.damage(at(5), b"\xff" * 1024)),
           {**less, "blank": (2, 1)}, finding("blank", 5, 2, 0, None))
    broken("foreign", usual(lambda w: w.damage(at(2), atom(at(2), run=OTHER))),
           {"intact": (9, 4), "foreign": (1, 1)},
           finding("foreign", 2, 1, 3, None))
    broken("corrupt content", usual(
        lambda w: w.damage(at(2), w.record(3, w=0, flip=True))),
        {**less, "corrupt": (2, 1)}, finding("corrupt", 2, 2, 3, None))
    broken("corrupt checksum", usual(
        lambda w: w.damage(at(2), w.record(3, w=0)[:500] + bytes(12))),
        {"intact": (9, 4), "corrupt": (1, 1)},
        finding("corrupt", 2, 1, 3, None))
    broken("corrupt by two versions", usual(
        lambda w: w.damage(at(0), w.record(1, w=0)[:512]), logical=1024),
        {"newer": (0, 0), "corrupt": (2, 1)}, finding("corrupt", 0, 2, 1, 1))
    expect("two versions in two blocks",
           usual(lambda w: w.damage(at(0), w.record(1, w=0)[:512])),
           verdict({"intact": (11, 5), "newer": (1, 1)}), 0)
    broken("misdirected", usual(
        lambda w: w.damage(at(2), w.record(2, w=0))),
        {**less, "misdirected": (2, 1)}, finding("misdirected", 2, 2, 3, 2))
    for kind, name in ((1, "unreadable"), (2, "hung")):
        broken(name, usual(lambda w: w.event(SCAR, 0, at(3), 512,
                                             flags=kind)),
               {"intact": (9, 4), name: (1, 1)},
               finding(name, 3, 1, 4, None))
    broken("gone", usual(lambda w: w.event(SCAR, flags=3)),
           {"intact": (0, 0), "newer": (0, 0), "completed_lost": 0,
            "gone": (28, 8), "media": 0},
           *[finding("gone", s, 2, [1, 2, 3, 4, 0, 0][s], None)
             for s in range(6)],
           *[("gone", p, 8, 0, None, False, True)
             for p in (0, MIB + 6 * 1024)])
    w = usual()
    w.event(READ_WRONG, 9, at(1), data=w.fill(1))
    broken("lost for the first reader", w, {**less, "lost": (2, 1)},
           finding("lost", 1, 2, 2, 0))
    w = usual()
    w.event(READ_WRONG, 9, at(0), data=w.record(1, w=0))
    expect("older for the first reader, but not lost", w, verdict({}), 0)
    expect("or none", w, verdict({"verdict": "none", "exit": 2}), 0)
    expect("or so", w, verdict({"intact": (12, 6), "newer": (0, 0)}), 0)
    w = usual(lambda w: w.event(SCAR, 0, at(3), 512, flags=2))
    w.event(SCAR, 0, at(3), 512, flags=5)
    expect("a scar that has healed", w, verdict({}), 0)
    w = usual(lambda w: w.event(SCAR, flags=3))
    w.event(SCAR, flags=5)
    expect("a drive that has healed", w, verdict({}), 0)


def test_promises():
    def zombie(w):
        w.tell(statement(6, b"\1", 0))
        w.flush()
        w.durable(5, 5)
    expect("shadow losses convict nobody", usual(before=zombie), verdict(
        {"exit": 3, "completed_lost": 0, "shadow_lost": 1}), 0)
    expect("they are not overlooked", usual(before=zombie), verdict(
        {"exit": 3, "completed_lost": 0}), 1, "shadow_lost: the oracle says 1")

    def proved(w):
        zombie(w)
        w.w = 5
    broken("the media convict in spite of it", usual(before=proved),
           {"intact": (8, 4), "lost": (2, 1), "media": 5,
            "completed_lost": 0}, finding("lost", 4, 2, 5, 0))
    expect("no log, and dead", usual(lambda w: w.event(SCAR, flags=3)),
           verdict({"verdict": "none", "exit": 2}), 0, log=False)
    expect("no log", usual(), verdict(
        {"exit": 3, "completed_lost": 0, "log": 0}), 0, log=False)
    broken("lost, by the media alone",
           usual(lambda w: w.damage(at(1), w.fill(1))),
           {"intact": (8, 4), "lost": (2, 1), "log": 0, "completed_lost": 0},
           finding("lost", 1, 2, 2, 0), log=False)
    expect("not filled", usual(filled=False), verdict(
        {"intact": (6, 3), "unpromised": (4, 2), "judged": 4}), 0)
    expect("trouble where nothing was promised", usual(
        lambda w: w.event(SCAR, 0, at(5), 1024, flags=1), filled=False),
        verdict({"intact": (6, 3), "unpromised": (2, 1), "judged": 4},
                [finding("unreadable", 5, 2, None, None, 0, True)]), 0)

    def second_cycle(w, lose):
        w.start(2, 101, 200)
        w.issue(101)             # to place 4
        w.flush()
        w.durable(101, 101)
        if lose:
            w.damage(at(2), w.fill(2))
        w.cut()
        return w
    expect("a second cycle", second_cycle(usual(), False), verdict(
        {"exit": 3, "completed_lost": 0, "log": 5}), 0)
    broken("data at rest of an earlier cycle", second_cycle(usual(), True),
           {"intact": (8, 4), "lost": (2, 1), "log": 5, "completed_lost": 0},
           finding("lost", 2, 2, 3, 0))


def test_labels_and_log():
    w = usual(lambda w: w.damage(0, bytes(4096)))
    broken("a label lost", w, {"blank": (8, 1)},
           ("blank", 0, 8, 0, None, False, True))
    stranger = World(run=OTHER)
    stranger.begin()
    w = usual(lambda w: w.damage(0, bytes(stranger.media[:4096])))
    none = verdict({"verdict": "none", "exit": 2})
    expect("another run's label", w, none, 0, "agreed: none")
    w = usual()
    w.frames.append(w.frames[-1][:20])
    expect("a torn tail", w, verdict({}), 0)
    for name, change in (
            ("damaged", lambda f: f.__setitem__(3, f[3][:-1] + b"\x77")),
            ("spliced", lambda f: f.__delitem__(3)),
            ("swapped", lambda f: f.insert(3, f.pop(4)))):
        w = usual()
        change(w.frames)
        expect("log " + name, w, none, 0, "not to be believed")
        expect("log " + name + ", judged", w, verdict({}), 1)


def test_writer():
    def case(name, build, pattern):
        expect(name, build, verdict({}), 4, "writer: .*" + pattern)

    def early(build):
        w = World()
        w.begin()
        build(w)
        w.cut()
        return w

    def no_flush(w):
        w.issue(1)
        w.ranges(4, 1, 1)
    case("no flush", early(no_flush), "no flush covers it")

    def flush_unanswered(w):
        w.issue(1)
        w.flush(done=False)
        w.ranges(4, 1, 1)
    case("flush not answered", early(flush_unanswered), "no flush covers it")

    def flush_too_early(w):
        r = w.issue(1, done=False)
        w.flush()
        w.answer(r)
        w.ranges(4, 1, 1)
    case("flush before the answer", early(flush_too_early), "no flush covers")

    def flush_across(w):
        r = w.issue(1, done=False)
        f = w.flush(done=False)
        w.answer(r)
        w.event(FLUSH_DONE, f)
        w.ranges(4, 1, 1)
    case("flush on the way at the answer", early(flush_across),
         "no flush covers")

    def flush_next_life(w):
        w.issue(1)
        w.cut()
        w.flush()
        w.ranges(4, 1, 1)
    case("flush of another life", early(flush_next_life), "no flush covers")

    def no_fua(w):
        w.issue(1, fua=0)
        w.tell(statement(4, 0, 0, 0, 0, 1, 0, 0))
    case("FUA without FUA", early(no_fua), "no flush covers it")

    def fua_unanswered(w):
        w.issue(1, fua=1, done=False)
        w.tell(statement(4, 0, 0, 0, 0, 1, 0, 0))
    case("FUA not answered", early(fua_unanswered), "no flush covers it")

    def half(w):
        w.write(w.place(1), w.record(1)[:512])
        w.flush()
        w.ranges(4, 1, 1)
    case("half a write", early(half), "no flush covers it")

    def claimed_early(w):
        w.issue(1)
        w.flush()
        w.issue(2)
        w.durable(1, 2)
        w.flush()
    case("claimed by an earlier flush", early(claimed_early),
         "write 2 .* called durable by a flush that does not")

    def not_answered(w):
        w.issue(1, done=False)
        w.ranges(5, 1, 1)
    case("completed, not answered", early(not_answered), "never answered")
    case("above the limit", early(lambda w: w.issue(101)), "above its limit")
    case("below its cycle", early(lambda w: w.issue(1, cycle=2)),
         "not of its cycle")
    case("another first number", early(lambda w: w.issue(2, first=2, w=1)),
         "not of its cycle")

    def told_issued(w):
        w.tell(statement(7, 0, 1))
        w.issue(2)
    case("above what it said to have issued", early(told_issued),
         "above its limit")

    def both(w):
        w.issue(1, done=False)
        w.issue(7)
    case("two writes to one place", early(both), "two writes at once")

    def w_high(w):
        w.issue(1)
        w.flush(done=False)
        w.issue(2, w=1)
    case("W too high", early(w_high), "has W 1, allowed is 0")
    case("W of an unsent write", early(lambda w: w.issue(3, w=1)),
         "has W 1, allowed is 0")
    case("content", early(lambda w: w.issue(1, flip=True)), "is corrupt")
    case("another run", early(lambda w: w.issue(1, run=OTHER)), "is foreign")
    case("another stream", early(lambda w: w.issue(1, stream=1)), "its place")
    case("index", early(lambda w: w.write(at(0), atom(at(0), 1, 1, 2, 1) +
                                          atom(at(0, 1), 1, 0, 2, 1))),
         "atom 1 of 2 at")
    case("offset", early(lambda w: w.write(at(0), w.record(1, at(1)))),
         f"content for byte {at(0)} is good and of byte {at(1)}")
    case("place", early(lambda w: w.write(at(3), w.record(1, at(3)))),
         "not at its place")
    case("outside", early(lambda w: w.write(8192, bytes(512))),
         "byte 8192 is not to be written")
    case("the same number twice",
         early(lambda w: (w.issue(1), w.issue(1, w=0))), "arrives twice")
    case("a late label", early(lambda w: (w.issue(1), w.label())),
         "a label that is late")
    case("a late fill", early(lambda w: (w.issue(1), w.write(
        at(3), w.fill(3)))), "a fill behind the first write")
    w = World()
    w.begin(flush=False)
    w.issue(1)
    w.cut()
    case("the ground was not flushed", w, "fill and labels are not durable")


def test_trace():
    def case(name, w, pattern):
        expect(name, w, verdict({}), 3, "contradiction: .*" + pattern)

    def with_last(kind, *arguments, **named):
        w = usual()
        w.event(kind, *arguments, **named)
        return w
    w = usual()
    w.media[at(5) + 3] ^= 1
    case("other media", w, "replay and media differ in 1 atoms, the first "
         f"at byte {at(5)}")
    case("unknown request", with_last(WRITE_DONE, 77), "77 is unknown")
    case("flush of a write", with_last(FLUSH_DONE, 1), "1 is unknown")
    case("another size", with_last(ON, offset=512), "size of the media")
    w = usual()
    w.event(STOP)
    w.event(FLUSH, 1)
    case("no power", w, "power is off")
    w = usual()
    w.trace[-1] = w.trace[-1][:17]
    case("torn", w, "ends within an event")
    w = usual()
    w.trace[9] = b"\0" + w.trace[9][1:]
    case("magic", w, "event 9 is malformed")
    w = usual(lambda w: w.damage(at(0), w.record(2)[:512], PARTIAL,
                                 w.request))
    case("a part of another write", w, "not a part of its write")
    w = usual(lambda w: w.damage(at(0), w.record(99, at(0))))
    case("a record that never arrived", w, "holds a record that never")
    w = usual()
    w.answer(w.write(at(0), w.record(99, at(0)), done=True))
    case("answered twice", w, "answered twice")


def test_comparison():
    """Whatever the verifier says otherwise is seen."""
    w = usual(lambda w: w.damage(at(1), w.fill(1)))
    right = verdict({"verdict": "broken", "exit": 1, "intact": (8, 4),
                     "lost": (2, 1)}, [finding("lost", 1, 2, 2, 0)])
    expect("right", w, right, 0)
    for name in ("completed_lost", "shadow_lost", "judged_writes",
                 "durable_log", "durable_media", "exit_status"):
        expect(name, w, {**right, name: right[name] + 1}, 1, name.replace(
            "exit_status", "exit status"))
    expect("verdict", w, {**right, "verdict": "none"}, 1, "verdict")
    for name in oracle.CLASSES:
        for unit in ("atoms", "writes"):
            told = copy.deepcopy(right)
            told[name][unit] += 1
            expect(f"{name} {unit}", w, told, 1, f"{name}, {unit}")
    for name, value in (("class", "torn"), ("offset", at(2)), ("atoms", 1),
                        ("expected", 3), ("found", 1), ("information", True),
                        ("label", True)):
        told = copy.deepcopy(right)
        told["findings"][0][name] = value
        expect("finding's " + name, w, told, 1, "byte|labels")
    expect("finding missing", w, {**right, "findings": [],
                                  "findings_total": 0}, 1, f"byte {at(1)}")


def test_arithmetic():
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert aes_many(bytes(range(16)), plain * 3).hex() \
        == "69c4e0d86a7b0430d8cdb78070b4c55a" * 3      # FIPS 197, C.1
    assert crc32c(b"123456789") == 0xE3069283          # RFC 3720
    assert crc32c_many([b"123456789", bytes(9)]) \
        == [0xE3069283, crc32c(bytes(9))]


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print(f"{COUNT[0]} cases, {len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
