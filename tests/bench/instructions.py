#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions for each write, and for each KiB that is verified.

Callgrind counts two runs of different length; the difference is what the work
costs, without start-up and fill. A machine under load gives the same figure:
the region is a file on tmpfs, where the kernel completes every request within
io_submit(), so that each turn of the writer's loop finds the same, and of the
writer only the threads that run streams are counted (main and the one that
acknowledges wait by the clock). Valgrind knows no VAES and no AVX-512: what is
counted is the AES-NI path, also on processors that have them.

The figures on record (instructions.list) hold for one compiler and one release
of libcrypto. For another there is nothing to compare with: skipped, and
--record adds its figures.

Exit status: 0 within the limit or skipped, 1 not, 2 usage or trouble.
"""
import argparse
import glob
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from tables import markdown, size_of, size_text, write_parts

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "instructions.list")
DOCUMENT = os.path.join(HERE, "..", "..", "docs", "PERFORMANCE.md")
SHM, LIMIT, TIMEOUT_SECONDS = "/dev/shm", 0.05, 600
REGION_BYTES = 18 << 20      # labels and 16 MiB
LARGE_BYTES = 50 << 20       # for the verifier: 32 MiB more
VERIFIED_WRITES = 2048
STREAM = "stream_main"
# block, depth, sync, and how many writes: short and long run
WRITER_CASES = (("4k", 32, "none", 2000, 12000),
                ("4k", 32, "flush:32", 2000, 12000),
                ("64k", 8, "none", 200, 1200),
                ("64k", 8, "flush:32", 200, 1200))
VERIFIER_CASES = ("4k", "64k")


class Trouble(Exception):
    pass


class Skip(Exception):
    pass


def call(*command, allowed=(0,)):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          errors="replace", timeout=TIMEOUT_SECONDS)
    if done.returncode not in allowed:
        raise Trouble("exit status %d from: %s\n%s" % (
            done.returncode, " ".join(command), done.stderr[-800:]))
    return done.stdout


def count(folder, command, allowed=(0,)):
    """[(instructions, text of the profile)], one a thread, main's first."""
    out = os.path.join(folder, "callgrind")
    core = str(max(os.sched_getaffinity(0)))
    call("taskset", "-c", core, "valgrind", "--tool=callgrind",
         "--separate-threads=yes", "--callgrind-out-file=" + out, *command,
         allowed=allowed)
    threads = []
    for path in sorted(glob.glob(out + "-*")):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        os.unlink(path)
        total = re.search(r"^totals: (\d+)", text, re.M)
        if not total:
            raise Trouble("callgrind has told no total: %s" % path)
        threads.append((int(total.group(1)), text))
    if os.path.exists(out):
        os.unlink(out)
    if not threads:
        raise Trouble("callgrind has written nothing")
    return threads


class Rig:
    def __init__(self, programs, folder):
        self.programs, self.folder = os.path.abspath(programs), folder
        self.target = os.path.join(folder, "target")
        self.log = os.path.join(folder, "log")

    def program(self, name):
        return os.path.join(self.programs, "plugpull-" + name)

    def writer(self, size, words):
        """The command; a new log, a region that is overwritten."""
        if os.path.exists(self.log):
            os.unlink(self.log)
        return [self.program("writer"), "--target", self.target, "--erase",
                self.target, "--size", str(size), "--acklog", self.log,
                "--seed", "1", *words]

    def fill(self, size, block):
        if os.path.exists(self.target):
            os.unlink(self.target)
        with open(self.target, "xb") as file:
            file.truncate(size)
        call(*self.writer(size, ["--block-size", block, "--count",
                                 str(VERIFIED_WRITES)]))


def of_streams(threads):
    found = [total for total, text in threads if STREAM in text]
    if not found:
        raise Trouble("no thread of the writer runs %s()" % STREAM)
    return sum(found)


def writer_case(rig, block, depth, sync, short, long):
    totals = []
    for writes in (short, long):
        totals.append(of_streams(count(rig.folder, rig.writer(
            REGION_BYTES, ["--no-fill", "--block-size", block,
                           "--queue-depth", str(depth), "--sync", sync,
                           "--count", str(writes)]))))
    return (totals[1] - totals[0]) / (long - short)


def verifier_case(rig, block):
    totals = []
    for size in (REGION_BYTES, LARGE_BYTES):
        rig.fill(size, block)
        threads = count(rig.folder, [
            rig.program("verifier"), "--target", rig.target, "--acklog",
            rig.log, "--threads", "1"], allowed=(3,))
        totals.append(sum(total for total, _ in threads))
    return (totals[1] - totals[0]) / ((LARGE_BYTES - REGION_BYTES) / 1024)


def measure(rig):
    """{case: instructions}"""
    rig.fill(REGION_BYTES, "4k")
    found = {}
    for case in WRITER_CASES:
        name = "writer:%s:%d:%s" % case[:3]
        found[name] = writer_case(rig, *case)
        print("%-24s %12.1f a write" % (name, found[name]), flush=True)
    for block in VERIFIER_CASES:
        name = "verifier:" + block
        found[name] = verifier_case(rig, block)
        print("%-24s %12.1f a KiB" % (name, found[name]), flush=True)
    return found


# ---- what the figures hold for

def build_name(compiler):
    """gcc-12/openssl-3.0/x86_64"""
    words = compiler.split()
    version = call(*words, "-dumpversion").strip().split(".")[0]
    family = "clang" if "clang" in call(*words, "--version") else "gcc"
    crypto = "%d.%d" % ssl.OPENSSL_VERSION_INFO[:2]
    return "%s-%s/openssl-%s/%s" % (family, version, crypto,
                                    os.uname().machine)


def check_machine(rig):
    if not shutil.which("valgrind"):
        raise Skip("needs valgrind")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(file.read().split())
    for flag in ("aes", "avx2", "sse4_2"):
        if flag not in flags:
            raise Skip("this processor has no %s: it goes another path" % flag)
    with open(rig.program("writer"), "rb") as file:
        if b"__asan_init" in file.read():
            raise Skip("the programs are sanitized")
    with open(rig.target, "xb") as file:
        file.truncate(1 << 20)
    try:
        os.close(os.open(rig.target, os.O_RDWR | os.O_DIRECT))
    except OSError:
        raise Skip("tmpfs has no direct I/O here: Linux 6.6 has") from None


# ---- the record

def read_list(path):
    """{build: {case: figure}}"""
    builds = {}
    if not os.path.exists(path):
        return builds
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) != 3:
                raise Trouble("%s:%d: three words are wanted" % (
                    path, number))
            builds.setdefault(words[0], {})[words[1]] = float(words[2])
    return builds


def write_list(path, builds):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# build, case (writer: block, depth, sync), instructions "
                   "a write or a KiB\n"
                   "# written by tests/bench/instructions.py --record\n")
        for build in sorted(builds):
            for case in sorted(builds[build]):
                file.write("%s %s %.1f\n" % (build, case,
                                             builds[build][case]))


def compare(found, recorded):
    """The lines to tell, and the cases that are off."""
    lines, wrong = [], []
    for case in sorted(set(found) | set(recorded)):
        if case not in found or case not in recorded:
            lines.append("FAILED  %s: %s" % (
                case, "not measured any more" if case in recorded
                else "not on record"))
            wrong.append(case)
            continue
        change = found[case] / recorded[case] - 1
        text = "%s: %.1f, on record %.1f: %+.2f %%" % (
            case, found[case], recorded[case], change * 100)
        if abs(change) <= LIMIT:
            lines.append("ok      " + text)
            continue
        wrong.append(case)
        lines.append("FAILED  %s%s" % (
            text, "" if change > 0 else
            " (better: put it on record with --record)"))
    return lines, wrong


def unit_text(case):
    return "KiB" if case.startswith("verifier") else "write"


def part_text(build, found):
    rows = []
    for case, value in sorted(found.items()):
        program, block, *rest = case.split(":", 3)
        rows.append([program, block, rest[0] if rest else "-",
                     rest[1] if rest else "-", "{:,.0f}".format(value),
                     unit_text(case), "%.2f" % (
                         value / (1024 if unit_text(case) == "KiB"
                                  else size_of(block)))])
    return "Built with %s; regions of %s and %s.\n\n" % (
        build, size_text(REGION_BYTES), size_text(LARGE_BYTES)) + markdown(
            ("program", "block", "depth", "sync", "instructions", "for each",
             "a byte"), rows)


def run(options):
    folder = tempfile.mkdtemp(prefix="plugpull-bench.", dir=SHM)
    try:
        rig = Rig(options.bin, folder)
        check_machine(rig)
        build, builds = build_name(options.cc), read_list(options.list)
        if build not in builds and not options.record:
            raise Skip("nothing is on record for %s; make bench-check "
                       "BENCH=--record adds it" % build)
        found = measure(rig)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if options.write:
        write_parts(DOCUMENT, {"instructions": part_text(build, found)})
    if options.record:
        builds[build] = found
        write_list(options.list, builds)
        print("bench-check: on record for %s" % build)
        return 0
    lines, wrong = compare(found, builds[build])
    print("\n".join(lines))
    print("bench-check: %d within %g %%, %d not" % (
        len(lines) - len(wrong), LIMIT * 100, len(wrong)))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="build")
    parser.add_argument("--cc", default="cc", help="what they were built with")
    parser.add_argument("--list", default=LIST, help="the record")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--write", action="store_true",
                        help="the table into docs/PERFORMANCE.md")
    options = parser.parse_args()
    try:
        return run(options)
    except Skip as reason:
        print("bench-check: skipped: %s" % reason)
        return 0
    except (Trouble, OSError, subprocess.SubprocessError) as trouble:
        print("bench-check: %s" % trouble, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
