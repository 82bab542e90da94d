#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Relay boards behind serial servers, with manners good and bad.

boards.py [--journals DIR] [--seed N] NAME[,KEY=VALUE...][/MANNER]...

Each board listens on a loopback port of its own; for each a line "PORT WORD" is
printed, WORD as it was given. A board writes its journal, DIR/PORT: a line
"CHANNEL on" or "CHANNEL off" whenever a contact moves, which is the truth that
no answer can change, and "CHANNEL off for SECONDS" in front where its own clock
will move it back. "boards.py --list" prints the names. It ends when it is told
to, by a signal. The key start=on has all relays on from the start.

A manner is what becomes of the answers:

  good      as documented
  silent    switches, and answers nothing
  dead      takes everything, does nothing, answers nothing
  half      the first half of each answer
  badsum    each answer with its last byte changed (boards with a checksum)
  echo      the line sends back what it is sent, in front of the answer
  loop      the line sends back what it is sent, and there is no board
  stale     in front of each answer comes the one that it would have given
            if its contacts were the other way
  split     each answer in bytes, with pauses
  hangup    hangs up instead of answering
  garbage   noise instead of each answer
  stuck     answers the truth, and its contacts do not move

A board is a class with @board("NAME"): see Board. Every boards_*.py beside this
file is loaded, and brings its own.
"""
import argparse
import importlib.util
import pathlib
import random
import signal
import socket
import sys
import threading
import time

MANNERS = ("good", "silent", "dead", "half", "badsum", "echo", "loop", "stale",
           "split", "hangup", "garbage", "stuck")
PAUSE_S = 0.01
REGISTRY = {}


def board(name):
    def register(kind):
        REGISTRY[name] = kind
        return kind
    return register


class Board:
    """One board. A kind overrides eat(), and says what it is made of.

    eat(): takes whole commands from the front of self.input, a bytearray, with
    take(), calls switch(), and yields the answer to each (b"" for none) as it
    goes; returns when what is left is no whole command.
    """
    relays = 8
    first = 1            # the number of its first relay
    has_sum = False
    start = "off"
    is_rehearsal = False

    def __init__(self, journal, **keys):
        for key, value in keys.items():
            setattr(self, key, int(value) if value.isdigit() else value)
        self.journal, self.lock = journal, threading.RLock()
        self.input, self.is_stuck = bytearray(), False
        self.states = dict.fromkeys(range(self.first,
                                          self.first + self.relays),
                                    self.start == "on")

    def eat(self):
        raise NotImplementedError

    def connected(self):
        """Somebody has come: what a connection begins with is forgotten."""
        self.input.clear()

    def take(self, count):
        taken = bytes(self.input[:count])
        del self.input[:count]
        return taken

    def switch(self, channel, is_on):
        with self.lock:
            if self.is_stuck or channel not in self.states:
                return
            if self.states[channel] != is_on:
                self.states[channel] = is_on
                self.journal(f"{channel} {'on' if is_on else 'off'}")

    def switch_for(self, channel, is_on, seconds):
        if self.is_stuck or self.is_rehearsal:
            return
        self.journal(f"{channel} {'on' if is_on else 'off'} for {seconds:g}")
        self.switch(channel, is_on)
        timer = threading.Timer(seconds, self.switch, (channel, not is_on))
        timer.daemon = True
        timer.start()

    def opposite(self):
        """What it would answer, were each relay in its other state, to the
        same bytes; its contacts stay as they are."""
        kept, rest, journal = dict(self.states), bytes(self.input), self.journal
        self.journal, self.is_rehearsal = lambda line: None, True
        self.states = {key: not value for key, value in kept.items()}
        answer = b"".join(self.eat())
        self.states, self.journal, self.is_rehearsal = kept, journal, False
        self.input[:] = rest
        return answer


class Line:
    """What lies between a board and its user, and has the manner."""

    def __init__(self, kind, manner, seed, journal, keys):
        self.board, self.manner = kind(journal, **keys), manner
        self.random = random.Random(seed)
        self.board.is_stuck = manner in ("stuck", "dead", "loop")
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def spoil(self, answer):
        if self.manner in ("silent", "dead", "loop"):
            return b""
        if self.manner == "half":
            return answer[:len(answer) // 2]
        if self.manner == "badsum":
            return answer[:-1] + bytes([answer[-1] ^ 0x5a])
        if self.manner == "garbage":
            return self.random.randbytes(self.random.randrange(9, 60))
        return answer

    def tell(self, client, answer):
        if not answer:
            return True
        if self.manner == "hangup":
            return False
        answer = self.spoil(answer)
        if self.manner != "split":
            client.sendall(answer)
            return True
        for byte in answer:
            client.sendall(bytes([byte]))
            time.sleep(PAUSE_S)
        return True

    def serve(self, client):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.board.connected()
        while taken := client.recv(256):
            with self.board.lock:
                if self.manner in ("echo", "loop"):
                    client.sendall(taken)
                self.board.input += taken
                if self.manner == "stale":
                    client.sendall(self.board.opposite())
                for answer in self.board.eat():
                    if not self.tell(client, answer):
                        return

    def run(self):
        while True:
            client, _ = self.server.accept()
            with client:
                try:
                    self.serve(client)
                except OSError:
                    pass                       # nobody waits for this answer


# ---- boards ----

@board("lcus")
class Lcus(Board):
    def eat(self):
        while self.input:
            if self.input[0] == 0xff:
                self.take(1)
                yield b"".join(b"CH%d: %s\r\n" % (n, b"ON" if on else b"OFF")
                               for n, on in self.states.items())
            elif self.input[0] != 0xa0:
                self.take(1)
            elif len(self.input) < 4:
                return
            else:
                _, channel, state, total = self.take(4)
                if (0xa0 + channel + state) % 256 == total:
                    self.switch(channel, state != 0)
                yield b""


@board("lcus-ext")
class LcusExt(Board):
    has_sum = True

    def eat(self):
        while self.input:
            if self.input[0] != 0xa0:
                self.take(1)
                continue
            if len(self.input) < 4:
                return
            _, channel, order, total = self.take(4)
            if (0xa0 + channel + order) % 256 != total:
                continue
            if order in (2, 3):
                self.switch(channel, order == 3)
            if order in (2, 3, 5) and channel in self.states:
                state = self.states[channel]
                yield bytes([0xa0, channel, state, 0xa0 + channel + state])
            else:
                yield b""


@board("kmtronic")
class Kmtronic(Board):
    def eat(self):
        while len(self.input) >= 3:
            if self.input[0] != 0xff:
                self.take(1)
                continue
            _, channel, state = self.take(3)
            if channel == 9 and self.relays > 2:
                yield bytes(self.states.values())
            elif state == 3 and channel in self.states and self.relays <= 2:
                yield bytes([0xff, channel, self.states[channel]])
            else:
                self.switch(channel, state != 0)
                yield b""


@board("numato")
class Numato(Board):
    relays, first, token = 16, 0, "upper"

    def number_of(self, word):
        if self.token == "decimal":
            return int(word) if word.isdigit() and len(word) == 2 else None
        return int(word, 36) if len(word) == 1 and word.isalnum() else None

    def answer(self, line):
        words = line.split()
        if len(words) != 3 or words[0] != "relay":
            return ""
        channel = self.number_of(words[2])
        if channel not in self.states:
            return "out of range\n\r"
        if words[1] == "read":
            return "on\n\r" if self.states[channel] else "off\n\r"
        if words[1] in ("on", "off"):
            self.switch(channel, words[1] == "on")
            return ""
        return "what?\n\r"

    def eat(self):
        while b"\r" in self.input:
            line = self.take(self.input.index(b"\r"))
            self.take(1)
            yield line + b"\n\r" + self.answer(line.decode("latin-1")).encode() \
                + b">"


@board("devantech")
class Devantech(Board):
    model = 9
    timed = "no"

    def eat(self):
        while self.input:
            if self.input[0] == 0x5e and self.timed == "yes":
                if len(self.input) < 4:
                    return
                _, channel, high, low = self.take(4)
                self.switch_for(channel, True, (high << 8 | low) / 100)
                yield b""
                continue
            code = self.take(1)[0]
            if code == 0x5a:
                yield bytes([self.model, 5])
            elif code == 0x5b:
                yield bytes([sum(on << n - 1 for n, on in self.states.items())])
            elif 0x64 <= code <= 0x6c or 0x6e <= code <= 0x76:
                for channel in self.states:
                    if code in (0x64, 0x6e, 0x64 + channel, 0x6e + channel):
                        self.switch(channel, code <= 0x6c)
                yield b""


@board("devantech-eth")
class DevantechEth(Board):
    # The firmware takes what one packet brings for one command.
    password, is_open = "", False
    MODELS = {2: (18, 1), 8: (19, 1), 20: (21, 3)}

    def connected(self):
        super().connected()
        self.is_open = not self.password

    def order(self, channel, is_on, time_100ms):
        if not self.is_open or channel not in self.states:
            return b"\x01"
        if time_100ms:
            self.switch_for(channel, is_on, time_100ms / 10)
        else:
            self.switch(channel, is_on)
        return b"\x00"

    def eat(self):
        command = self.take(len(self.input))
        code, size = self.MODELS[self.relays]
        if command == b"\x10":
            yield bytes([code, 1, 7])
        elif command == b"\x24":
            mask = sum(on << n - 1 for n, on in self.states.items())
            yield mask.to_bytes(size, "little")
        elif command[:1] == b"\x79":
            self.is_open = command[1:].decode() == self.password
            yield b"\x01" if self.is_open else b"\x02"
        elif len(command) == 3 and command[0] in (0x20, 0x21):
            yield self.order(command[1], command[0] == 0x20, command[2])


@board("denkovi16")
class Denkovi16(Board):
    relays = 16

    def eat(self):
        while b"//" in self.input:
            command = self.take(self.input.index(b"//") + 2)
            if command == b"ask//":
                mask = sum(on << 16 - n for n, on in self.states.items())
                yield mask.to_bytes(2, "big")
            elif len(command) == 5 and command[:2].isdigit() \
                    and command[2:3] in (b"+", b"-"):
                self.switch(int(command[:2]), command[2:3] == b"+")
                yield command


@board("hw667")
class Hw667(Board):
    relays = 1

    def eat(self):
        for code in self.take(len(self.input)):
            if code in (0xaa, 0xbb):
                self.switch(1, code == 0xaa)
            if code == 0xcc:
                self.switch_for(1, True, 1)
            yield b""


@board("words")
class Words(Board):
    """Home-made firmware, for the custom driver: a line of words each."""
    relays = 1

    def eat(self):
        while b"\n" in self.input:
            line = self.take(self.input.index(b"\n") + 1).strip()
            if line in (b"pump on", b"pump off"):
                self.switch(1, line == b"pump on")
                yield b"done\r\n"
            elif line == b"pump?":
                yield b"pump=%d\r\n" % self.states[1]


# ---- the programme ----

def load_neighbours():
    sys.modules["boards"] = sys.modules[__name__]
    for path in sorted(pathlib.Path(__file__).parent.glob("boards_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def start(word, options):
    name, _, manner = word.partition("/")
    name, *pairs = name.split(",")
    manner = manner or "good"
    kind = REGISTRY.get(name)
    if kind is None or manner not in MANNERS:
        sys.exit(f"boards: no such board or manner: {word}")
    if manner == "badsum" and not kind.has_sum:
        sys.exit(f"boards: {name} has no checksum")
    line = None

    def journal(text):
        if options.journals:
            with open(f"{options.journals}/{line.port}", "a",
                      encoding="ascii") as to:
                to.write(text + "\n")

    line = Line(kind, manner, options.seed, journal,
                dict(pair.split("=", 1) for pair in pairs))
    threading.Thread(target=line.run, daemon=True).start()
    print(line.port, word, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--journals")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    load_neighbours()
    if options.list:
        print("\n".join(sorted(REGISTRY)))
        return
    for word in options.words:
        start(word, options)
    signal.pause()


if __name__ == "__main__":
    main()
