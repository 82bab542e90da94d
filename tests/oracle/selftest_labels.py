# SPDX-License-Identifier: MIT
"""Self-test: what the two labels say, alone and beside a log."""
from formats import MIB
from world import (OTHER, World, expect, finding, label_world, statement,
                   verdict)


def test_labels_without_log():
    """What a lone drive says by its labels, and what nobody can know."""
    none = {"verdict": "none", "exit": 2}
    kept = {"exit": 3, "completed_lost": 0, "log": 0, "media": 0,
            "newer": (0, 0), "intact": (12, 6)}
    issued = {**kept, "newer": (2, 1), "intact": (10, 5)}
    nothing = {**kept, "intact": (0, 0), "unpromised": (12, 6), "judged": 0}
    classes = {"C": "foreign", "S": "foreign", "N": "blank", "D": "corrupt"}

    def case(copies, told, status, *findings, pattern="", **how):
        name = f"labels {copies} {how} {told['verdict']}"
        expect(name, label_world(copies, log=False, **how),
               verdict(told, findings), status, pattern, log=False)

    for copies in ("OO", "OC", "CO", "ON", "NO", "OD", "DO", "OS"):
        broke = {**kept, "verdict": "broken", "exit": 1}
        bad = [c for c in copies if c != "O"]
        where = copies.find(bad[0]) * (2 * MIB + 6144 - MIB) if bad else 0
        label = [(classes[c], where, 8, 0, None, False, True) for c in bad]
        atoms = {classes[c]: (8, 1) for c in bad}
        # a lone label: its twin may have been in flight, the fill was not
        case(copies, {**kept, "verdict": "kept"}, 0)
        case(copies, {**broke, **atoms}, 1 if bad else 1, *label)
        case(copies, {**kept, "verdict": "kept"}, 1, lost=[2],
             pattern="oracle says broken")
        case(copies, {**broke, "intact": (10, 5), "blank": (2, 1)}, 0,
             finding("blank", 2, 2, 0, None), lost=[2])
        # a record: the labels had been flushed
        case(copies, {**issued, "verdict": "kept"}, 1 if bad else 0,
             records=1)
        if bad:
            case(copies, {**broke, **issued, **atoms, "verdict": "broken",
                          "exit": 1}, 0, *label, records=1)
    for copies in ("CC", "CN", "NC", "CD", "DC"):
        # it reads as a run that has not begun
        case(copies, {**nothing, "verdict": "kept"}, 0)
        case(copies, none, 1)
        case(copies, {**nothing, "verdict": "kept"}, 1, records=1)
        case(copies, none, 0, records=1)
    for records in (0, 1):
        # the first label counts: nothing there is of the stranger's run
        case("SO", {**kept, "verdict": "broken", "exit": 1, "intact": (0, 0),
                    "foreign": (12, 6)}, 0, *[
                        finding("foreign", k, 2, 0, None) for k in range(6)],
             records=records)
        case("SO", {**kept, "verdict": "kept"}, 1, records=records)
        case("UO", {**nothing, "verdict": "kept"}, 0, records=records)
    for copies in ("NN", "ND", "DD", "OU"):
        for records in (0, 1):
            case(copies, none, 0, records=records)
            case(copies, {**kept, "verdict": "kept"}, 1, records=records)
    case("OO", {**nothing, "verdict": "kept"}, 0, filled=False)
    w = World()
    for what, prepare in (("claimed", lambda: (w.on(), w.label(w.claim()),
                                               w.flush())),
                          ("filled", w.fill_all)):
        prepare()
        w.cut()
        expect(f"{what}, no label yet", w, verdict(nothing), 0, log=False)


    w = label_world("OO", records=1)
    stranger = World(run=OTHER)
    w.label(stranger.claim(), (1,))
    w.cut()
    expect("another run begins at the second copy", w, verdict(none), 0,
           log=False)


def test_labels_with_log():
    none = verdict({"verdict": "none", "exit": 2})
    kept = {"exit": 3, "completed_lost": 0, "log": 0, "media": 0,
            "newer": (0, 0), "intact": (12, 6)}
    broke = {**kept, "verdict": "broken", "exit": 1}
    far = MIB + 6144
    expect("both are there", label_world("OO"), verdict(kept), 0)
    for copies, name in (("OC", "foreign"), ("OS", "foreign"),
                         ("ON", "blank"), ("OD", "corrupt")):
        w = label_world(copies)
        expect("cycle, labels " + copies, w, verdict(
            {**broke, name: (8, 1)},
            [(name, far, 8, 0, None, False, True)]), 0)
        expect(f"cycle, labels {copies}, acquitted", w, verdict(kept), 1)
        w = label_world(copies, log=False)
        expect("no cycle, labels " + copies, w, verdict(kept), 0)
        expect(f"no cycle, labels {copies}: none", w, none, 1)
    w = label_world("CC")
    expect("cycle, only the claim", w, verdict(
        {**broke, "foreign": (16, 2)},
        [("foreign", p, 8, 0, None, False, True) for p in (0, far)]), 0)
    expect("cycle, only the claim: none", w, none, 1)
    expect("no cycle, only the claim", label_world("CC", log=False), none, 0)
    w = World()
    w.on()
    w.cut()
    w.tell(statement(1, w.raw))
    unread = {**kept, "intact": (0, 0), "judged": 0}
    for atoms in (0, 0), (12, 6):
        expect(f"nothing was written, {atoms} seen", w, verdict(
            {**unread, "unpromised": atoms}), 0)
    expect("nothing was written, judged", w, verdict(
        {**unread, "judged": 6}), 1)
    for w in label_world("NN"), label_world("OO", filled=False, log=False):
        expect("written, and not read", w, verdict(unread), 1)
    for copies in ("OU", "UO", "SS", "SN", "UC", "SC"):
        w = label_world(copies)
        expect("cycle, labels " + copies, w, none, 0)
        expect(f"cycle, labels {copies}, acquitted", w, verdict(kept), 1)
