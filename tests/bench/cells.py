# SPDX-License-Identifier: MIT
"""Which combinations are measured."""
import collections
import itertools

from tables import size_of, size_text

Cell = collections.namedtuple("Cell", "target block depth sync streams")

TARGETS = ("tmpfs", "ext4", "sim", "nbd")
BLOCKS = ("512", "4k", "16k", "64k", "128k", "1m")
DEPTHS = (1, 8, 32, 128)
SYNCS = ("none", "flush:1", "flush:32", "fua")
STREAMS = (1, 2)
USUAL = dict(block=4096, depth=32, sync="none", streams=1)


class BadFilter(Exception):
    pass


def every_cell():
    return [Cell(target, size_of(block), depth, sync, streams)
            for target, block, depth, sync, streams in itertools.product(
                TARGETS, BLOCKS, DEPTHS, SYNCS, STREAMS)]


def usual(target, **other):
    return Cell(target, **{**USUAL, **other})


def judged(target, **other):
    """A region to be judged holds promises: without a flush every number is in
    doubt, and up to 65,536 places are asked for one by one before the scan."""
    return usual(target, **{"sync": "flush:32", **other})


def default_cells():
    """What shows most in some minutes: tmpfs in all directions, since nothing
    but our own cost is seen there, and the others where people use them."""
    cells = [usual("tmpfs", block=size_of(block)) for block in BLOCKS]
    cells += [usual("tmpfs", depth=depth) for depth in (1, 8, 128)]
    cells += [usual("tmpfs", sync=sync) for sync in SYNCS[1:]]
    cells += [usual("tmpfs", depth=1, sync="flush:1"),
              usual("tmpfs", streams=2),
              usual("tmpfs", sync="flush:32", streams=2)]
    for target in TARGETS[1:]:
        cells += [usual(target), usual(target, block=64 << 10),
                  usual(target, sync="flush:32"),
                  usual(target, depth=1, sync="flush:1")]
    cells.append(usual("sim", sync="fua"))
    return cells


def parse_filters(words):
    """{name: set of values} of NAME=VALUE[,VALUE...]."""
    chosen = {}
    for word in words:
        name, equals, values = word.partition("=")
        if not equals or name not in Cell._fields:
            raise BadFilter("%s: it is one of %s, = and a value" % (
                word, ", ".join(Cell._fields)))
        try:
            chosen[name] = {parse_value(name, value)
                            for value in values.split(",")}
        except ValueError:
            raise BadFilter("%s: no such value" % word) from None
    return chosen


def parse_value(name, value):
    if name == "block":
        return size_of(value)
    if name in ("depth", "streams"):
        return int(value)
    if value not in (TARGETS if name == "target" else SYNCS):
        raise ValueError(value)
    return value


def fits(cell, chosen):
    return all(getattr(cell, name) in values
               for name, values in chosen.items())


def pick(chosen, is_full):
    """Of the default choice, or, where nothing there fits, of all."""
    cells = [cell for cell in every_cell() if fits(cell, chosen)]
    few = [cell for cell in default_cells() if fits(cell, chosen)]
    return cells if is_full or not few else few


def name_of(cell):
    return "%s block=%s depth=%d sync=%s streams=%d" % (
        cell.target, size_text(cell.block), cell.depth, cell.sync,
        cell.streams)
