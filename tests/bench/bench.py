#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the programs beside fio, dd and a bare loop, on the same target.

NAME=VALUE[,VALUE...] (target, block, depth, sync, streams) picks cells of the
default choice, or of all where nothing there fits, and measures nothing else.
Needs no root; what does (ext4, sim) is left out by name.

Exit status: 0 measured, 2 usage or trouble. A figure that is not met is told,
and is no failure: on a machine of another kind it may not be.
"""
import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import cells
from figures import figures_part
from measure import cells_part, tell, verifier_part
from peers import Rig, Trouble
from scaling import scaling_part
from tables import NoMarker, markdown, size_of, write_parts
from targets import SHM, NotHere

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs")
PARTS = ("figures", "cells", "verifier", "scaling")
MIN_SIZE = 16 << 20


def first_line(*command):
    try:
        out = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
    except OSError:
        return "-"
    return (out.splitlines() or ["-"])[0]


def field_of(path, name):
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith(name):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"


def machine_part(rig, load, words):
    memory = field_of("/proc/meminfo", "MemTotal").split()[0]
    rows = [
        ("processor", "%s, %d of %d cores" % (
            field_of("/proc/cpuinfo", "model name"),
            len(os.sched_getaffinity(0)), os.cpu_count())),
        ("memory", "%d GiB" % round(int(memory) / (1 << 20))
         if memory.isdigit() else memory),
        ("system", "%s %s" % (platform.system(), platform.release())),
        ("compiler", first_line(os.environ.get("CC", "gcc"), "--version")),
        ("fio", first_line("fio", "--version")),
        ("load of others", "%.1f before, %.1f after (1 minute)" % load),
        ("measured", "%s, %d rounds of %g s, regions of %d MiB" % (
            time.strftime("%Y-%m-%d", time.gmtime()), rig.rounds,
            rig.seconds, rig.size >> 20)),
        ("command", "`make bench%s`" % (
            ' BENCH="%s"' % " ".join(words) if words else ""))]
    return markdown(("", ""), rows)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--bin", default="build", help="where the programs are")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", type=float, default=0.8,
                        help="seconds of a measurement (default 0.8)")
    parser.add_argument("--size", type=size_of, default=512 << 20,
                        help="of a target (default 512m)")
    parser.add_argument("--dir", help="the ext4 target is a file in there, not"
                                      " a loop device over memory")
    parser.add_argument("--memory", metavar="DIR", default=SHM,
                        help="a folder on tmpfs (default %s)" % SHM)
    parser.add_argument("--peers", type=lambda text: text.split(","),
                        help="no others, of writer,fio,fio crc,bare")
    parser.add_argument("--full", action="store_true",
                        help="all combinations: some hours")
    parser.add_argument("--parts", help="of " + ",".join(PARTS))
    parser.add_argument("--list", action="store_true",
                        help="name the cells and end")
    parser.add_argument("--json", metavar="FILE", help="every sample")
    parser.add_argument("--plot", action="store_true",
                        help="scaling as SVG in docs/performance")
    parser.add_argument("--write", action="store_true",
                        help="the tables into docs/PERFORMANCE.md")
    parser.add_argument("--selftest", action="store_true",
                        help="check the arithmetic and end")
    options = parser.parse_args()
    if options.rounds < 1 or options.duration <= 0 or options.size < MIN_SIZE:
        parser.error("that little shows nothing")
    try:
        options.chosen = cells.parse_filters(options.filters)
    except cells.BadFilter as bad:
        parser.error(str(bad))
    options.parts = (options.parts or (
        "cells" if options.chosen else ",".join(PARTS))).split(",")
    if not set(options.parts) <= set(PARTS):
        parser.error("--parts: of " + ",".join(PARTS))
    options.cells = cells.pick(options.chosen, options.full)
    if not options.cells:
        parser.error("no cell fits")
    return options


def measure(rig, options):
    """{part: text}; PARTS are in the order of the document."""
    folder = os.path.join(DOCS, "performance") if options.plot else None
    if folder:
        os.makedirs(folder, exist_ok=True)
    found = {}
    for part in PARTS:
        if part not in options.parts:
            continue
        if part == "figures":
            found[part] = figures_part(rig, options.full)
        elif part == "cells":
            found[part] = cells_part(rig, options.cells)
        elif part == "verifier":
            found[part] = verifier_part(
                rig, cells.judged("tmpfs"), cells.TARGETS)
        else:
            found[part] = scaling_part(rig, folder)
    return found


def publish(rig, options, found):
    for name, text in found.items():
        print("\n## %s\n\n%s" % (name, text))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rig.samples, file, indent=1)
            file.write("\n")
    if options.write:
        write_parts(os.path.join(DOCS, "PERFORMANCE.md"), found)


def end_told(number, _):
    sys.exit(128 + number)


def run(options):
    memory = tempfile.mkdtemp(prefix="plugpull-bench.",
                              dir=options.memory)
    rig = Rig(options.bin, memory, options)
    words = [word for word in sys.argv[1:] if word not in (
        "--write", "--bin", options.bin)]
    began, load = time.monotonic(), os.getloadavg()[0]
    try:
        with rig.stack:
            found = measure(rig, options)
    finally:
        shutil.rmtree(memory, ignore_errors=True)
    found = {"machine": machine_part(rig, (load, os.getloadavg()[0]), words),
             **found}
    publish(rig, options, found)
    tell("%d samples in %d s" % (len(rig.samples), time.monotonic() - began))


def main():
    options = arguments()
    if options.selftest:
        import selftest  # which imports this
        return selftest.main()
    if options.list:
        print("\n".join(cells.name_of(cell) for cell in options.cells))
        return 0
    signal.signal(signal.SIGTERM, end_told)
    try:
        run(options)
    except (Trouble, NotHere, NoMarker, OSError) as trouble:
        tell(str(trouble))
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
