# SPDX-License-Identifier: MIT
"""Runs side by side: each round has every peer once, forwards and backwards in
turn, so that a machine that grows slower favours nobody."""
import collections
import sys

import peers
from cells import name_of
from peers import NoPeer
from tables import (big, markdown, median_text, ratio_text, ratios, size_text,
                    two)

PEERS = {"writer": peers.writer, "fio": peers.fio, "fio crc": peers.fio_crc,
         "bare": peers.bare}
VERIFIED_BLOCKS = (4 << 10, 64 << 10)


def tell(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def one_round(runs, number, without):
    """{name: sample} of one round."""
    order = list(runs) if number % 2 == 0 else list(reversed(runs))
    found = {}
    for name in order:
        if name in without:
            continue
        try:
            found[name] = runs[name]()
        except NoPeer as reason:
            without[name] = str(reason)
    return found


def side_by_side(rig, runs, **where):
    """RUNS are {name: function without arguments that makes a sample}. The
    samples of each, and the reasons of those that have none."""
    found, without = {name: [] for name in runs}, {}
    for number in range(rig.rounds):
        for name, sample in one_round(runs, number, without).items():
            sample.update(where, peer=name, round=number)
            found[name].append(sample)
            rig.samples.append(sample)
    return found, without


def bound(function, *arguments):
    return lambda: function(*arguments)


def compare(rig, target, cell, functions, part):
    found, without = side_by_side(
        rig, {name: bound(function, rig, target, cell)
              for name, function in functions.items()
              if rig.peers is None or name in rig.peers},
        part=part, **cell._asdict())
    return collections.defaultdict(list, found), without


# ---- the cells

def group_text(samples):
    """Writes a flush; bare and writer send one for all that came back at
    once."""
    texts = ["%.1f" % (sample["writes"] / sample["flushes"])
             for sample in samples if sample.get("flushes")]
    return texts[len(texts) // 2] if texts else "-"


def cell_row(cell, found):
    ours = found["writer"]
    return [
        size_text(cell.block), cell.depth, cell.sync, cell.streams,
        median_text(ours, "rate"),
        *[ratio_text(ratios(ours, found[name]))
          for name in ("fio", "fio crc", "bare")],
        " / ".join(median_text(found[name], "cpu_us", two)
                   for name in ("writer", "fio", "fio crc", "bare")),
        " / ".join(group_text(found[name])
                   for name in ("writer", "fio", "bare")),
    ]


CELL_HEADS = ("block", "depth", "sync", "streams", "writes/s", "x fio",
              "x fio crc32c", "x bare",
              "us of processor a write: writer / fio / fio crc32c / bare",
              "writes a flush: writer / fio / bare")


def cells_part(rig, cells):
    """One table a target; what could not be measured is said below it."""
    text = ""
    for name in sorted({cell.target for cell in cells},
                       key=[cell.target for cell in cells].index):
        rows, notes = [], []
        for cell in (cell for cell in cells if cell.target == name):
            row = measure_cell(rig, cell, notes)
            if row:
                rows.append(row)
        text += "**%s**\n\n" % name
        if rows:
            text += markdown(CELL_HEADS, rows) + "\n"
        text += "".join("Not measured: %s.\n\n" % note
                        for note in dict.fromkeys(notes))
    return text


def measure_cell(rig, cell, notes):
    target = rig.target(cell.target, notes)
    if not target:
        return None
    if cell.block < target.sector:
        notes.append("blocks of %d on %s: its smallest are %d" % (
            cell.block, cell.target, target.sector))
        return None
    tell(name_of(cell))
    found, without = compare(rig, target, cell, PEERS, "cells")
    notes += ["%s on %s: %s" % (name, cell.target, reason)
              for name, reason in without.items()]
    return cell_row(cell, found)


# ---- the verifier

def written(rig, target, cell):
    """A log of a region that was filled and written to."""
    log = rig.new_path("judged")
    peers.write_once(rig, target, cell, [
        "--runtime", peers.milliseconds(rig.seconds)],
        log=["--acklog", log], fill=True)
    return log


def compare_verifier(rig, target, cell, part="verifier"):
    log = written(rig, target, cell)
    runs = {"verifier": bound(peers.verifier, rig, target, log),
            "one core": bound(peers.verifier, rig, target, log, 1, rig.core),
            "nbdcopy" if target.is_nbd else "dd":
            bound(peers.nbdcopy if target.is_nbd else peers.dd, rig, target)}
    return side_by_side(rig, runs, part=part, **cell._asdict())


def gigabytes(value):
    return "%.2f" % (value / 1e9)


def verifier_part(rig, cell, targets):
    rows, notes = [], []
    for name in targets:
        target = rig.target(name, notes)
        for block in VERIFIED_BLOCKS if target else ():
            tell("verifier %s block=%s" % (name, size_text(block)))
            found, _ = compare_verifier(
                rig, target, cell._replace(target=name, block=block))
            reader = "nbdcopy" if target.is_nbd else "dd"
            rows.append([
                name, size_text(block), reader,
                median_text(found[reader], "rate", gigabytes),
                median_text(found["verifier"], "rate", gigabytes),
                ratio_text(ratios(found["verifier"], found[reader])),
                median_text(found["one core"], "rate", gigabytes),
                median_text(found["verifier"], "peak_kib",
                            lambda kib: big(kib / 1024))])
    heads = ("target", "block", "peer", "peer GB/s", "verifier GB/s",
             "x peer", "on one core GB/s", "peak MiB")
    return markdown(heads, rows) + "".join(
        "\nNot measured: %s.\n" % note for note in notes)
