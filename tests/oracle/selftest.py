#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that the oracle can see what it is there to see.

By hand-made worlds of six places (world.py). Each class, each way in which a
writer can be dishonest and each way in which a trace can be wrong has a case
in which the oracle must object, beside one in which it must not.
"""
import copy
import os
import sys

sys.dont_write_bytecode = True

import formats
import oracle
from formats import MIB, Decoder, crc32c, crc32c_by_table, order_of_pass
from selftest_labels import test_labels_with_log, test_labels_without_log
from world import (COUNT, FAILED, FLUSH, FLUSH_DONE, ON, OTHER, PARTIAL,
                   READ_WRONG, RUN, SCAR, STOP, WRITE_DONE, World, at, atom,
                   broken, expect, finding, sealed, statement, usual, verdict)

HERE = os.path.dirname(os.path.abspath(__file__))


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
    torn = {"intact": (0, 0), "unpromised": (10, 5), "newer": (0, 0),
            "corrupt": (2, 1), "judged": 0, "log": 0, "media": 0,
            "completed_lost": 0}
    for name, kept in (("two versions", True), ("half", False)):
        w = World(logical=1024, filled=False)
        w.begin()
        w.issue(1, kept=kept)
        w.issue(7, done=False, kept=False)
        w.damage(at(0), w.record(7)[:512])
        w.cut()
        broken(f"{name} where nothing was promised", w, torn,
               finding("corrupt", 0, 2, 0, 7))
    w = World(logical=2048, block=2048)
    w.begin()
    w.issue(1)
    w.flush()
    w.durable(1, 1)
    w.damage(MIB, w.record(7)[:512] + w.fill(0)[512:1024])
    w.issue(7, done=False, kept=False)
    w.cut()
    broken("two versions beside a finding of its own", w, {
        "intact": (20, 5), "newer": (0, 0), "corrupt": (3, 1), "torn": (1, 1),
        "log": 1, "media": 0, "completed_lost": 0},
        ("corrupt", MIB, 1, 1, 7, False, False),
        ("torn", MIB + 512, 1, 1, 0, False, False),
        ("corrupt", MIB + 1024, 2, 1, 1, False, False))
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


def test_changed_answers_without_log():
    """The first reading only learns, and is judged by the fill alone."""
    none = verdict({"verdict": "none", "exit": 2})
    told = {"exit": 3, "completed_lost": 0, "log": 0}
    broke = {**told, "verdict": "broken", "exit": 1, "intact": (8, 4)}
    w = usual()
    w.event(READ_WRONG, 9, at(1), data=w.fill(1))
    expect("older first, no log: none", w, none, 0, log=False)
    expect("or lost", w, verdict({**broke, "lost": (2, 1)}, [
        finding("lost", 1, 2, 2, 0)]), 0, log=False)
    expect("older first, no log: acquitted", w, verdict(told), 1, log=False)
    w = usual(lambda w: w.damage(at(2), w.fill(2)))
    w.event(READ_WRONG, 9, at(1), data=w.fill(1))
    expect("older first, another lost", w, verdict(
        {**broke, "lost": (2, 1)}, [finding("lost", 2, 2, 3, 0)]), 0,
        log=False)
    expect("older first, another lost: none", w, none, 1, log=False)
    w = usual()
    w.event(READ_WRONG, 9, at(1), data=bytes(1024))
    expect("blank first, no log: none", w, none, 1, log=False)
    expect("blank first, no log", w, verdict({**broke, "blank": (2, 1)}, [
        finding("blank", 1, 2, 2, None)]), 0, log=False)


def test_promises():
    def zombie(w, *events):
        w.tell(statement(6, b"\1", 0))
        w.flush()
        w.durable(5, 5)
        for event in events:
            w.tell(statement(6, bytes([event]), 0))
    expect("shadow losses convict nobody", usual(before=zombie), verdict(
        {"exit": 3, "completed_lost": 0, "shadow_lost": 1}), 0)
    expect("they are not overlooked", usual(before=zombie), verdict(
        {"exit": 3, "completed_lost": 0}), 1, "shadow_lost: the oracle says 1")
    media_behind_the_cut(zombie)
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


def media_behind_the_cut(zombie):
    """P11: write 7 says that 5 was durable, and 5 is gone."""
    def proved(*events, acked=()):
        def before(w):
            if acked:
                w.durable(*acked)
            zombie(w, *events)
            w.w = 5
        return usual(before=before)

    lost = finding("lost", 4, 2, 5, 0)
    broken("seen: the media convict", proved(2),
           {"intact": (8, 4), "lost": (2, 1), "media": 5,
            "completed_lost": 0}, lost)
    broken("seen, then restored", proved(2, 3),
           {"intact": (8, 4), "lost": (2, 1), "media": 5,
            "completed_lost": 0}, lost)
    def spoken(w):
        w.tell(statement(6, b"\1", 0))
        w.tell(statement(6, b"\2", 0))
        w.flush()
        w.durable(5, 5)
        w.w = 5
    for name, w in (("not seen", proved()),
                    ("restored before seen", proved(3, 2)),
                    ("other events", proved(4, 5)),
                    ("the writer goes on", usual(before=spoken))):
        expect(name, w, verdict({"exit": 3, "completed_lost": 0, "media": 5,
                                 "shadow_lost": 1}), 0)
        expect(name + ", accused", w, verdict(
            {"verdict": "broken", "exit": 1, "intact": (8, 4), "media": 5,
             "lost": (2, 1), "completed_lost": 0}, [lost]), 1)
    w = proved()
    broken("not seen, and no log", w,
           {"intact": (8, 4), "lost": (2, 1), "media": 5, "log": 0,
            "completed_lost": 0}, lost, log=False)

    def seen_before(w):
        w.tell(statement(6, b"\2", 0) + statement(6, b"\1", 0))
        w.flush()
        w.w = 5
    expect("seen before it was asked for", usual(before=seen_before), verdict(
        {"exit": 3, "completed_lost": 0, "media": 5, "shadow_lost": 1}), 0)
    def not_asked(w):
        w.tell(statement(6, b"\3", 0))
        w.flush()
        w.w = 5
    broken("no cut was asked for", usual(before=not_asked), {
        "intact": (8, 4), "lost": (2, 1), "media": 5, "completed_lost": 0},
        lost)
    w = proved()
    w.damage(at(1), w.fill(1))
    broken("acknowledged before", w, {
        "intact": (8, 4), "lost": (2, 1), "media": 5, "shadow_lost": 1,
        "completed_lost": 0}, finding("lost", 1, 2, 2, 0))

    def later_cycle(*events):
        w = proved(*events)
        w.start(2, 101, 200)
        w.issue(101)             # to place 4, as 5 did: 5 is not missed
        w.issue(102, kept=False)  # to place 5
        w.flush()
        w.damage(at(4), w.fill(4))
        w.cut()
        return w
    expect("in doubt for ever", later_cycle(), verdict(
        {"exit": 3, "completed_lost": 0, "media": 5}), 0)
    broken("firm for ever", later_cycle(2),
           {"intact": (8, 4), "lost": (2, 1), "media": 5,
            "completed_lost": 0}, lost)


def test_labels_and_log():
    w = usual(lambda w: w.damage(0, bytes(4096)))
    broken("a label lost", w, {"blank": (8, 1)},
           ("blank", 0, 8, 0, None, False, True))
    stranger = World(run=OTHER, filled=False)
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

    def took_less(w):
        w.issue(1)
        w.flush()
        w.ranges(4, 1, 1, w.submitted, 1)
    case("claimed before the flush was answered", early(took_less),
         "write 1 .* called durable by a flush that does not")

    def submitted_later(w):
        w.issue(1)
        w.flush()
        w.ranges(4, 1, 1, w.clock + 1, 100)
    case("claimed by a flush that never came", early(submitted_later),
         "write 1 .* called durable by a flush that does not")

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
         "a label behind the first write")
    case("a late fill", early(lambda w: (w.issue(1), w.write(
        at(3), w.fill(3)))), "a fill behind the label")
    for without, pattern in (
            ("claim", "the claim is not durable before the fill"),
            ("flush1", "the claim is not durable before the fill"),
            ("fill", "claim and fill are not durable before the label"),
            ("flush2", "claim and fill are not durable before the label"),
            ("label", "the labels are not durable"),
            ("flush3", "the labels are not durable")):
        w = World()
        w.begin(without)
        w.issue(1)
        w.cut()
        case(f"begun without {without}", w, pattern)


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
    case("a record that never arrived", w, "media and never arrived")
    w = usual(lambda w: w.damage(at(1), w.record(2, w=1)))
    case("nor did this W", w, "media and never arrived")
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


def golden(name):
    with open(os.path.join(HERE, "..", "golden", name + ".hex")) as f:
        return bytes.fromhex(f.read())


def test_arithmetic():
    assert crc32c(b"123456789") == 0xE3069283          # RFC 3720
    assert crc32c_by_table(0xFFFFFFFF, b"123456789", 9) ^ 0xFFFFFFFF \
        == 0xE3069283
    for name in ("atom", "fill-atom"):
        right = golden(name)
        for k in range(0, 512, 7):
            flipped = right[:k] + bytes([right[k] ^ 1]) + right[k + 1:]
            wanted = ["good", "corrupt"]
            if k >= 80 or 16 <= k < 32:
                flipped += sealed(flipped)
                wanted.append("foreign" if k < 32 else "corrupt")
            kinds = [a.kind for a in Decoder(RUN).atoms(right + flipped)]
            assert kinds == wanted, (name, k, kinds)
        assert [a.kind for a in Decoder(OTHER).atoms(right)] == ["foreign"]
    assert [order_of_pass(0x0123456789ABCDEF, 1000, 1, q // 1000)[q % 1000]
            for q in (0, 1, 2, 999, 1000, 1001, 123456788)] \
        == [75, 332, 156, 174, 674, 789, 154]    # tests/unit/test_schedule.c
    assert sorted(order_of_pass(5, 777, 0, 3)) == list(range(777))


def test_flushes():
    raw = golden("flushes")
    (kind, c), = formats.statements(raw)
    hour = 3600 * 10 ** 9
    assert (kind, c.varint()) == (9, 3)
    assert list(formats.flushes(c)) == [
        (9, hour, 1500000, 1000000, 1000031),
        (10, hour + 37000, 21000, 1000032, 1000060),
        (10, hour + 37000, 21000, 1000062, 1000063),
        (12, hour + 37000, 0, 1000061, 1000061),
        (13, hour + 37129, 128, 1000064, 2 ** 63 - 1),
        (13, hour + 37129, 128, 1, 1),
        (2 ** 64 - 1, 2 ** 64 - 1, 0, 2, 70)]
    assert c.at == len(c.data)

    def told(*parts, asked=False):
        w = World()
        w.begin()
        w.start(1, 1)
        if asked:
            w.tell(statement(6, b"\1", 0))
        w.tell(statement(9, *parts))
        return formats.AckLog(b"".join(w.frames)).cycles[-1]

    # stream 0, 3 ranges: flush 1 of 3 and 1 ... 2, flush 5 of 4 ... 7
    parts = 0, 3, 0, 50, 7, 4, 1, 5, 2, 3, 20, 0, 2, 6
    cycle = told(*parts)
    assert cycle.durable == {(0, q) for q in range(1, 8)}
    assert cycle.claims == [(0, 3, 3, 50, 57), (0, 1, 2, 50, 57),
                            (0, 4, 7, 70, 70)]
    cycle = told(*parts, asked=True)
    assert not cycle.durable and len(cycle.shadow) == 7
    for wrong in ((1, *parts[1:]), (0, 2, *parts[2:]),
                  (0, 4, *parts[2:]), (*parts[:-1], 7),
                  (*parts[:-1], 2 * 97), (0, 1, 0, 50, 7, 4, 0),
                  (*parts[:5], 1, *parts[6:]), (*parts, 0)):
        try:
            told(*wrong)
        except formats.Damaged:
            continue
        assert False, wrong


def main():
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
    print(f"{COUNT[0]} cases, {len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
