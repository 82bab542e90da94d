# SPDX-License-Identifier: MIT
"""What more streams, threads and writers bring, as a table and as plots."""
import os
import subprocess

import peers
from cells import judged, usual
from figures import load_once
from measure import bound, side_by_side, tell, written
from peers import Trouble
from tables import markdown, spread

STREAMS = (1, 2, 4, 8)
THREADS = (1, 2, 4)
WRITERS = (1, 4, 16, 64)
MARGIN = 1.3                 # left and right of the points
SCRIPT = """set terminal svg size 560,320 font 'sans,12'
set output '%(path)s'
set title '%(title)s'
set xlabel '%(across)s'
set ylabel '%(up)s'
set logscale x 2
set xtics (%(ticks)s)
set xrange [%(low)f:%(high)f]
set yrange [0:*]
set grid ytics
set key off
set style data yerrorlines
$points << END
%(points)s
END
plot $points using 1:2:3:4 lw 2 pt 7
"""


class Curve:
    """POINTS are (how many, spread), FACTOR makes them readable."""

    def __init__(self, name, title, across, up, factor):
        self.name, self.title, self.across = name, title, across
        self.up, self.factor, self.points = up, factor, []

    def add(self, count, values):
        self.points.append((count, spread(
            [value * self.factor for value in values])))


def of_streams(rig, notes):
    curve = Curve("streams", "writer on tmpfs, 4k, depth 32", "streams",
                  "1000 writes/s", 1e-3)
    target = rig.target("tmpfs", notes)
    if not target:
        return curve
    runs = {count: bound(peers.writer, rig, target,
                         usual("tmpfs", streams=count))
            for count in STREAMS}
    found, _ = side_by_side(rig, runs, part="scaling", what="streams")
    for count in STREAMS:
        curve.add(count, [sample["rate"] for sample in found[count]])
    return curve


def of_threads(rig, notes):
    curve = Curve("threads", "verifier on tmpfs, 4k", "threads", "GB/s", 1e-9)
    target = rig.target("tmpfs", notes)
    if not target:
        return curve
    log = written(rig, target, judged("tmpfs"))
    runs = {count: bound(peers.verifier, rig, target, log, count)
            for count in THREADS}
    found, _ = side_by_side(rig, runs, part="scaling", what="threads")
    for count in THREADS:
        curve.add(count, [sample["rate"] for sample in found[count]])
    return curve


def of_writers(rig, notes):
    curve = Curve("writers", "collector, acknowledgements over TLS",
                  "writers", "1000 acknowledged writes/s", 1e-3)
    if not os.path.exists(rig.bench("ackload")):
        notes.append("collector with writers: there is no ackload")
        return curve
    runs = {count: bound(load_once, rig, count) for count in WRITERS}
    found, _ = side_by_side(rig, runs, part="scaling", what="writers")
    for count in WRITERS:
        curve.add(count, [sample["rate"] for sample in found[count]])
    return curve


def plot(curve, path):
    script = SCRIPT % {
        "path": path, "title": curve.title, "across": curve.across,
        "up": curve.up, "low": curve.points[0][0] / MARGIN,
        "high": curve.points[-1][0] * MARGIN,
        "ticks": ", ".join(str(count) for count, _ in curve.points),
        "points": "\n".join("%d %f %f %f" % (
            count, s.median, s.low, s.high) for count, s in curve.points)}
    done = subprocess.run(["gnuplot"], input=script, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Trouble("gnuplot: " + done.stdout.strip())


def curve_rows(curve):
    first = curve.points[0][1].median
    return [[curve.title, "%d %s" % (count, curve.across),
             "%.2f (%.2f-%.2f) %s" % (*s, curve.up),
             "%.2f" % (s.median / first) if first else "-"]
            for count, s in curve.points]


def scaling_part(rig, folder):
    """The table; the plots go to FOLDER, if there is one."""
    rows, notes, plots = [], [], []
    for function in (of_streams, of_threads, of_writers):
        tell("scaling: " + function.__name__.replace("_", " "))
        try:
            curve = function(rig, notes)
        except Trouble as trouble:
            notes.append("%s: %s" % (function.__name__, trouble))
            continue
        if not curve.points:
            continue
        rows += curve_rows(curve)
        if folder:
            plot(curve, os.path.join(folder, curve.name + ".svg"))
            plots.append("![%s](%s/%s.svg)\n" % (
                curve.title, os.path.basename(folder), curve.name))
    return markdown(("what", "with", "median (smallest-largest)",
                     "x the first"), rows) + "".join(
        "\nNot measured: %s.\n" % note.replace("\n", " ")
        for note in notes) + ("\n" + "".join(plots) if plots else "")
