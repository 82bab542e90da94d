#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The power supply of a guest: an LCUS board behind a serial server.

psu.py --dir DIR [--drive JSON]... -- QEMU OPTIONS...

Relay 1 feeds the whole machine: off kills QEMU and cuts all its drives in the
same moment, so that nobody can flush; on gives the drives their power back and
starts QEMU. Relays 2, 3, ... feed one drive each, in the order of --drive: the
machine lives on without it. Relay 1 is off at first, the others are on.

--drive is an object: "control" is the socket of plugpull-simdrive. Where it has
"blockdev" and "device" (as in QEMU's own JSON options) the drive is pulled out of
the living machine as well when its relay goes off, without a word to the guest
before, and plugged in again with the power.

Prints "port N", the board's. DIR gets: pid (of QEMU, while it lives), port (where
the guest's port 7000 is met), console, qmp (QEMU's socket). What goes wrong here
is told on stderr, and the board answers no more.

Order at relay 1: the drives' switches are connected to first; then each is told
to cut, and QEMU is killed before any of them has answered.
"""
import argparse
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

PORT_TRIES = 5
ANSWER_S = 30.0
QMP_S = 20.0
EVENT_S = 10.0
GUEST_PORT = 7000


def say(text):
    print(f"psu: {text}", file=sys.stderr, flush=True)


def ask_drives(drives, word, between=None):
    """Tells WORD to all drives at once, calls BETWEEN, reads their answers."""
    lines = []
    for drive in drives:
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(ANSWER_S)
        line.connect(drive["control"])
        lines.append(line)
    for line in lines:
        line.sendall(word.encode() + b"\n")
    if between:
        between()
    for drive, line in zip(drives, lines):
        with line:
            answer = line.makefile().readline()
        if not answer.startswith("ok"):
            raise OSError(f"{drive['control']}: {word}: {answer!r}")


class Qmp:
    """One conversation with the machine's monitor."""

    def __init__(self, path):
        self.line = socket.socket(socket.AF_UNIX)
        self.line.settimeout(QMP_S)
        self.line.connect(path)
        self.file = self.line.makefile()
        self.file.readline()
        self.ask("qmp_capabilities")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.line.close()

    def ask(self, name, **arguments):
        text = json.dumps({"execute": name, "arguments": arguments})
        self.line.sendall(text.encode() + b"\n")
        while True:
            answer = json.loads(self.file.readline() or '{"error": "gone"}')
            if "error" in answer:
                raise OSError(f"{name}: {answer['error']}")
            if "return" in answer:
                return answer["return"]

    def unplug(self, name):
        """The device, and then its back end, which is in use until then."""
        self.ask("device_del", id=name)
        until = time.monotonic() + EVENT_S
        while True:
            try:
                return self.ask("blockdev-del", **{"node-name": name})
            except OSError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.05)


class Machine:
    """QEMU and its drives, and which of their relays are on."""

    def __init__(self, folder, drives, command):
        self.folder, self.drives, self.command = folder, drives, command
        self.is_on = [False] + [True] * len(drives)
        self.qemu = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def fed(self):
        return [d for d, on in zip(self.drives, self.is_on[1:]) if on]

    def switch(self, relay, is_on):
        if self.is_on[relay] == is_on:
            return
        self.is_on[relay] = is_on
        if relay == 0:
            self.start() if is_on else self.cut()
        elif self.is_on[0]:
            drive = self.drives[relay - 1]
            self.plug_in(drive) if is_on else self.pull_out(drive)
        # A drive without the machine's power has been cut already.

    def cut(self):
        ask_drives(self.fed(), "cut", between=self.kill)

    def kill(self):
        if self.qemu:
            self.qemu.kill()
            self.qemu.wait()
        self.qemu = None
        for name in ("pid", "qmp"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))

    def start(self):
        ask_drives(self.fed(), "restore")
        for _ in range(PORT_TRIES):
            if self.start_qemu():
                return
        raise OSError("QEMU does not start: " +
                      open(self.path("qemu.err"), encoding="utf-8").read())

    def start_qemu(self):
        """A port that was free a moment ago may be taken: False then."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        forward = f"hostfwd=tcp:127.0.0.1:{port}-:{GUEST_PORT}"
        command = [
            # It shall not outlive this process, however that ends.
            "setpriv", "--pdeathsig", "KILL", *self.command,
            "-netdev", f"user,id=net,{forward}",
            "-chardev", f"file,id=console,path={self.path('console')}"
            ",append=on", "-serial", "chardev:console",
            "-qmp", f"unix:{self.path('qmp')},server=on,wait=off"]
        for drive in self.fed():
            if "blockdev" in drive:
                command += ["-blockdev", json.dumps(drive["blockdev"]),
                            "-device", json.dumps(drive["device"])]
        with open(self.path("qemu.err"), "w", encoding="utf-8") as errors:
            self.qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                         stdout=errors, stderr=errors)
        until = time.monotonic() + QMP_S
        while not self.answers():
            if self.qemu.poll() is not None or time.monotonic() > until:
                self.kill()
                return False
            time.sleep(0.02)
        for name, value in (("port", port), ("pid", self.qemu.pid)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(f"{value}\n")
        return True

    def answers(self):
        try:
            with Qmp(self.path("qmp")):
                return True
        except (OSError, ValueError):
            return False

    def pull_out(self, drive):
        ask_drives([drive], "cut")
        if "pull" in drive:
            with Qmp(self.path("qmp")) as qmp:
                qmp.unplug(drive["blockdev"]["node-name"])

    def plug_in(self, drive):
        ask_drives([drive], "restore")
        if "pull" in drive:
            with Qmp(self.path("qmp")) as qmp:
                qmp.ask("blockdev-add", **drive["blockdev"])
                qmp.ask("device_add", **drive["device"])


class Board:
    """The LCUS protocol; one thread switches, in the order of the commands.

    Off is answered for when it has happened. On takes as long as a machine
    takes to get up, and the board's relay is closed before that.
    """

    def __init__(self, machine):
        self.machine = machine
        self.shown = list(machine.is_on)
        self.work = queue.Queue()
        threading.Thread(target=self.switch_forever, daemon=True).start()

    def switch_forever(self):
        while True:
            relay, is_on, done = self.work.get()
            try:
                self.machine.switch(relay, is_on)
                done.set()
            except (OSError, ValueError) as error:
                say(error)
                os.kill(os.getpid(), signal.SIGTERM)

    def command(self, channel, state):
        if not 1 <= channel <= len(self.shown):
            return
        done = threading.Event()
        self.work.put((channel - 1, state == 1, done))
        if state != 1:
            done.wait()
        self.shown[channel - 1] = state == 1

    def status(self):
        return "".join(f"CH{i}: {'ON' if on else 'OFF'}\r\n"
                       for i, on in enumerate(self.shown, 1)).encode()

    def serve(self, client):
        with client:
            while byte := client.recv(1):
                if byte == b"\xff":
                    client.sendall(self.status())
                elif byte == b"\xa0":
                    rest = client.recv(3, socket.MSG_WAITALL)
                    total = 0xa0 + sum(rest[:2]) & 0xff
                    if len(rest) == 3 and rest[2] == total and rest[1] < 2:
                        self.command(*rest[:2])

    def serve_quietly(self, client):
        try:
            self.serve(client)
        except OSError:
            pass                         # nobody waits for the answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--drive", action="append", default=[],
                        type=json.loads)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    machine = Machine(options.dir, options.drive, options.command)
    board = Board(machine)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            print("port", server.getsockname()[1], flush=True)
            while True:
                client, _ = server.accept()
                threading.Thread(target=board.serve_quietly, args=(client,),
                                 daemon=True).start()
    finally:
        machine.kill()


main()
