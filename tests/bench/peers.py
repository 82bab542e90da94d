# SPDX-License-Identifier: MIT
"""Runs a program once and says how fast it was.

A sample holds rate (writes a second, or bytes where it reads), writes, flushes
and cpu_us: microseconds of processor per write, kernel included. The writer's
start-up and fill are in neither: its rate is its own, over the time that it
wrote, and of its processor time that of a run of one write is taken off.
"""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

from tables import median
from targets import MAKERS, NotHere

TIMEOUT_SECONDS = 120
POLL_SECONDS = 0.005
STARTS = 3
DSYNC = "--sync=dsync"
CRC = ("--verify=crc32c", "--do_verify=0", "--verify_state_save=0")


class Trouble(Exception):
    pass


class NoPeer(Exception):
    """Nothing to compare with, and why."""


class Rig:
    """Where programs and files are; numbers every run."""

    def __init__(self, programs, memory, options):
        self.programs, self.memory = os.path.abspath(programs), memory
        self.size = options.size
        self.folder, self.peers = options.dir, options.peers
        self.seconds, self.rounds = options.duration, options.rounds
        self.starts, self.samples, self.runs = {}, [], 0
        self.stack, self.targets = contextlib.ExitStack(), {}
        self.core = max(os.sched_getaffinity(0))

    def target(self, name, notes):
        """Made once and kept; None, and why in NOTES, where it cannot be."""
        if name not in self.targets:
            try:
                self.targets[name] = self.stack.enter_context(
                    MAKERS[name](self))
            except NotHere as reason:
                self.targets[name] = "%s: %s" % (name, reason)
        if isinstance(self.targets[name], str):
            notes.append(self.targets[name])
            return None
        return self.targets[name]

    def program(self, name):
        return os.path.join(self.programs, "plugpull-" + name)

    def bench(self, name):
        return os.path.join(self.programs, "bench", name)

    def path(self, name):
        return os.path.join(self.memory, name)

    def new_path(self, name):
        self.runs += 1
        return self.path("%d.%s" % (self.runs, name))


def peak_of(pid, before):
    """Largest resident size so far, in KiB. (Not ru_maxrss: that begins with
    the size of whoever started the program.)"""
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            found = re.search(r"VmHWM:\s*(\d+)", file.read())
    except OSError:
        return before
    return int(found.group(1)) if found else before


def wait_for(process, timeout):
    """Its end: exit status, seconds of processor, peak in KiB."""
    deadline = time.monotonic() + timeout
    peak = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime, peak
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise Trouble("%s: no end after %d s" % (process.args[0], timeout))
        peak = peak_of(process.pid, peak)
        time.sleep(POLL_SECONDS)


class Ended:
    def __init__(self, out, err, cpu, peak):
        self.out, self.err, self.cpu, self.peak = out, err, cpu, peak


def run(rig, command, core=None, allowed=(0,), timeout=TIMEOUT_SECONDS):
    out, err = rig.path("out"), rig.path("err")
    if core is not None:
        command = ["taskset", "-c", str(core)] + command
    with open(out, "wb") as to_out, open(err, "wb") as to_err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=to_out, stderr=to_err)
    try:
        code, cpu, peak = wait_for(process, timeout)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait()
    with open(out, errors="replace", encoding="utf-8") as file:
        text = file.read()
    with open(err, errors="replace", encoding="utf-8") as file:
        said = file.read()
    if code not in allowed:
        raise Trouble("exit status %d from: %s\n%s" % (
            code, " ".join(command), (said or text).strip()[-600:]))
    return Ended(text, said, cpu, peak)


def milliseconds(seconds):
    return "%dms" % max(1, round(seconds * 1000))


def per_write_us(cpu, writes):
    return max(cpu, 0) / writes * 1e6 if writes else None


# ---- the writer

def writer_command(rig, target, cell, log, extra):
    return [rig.program("writer"), "--target", target.path, "--erase",
            target.path, "--size", str(target.size), "--block-size",
            str(cell.block), "--queue-depth", str(cell.depth), "--streams",
            str(cell.streams), "--sync", cell.sync, "--seed", "1",
            *log, *extra]


def write_once(rig, target, cell, length, core=None, log=None, fill=False):
    """LENGTH is --runtime or --count; LOG is where acknowledgements go."""
    acks = rig.new_path("acklog")
    target.settle()
    summary = rig.path("writer.json")
    try:
        ended = run(rig, writer_command(
            rig, target, cell, log or ["--acklog", acks],
            ["--json", summary, "--fill" if fill else "--no-fill", *length]),
            core)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(acks)
    with open(summary, encoding="utf-8") as file:
        return json.load(file), ended


def start_cpu(rig, target, cell):
    """Processor seconds of a run of one write."""
    key = (target.path, cell.streams)
    if key not in rig.starts:
        rig.starts[key] = median([
            write_once(rig, target, cell._replace(sync="none"),
                       ["--count", "1"])[1].cpu for _ in range(STARTS)])
    return rig.starts[key]


def writer(rig, target, cell, core=None, log=None):
    start = start_cpu(rig, target, cell)
    summary, ended = write_once(rig, target, cell, [
        "--runtime", milliseconds(rig.seconds)], core, log)
    return {"rate": summary["writes_per_second"],
            "writes": summary["writes"], "flushes": summary["flushes"],
            "cpu_us": per_write_us(ended.cpu - start, summary["writes"]),
            "peak_kib": ended.peak}


def pinned_writer(rig, target, cell):
    return writer(rig, target, cell, rig.core)


# ---- fio

def fio_sync(target, sync):
    kind, _, number = sync.partition(":")
    if kind == "fua":
        if target.is_nbd:
            raise NoPeer("fio's nbd engine has no FUA")
        return [DSYNC]
    if kind == "flush":
        # Its nbd engine knows fsync only, and sends a FLUSH for it.
        return ["--%s=%s" % ("fsync" if target.is_nbd else "fdatasync",
                             number)]
    return []


def fio_target(target, cell):
    if target.is_nbd:
        return ["--ioengine=nbd", "--uri=" + target.path]
    return ["--ioengine=libaio", "--direct=1", "--filename=" + target.path,
            "--allow_file_create=0"]


def fio_place(target, cell):
    """Each job has a part of what the writer has."""
    part = target.room // cell.streams // cell.block * cell.block
    words = ["--size=%d" % part, "--offset=%d" % target.first]
    if cell.streams > 1:
        words.append("--offset_increment=%d" % part)
    return words


def fio_sample(job, sync):
    write = job["write"]
    every = int(sync.partition(":")[2] or 0)
    writes, ms = write["total_ios"], write["runtime"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    if not writes or not ms:
        raise Trouble("fio has written nothing")
    return {"rate": writes * 1000 / ms, "writes": writes,
            "flushes": writes // every if every else 0, # it does not count
            "cpu_us": per_write_us(cpu, writes)}


def fio(rig, target, cell, *extra):
    result = rig.path("fio.json")
    target.settle()
    run(rig, ["fio", "--name=peer", "--output=" + result,
              "--output-format=json", "--thread", "--group_reporting",
              "--rw=randwrite", "--bs=%d" % cell.block,
              "--iodepth=%d" % cell.depth, "--numjobs=%d" % cell.streams,
              "--time_based", "--runtime=" + milliseconds(rig.seconds),
              *fio_target(target, cell), *fio_place(target, cell),
              *fio_sync(target, cell.sync), *extra])
    with open(result, encoding="utf-8") as file:
        text = file.read()
    return fio_sample(json.loads(text[text.index("{"):])["jobs"][0],
                      cell.sync)


def fio_crc(rig, target, cell):
    return fio(rig, target, cell, *CRC)


def fio_batch(rig, target, cell):
    """As many in one call as fit, which is not what fio does by itself."""
    return fio(rig, target, cell,
               "--iodepth_batch_submit=%d" % cell.depth,
               "--iodepth_batch_complete_max=%d" % cell.depth)


# ---- the bare loop, and readers

def bare_sync(sync):
    kind, _, number = sync.partition(":")
    return {"none": [], "fua": ["--dsync"],
            "flush": ["--flush-every", number]}[kind]


def bare(rig, target, cell, core=None):
    if target.is_nbd:
        raise NoPeer("the bare loop is of libaio, not of NBD")
    target.settle()
    ended = run(rig, [
        rig.bench("bare"), "--target", target.path, "--offset",
        str(target.first), "--size", str(target.room), "--block-size",
        str(cell.block), "--depth", str(cell.depth), "--threads",
        str(cell.streams), "--runtime", milliseconds(rig.seconds),
        *bare_sync(cell.sync)], core)
    found = json.loads(ended.out)
    return {"rate": found["writes_per_second"], "writes": found["writes"],
            "flushes": found["flushes"],
            "cpu_us": per_write_us(found["cpu_seconds"], found["writes"])}


def pinned_bare(rig, target, cell):
    return bare(rig, target, cell, rig.core)


def verifier(rig, target, acklog, threads=None, core=None):
    """Bytes a second; 3 says: kept, and no cut has been seen."""
    summary = rig.path("verdict.json")
    target.settle()
    ended = run(rig, [
        rig.program("verifier"), "--target", target.path, "--acklog", acklog,
        "--json", summary,
        *(["--threads", str(threads)] if threads else [])],
        core, (0, 3), timeout=20 * TIMEOUT_SECONDS)
    with open(summary, encoding="utf-8") as file:
        found = json.load(file)
    return {"rate": target.size / found["seconds"], "cpu_us": None,
            "cpu_seconds": ended.cpu, "scans": found["scans"],
            "peak_kib": ended.peak}


def dd_rate(text):
    found = re.search(r"(\d+) bytes .* copied, ([0-9.e+-]+) s", text)
    if not found:
        raise Trouble("dd says nothing that is known: %s" % text)
    return int(found.group(1)) / float(found.group(2))


def dd(rig, target):
    if target.is_nbd:
        raise NoPeer("dd reads no NBD")
    target.settle()
    ended = run(rig, ["env", "LC_ALL=C", "dd", "if=" + target.path,
                      "of=/dev/null", "bs=1M", "iflag=direct"])
    return {"rate": dd_rate(ended.err), "cpu_us": None}


def nbdcopy(rig, target):
    if not target.is_nbd:
        raise NoPeer("nbdcopy is for NBD")
    target.settle()
    began = time.monotonic()
    run(rig, ["nbdcopy", target.path, "null:"])
    return {"rate": target.size / (time.monotonic() - began), "cpu_us": None}
