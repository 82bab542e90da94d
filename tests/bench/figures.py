# SPDX-License-Identifier: MIT
"""The figures that were set before the work began, and what is measured."""
import contextlib
import json
import os
import re
import subprocess

import peers
from cells import judged, usual
from measure import bound, compare, compare_verifier, side_by_side, tell
from peers import Trouble
from tables import markdown, ratios, size_text, spread
from targets import Target, wait_until

CORE_LIMITS = ((4 << 10, 0.75), (64 << 10, 0.60), (128 << 10, 0.60),
               (1 << 20, 0.60))
TLS_TARGETS = ("tmpfs", "ext4", "sim")
READ_TARGETS = ("ext4", "sim")
MEMORY_MIB = 64
HUGE_BYTES, FULL_BYTES = 1 << 36, 1 << 40
ACK_WRITERS, ACK_RATE = 64, 1000000


class Figure:
    """GOAL None: nobody has set one."""

    def __init__(self, what, goal, unit, values, at_least=True):
        self.what, self.goal, self.unit = what, goal, unit
        self.values, self.at_least = values, at_least

    @property
    def is_met(self):
        middle = spread(self.values).median
        return middle >= self.goal if self.at_least else middle <= self.goal

    def form(self, value):
        if self.unit == "writes/s":
            return "{:,.0f}".format(value)
        return "%.2f" % value

    def row(self):
        if not self.values:
            return [self.what, self.goal_text(), "-", "-", "not measured"]
        s = spread(self.values)
        return [self.what, self.goal_text(),
                "%s %s" % (self.form(s.median), self.unit),
                "%s-%s" % (self.form(s.low), self.form(s.high)),
                "-" if self.goal is None else
                "yes" if self.is_met else "**no**"]

    def goal_text(self):
        if self.goal is None:
            return "-"
        return "%s %s %s" % (">=" if self.at_least else "<=",
                             self.form(self.goal), self.unit)


# ---- the writer

def beside_fio(rig, notes):
    target = rig.target("tmpfs", notes)
    if not target:
        return []
    found, _ = compare(rig, target, usual("tmpfs"), {
        "writer": peers.writer, "fio": peers.fio, "fio crc": peers.fio_crc,
        "fio batch": peers.fio_batch}, "figures")
    ours = found["writer"]
    figures = [
        Figure("tmpfs, 4k, depth 32: writer / fio crc32c", 1.8, "x",
               ratios(ours, found["fio crc"])),
        Figure("tmpfs, 4k, depth 32: writer / fio", 1.2, "x",
               ratios(ours, found["fio"])),
        Figure("tmpfs, 4k, depth 32: writer / fio told to batch", None, "x",
               ratios(ours, found["fio batch"]))]
    found, _ = compare(rig, target, usual("tmpfs", block=64 << 10), {
        "writer": peers.writer, "fio crc": peers.fio_crc}, "figures")
    figures.append(Figure("tmpfs, 64k, depth 32: writer / fio crc32c", 1.3,
                          "x", ratios(found["writer"], found["fio crc"])))
    return figures


def beside_bare(rig, notes):
    target = rig.target("tmpfs", notes)
    figures = []
    for block, goal in CORE_LIMITS if target else ():
        found, _ = compare(rig, target, usual("tmpfs", block=block), {
            "writer": peers.pinned_writer, "bare": peers.pinned_bare},
            "figures")
        figures += [
            Figure("tmpfs, %s, depth 32, one core: writer / bare" % (
                size_text(block)), goal, "x",
                ratios(found["writer"], found["bare"])),
            Figure("likewise, by processor time, which others do not take",
                   None, "x",
                   ratios(found["bare"], found["writer"], "cpu_us"))]
    return figures


@contextlib.contextmanager
def collector(rig, core=None):
    """Its address, its key file, its process."""
    key, said = rig.new_path("key"), rig.path("collector.out")
    folder = rig.new_path("acks")
    os.mkdir(folder)
    peers.run(rig, [rig.program("collector"), "--new-key", key])
    pin = ["taskset", "-c", str(core)] if core is not None else []
    with open(said, "wb") as out:
        process = subprocess.Popen(
            pin + [rig.program("collector"), "--listen", "127.0.0.1:0",
                   "--dir", folder, "--key", key],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def listening():
        with open(said, encoding="utf-8") as file:
            return re.search(r"^listening on (\S+)$", file.read(), re.M)
    try:
        wait_until("the collector", listening)
        yield listening().group(1), key, folder, process
    finally:
        process.terminate()
        process.wait()
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))


def over_tls(rig, notes):
    figures = []
    for name in TLS_TARGETS:
        target = rig.target(name, notes)
        if not target:
            continue
        cell = usual(name, depth=1, sync="flush:1")
        with collector(rig) as (address, key, _, _):
            log = ["--collector", address, "--key", key]
            found, _ = side_by_side(
                rig, {"writer": bound(peers.writer, rig, target, cell, None,
                                      log),
                      "fio": bound(peers.fio, rig, target, cell),
                      "bare": bound(peers.bare, rig, target, cell)},
                part="figures", **cell._asdict())
        figures += [
            Figure("%s, 4k, flush:1, depth 1, acks over TLS: writer / fio "
                   "--fdatasync=1" % name, 0.97, "x",
                   ratios(found["writer"], found["fio"])),
            Figure("likewise: bare / fio, without acks", None, "x",
                   ratios(found["bare"], found["fio"]))]
    return figures


# ---- the verifier

def beside_dd(rig, notes):
    figures = []
    for name in ("tmpfs",) + READ_TARGETS:
        target = rig.target(name, notes)
        if not target:
            continue
        found, _ = compare_verifier(rig, target, judged(name), "figures")
        if name == "tmpfs":
            figures.append(Figure(
                "tmpfs, verifier on one core", 3.0, "GB/s",
                [sample["rate"] / 1e9 for sample in found["one core"]]))
            figures.append(Figure(
                "likewise, by processor time, start-up and end included",
                None, "GB/s",
                [target.size / 1e9 / sample["cpu_seconds"]
                 for sample in found["one core"]]))
            continue
        figures.append(Figure(
            "%s: verifier / dd iflag=direct bs=1M" % name, 0.9, "x",
            ratios(found["verifier"], found["dd"])))
        found, _ = compare_verifier(rig, target, usual(name), "figures")
        figures.append(Figure(
            "likewise, nothing flushed: all in doubt and asked for first",
            None, "x", ratios(found["verifier"], found["dd"])))
    return figures


def peak_figures(what, ours):
    return [Figure("memory of the %s, %s" % (name, what), MEMORY_MIB, "MiB",
                   [sample["peak_kib"] / 1024 for sample in samples],
                   at_least=False)
            for name, samples in ours.items()]


def memory(rig, size):
    """A region without a fill, most of it a hole."""
    path, log = rig.path("huge.target"), rig.new_path("judged")
    with open(path, "xb") as file:
        file.truncate(size)
    target = Target(path, size, 4096)
    try:
        summary, ended = peers.write_once(
            rig, target, usual("tmpfs"),
            ["--runtime", peers.milliseconds(rig.seconds)],
            log=["--acklog", log])
        assert summary["writes"]
        found = peers.verifier(rig, target, log)
    finally:
        os.unlink(path)
    return peak_figures("region of %s" % size_text(size), {
        "writer": [{"peak_kib": ended.peak}], "verifier": [found]})


# ---- the collector

def load_once(rig, writers, core=None, rate=None):
    """A sample of many writers at one collector, None without ackload."""
    if not os.path.exists(rig.bench("ackload")):
        return None
    with collector(rig, core) as (address, key, folder, process):
        ended = peers.run(rig, [
            rig.bench("ackload"), "--connect", address, "--key", key,
            "--writers", str(writers), "--seconds",
            peers.milliseconds(rig.seconds), "--dir", folder,
            "--collector-pid", str(process.pid),
            *(["--rate", str(rate)] if rate else [])])
    found = json.loads(ended.out)
    return {"rate": found["writes_per_second"],
            "cpu_us": found["cpu_seconds"] / max(
                found["writes_per_second"] * found["seconds"], 1) * 1e6,
            "writers": writers, "confirm_ms": found["confirm_ms"],
            "per_core": found["writes_per_collector_cpu_second"],
            "log_bytes": found["log_bytes_per_write"]}


def log_size(rig, notes):
    """What the log of a writer grows by, beyond that of a single write."""
    target = rig.target("tmpfs", notes)
    bytes_each = []
    for _ in range(rig.rounds if target else 0):
        grown = []
        for length in (["--count", "1"],
                       ["--runtime", peers.milliseconds(rig.seconds)]):
            log = rig.new_path("judged")
            summary, _ = peers.write_once(
                rig, target, usual("tmpfs", sync="flush:32"), length,
                log=["--acklog", log])
            grown.append((os.path.getsize(log), summary["durable"]))
            os.unlink(log)
        bytes_each.append((grown[1][0] - grown[0][0]) / (
            grown[1][1] - grown[0][1]))
    return [Figure("tmpfs, 4k, depth 32, flush:32: log of an acknowledged "
                   "write", 0.5, "bytes", bytes_each, at_least=False)]


def at_collector(rig, notes):
    found, steady = [], []
    for number in range(rig.rounds):
        for into, rate in ((found, None), (steady, ACK_RATE)):
            sample = load_once(rig, ACK_WRITERS, rig.core, rate)
            if not sample:
                notes.append("the collector: there is no ackload")
                return []
            sample.update(part="figures", peer="collector", round=number)
            into.append(sample)
            rig.samples.append(sample)
    return [
        Figure("collector on one core, 64 writers over TLS, as fast as it "
               "goes", ACK_RATE, "writes/s",
               [sample["rate"] for sample in found]),
        Figure("likewise, asked for 1,000,000 writes/s: time to the "
               "confirmation, median", None, "ms",
               [sample["confirm_ms"]["median"] for sample in steady]),
        Figure("likewise: 99 % of them", None, "ms",
               [sample["confirm_ms"]["p99"] for sample in steady]),
        Figure("likewise: the slowest", None, "ms",
               [sample["confirm_ms"]["max"] for sample in steady])]


def all_figures(rig, is_full):
    notes, figures = [], []
    for name, function in (
            ("writer and fio", beside_fio), ("writer and bare", beside_bare),
            ("acks over TLS", over_tls), ("verifier and dd", beside_dd),
            ("log", log_size), ("collector", at_collector),
            ("memory", lambda rig, notes: memory(
                rig, FULL_BYTES if is_full else HUGE_BYTES))):
        tell("figures: " + name)
        try:
            figures += function(rig, notes)
        except Trouble as trouble:
            notes.append("%s: %s" % (name, trouble))
    return figures, notes


def figures_part(rig, is_full):
    figures, notes = all_figures(rig, is_full)
    heads = ("what", "figure", "measured (median)", "spread", "met")
    return markdown(heads, [figure.row() for figure in figures]) + "".join(
        "\nNot measured: %s.\n" % note.replace("\n", " ")
        for note in dict.fromkeys(notes))
