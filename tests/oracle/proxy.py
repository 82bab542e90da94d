# SPDX-License-Identifier: MIT
"""A bad network between writer and collector: a proxy from one Unix socket to
another that delays, stalls, tears, swallows or ends what passes through it.

What it is to do is one word, times in milliseconds from begin():

  none            nothing
  slow:MS         each piece arrives MS later
  stall:AT:FOR    from AT on nothing arrives for so long
  reset:EVERY:N   every so often, N times, all connections end, in the middle
                  of a piece; new ones are served
  die:AT          from AT on there is nobody at the other end any more
  hole:AT         from AT on nothing arrives, and nobody says so
  deaf:AT         from AT on no answer of the collector arrives
"""
import os
import random
import selectors
import socket
import threading
import time

PIECE = 65536
TICK = 0.005


class Link:
    """One direction of one connection."""

    def __init__(self, source, sink, is_answer):
        self.source, self.sink, self.is_answer = source, sink, is_answer
        self.waiting = []        # (when it may pass, bytes)

    def take(self, at):
        data = self.source.recv(PIECE)
        if data:
            self.waiting.append((at, data))
        return bool(data)

    def pass_on(self, now):
        while self.waiting and self.waiting[0][0] <= now:
            self.sink.sendall(self.waiting.pop(0)[1])

    def tear(self, chance):
        """Half a piece still passes when the connection ends."""
        if self.waiting:
            data = self.waiting[0][1]
            self.sink.sendall(data[:chance.randrange(len(data) + 1)])


class Proxy(threading.Thread):
    def __init__(self, path, upstream, seed):
        super().__init__(daemon=True)
        self.path, self.upstream = path, upstream
        self.chance = random.Random(seed)
        self.lock = threading.Lock()
        self.begin("none")
        self.is_over = False
        self.links = []          # pairs
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.start()

    def begin(self, word):
        kind, *numbers = word.split(":")
        with self.lock:
            self.kind, self.numbers = kind, [int(n) / 1000 for n in numbers]
            self.since, self.resets = time.monotonic(), 0

    def close(self):
        self.is_over = True
        self.join()

    def _due(self):
        return time.monotonic() - self.since >= self.numbers[0]

    def _is_held(self, link):
        if self.kind == "stall":
            late = time.monotonic() - self.since - self.numbers[0]
            return 0 <= late < self.numbers[1]
        return self.kind == "hole" and self._due() or \
            self.kind == "deaf" and link.is_answer and self._due()

    def _accept(self):
        inner, _ = self.listener.accept()
        outer = socket.socket(socket.AF_UNIX)
        try:
            if self.kind == "die" and self._due():
                raise ConnectionRefusedError
            outer.connect(self.upstream)
        except OSError:
            inner.close()
            return outer.close()
        pair = [Link(inner, outer, False), Link(outer, inner, True)]
        self.links.append(pair)
        for link in pair:
            self.selector.register(link.source, selectors.EVENT_READ,
                                   (pair, link))

    def _end(self, pair, torn=False):
        if pair not in self.links:
            return
        self.links.remove(pair)
        for link in pair:
            try:
                if torn:
                    link.tear(self.chance)
            except OSError:
                pass
        for link in pair:
            self.selector.unregister(link.source)
            link.source.close()

    def _misbehave(self):
        if self.kind == "die" and self._due():
            for pair in list(self.links):
                self._end(pair)
        if self.kind == "reset":
            every, times = self.numbers[0], self.numbers[1] * 1000
            if self.resets < times and time.monotonic() - self.since \
                    >= every * (self.resets + 1):
                self.resets += 1
                for pair in list(self.links):
                    self._end(pair, True)

    def _move(self, pair, link, may_read):
        try:
            delay = self.numbers[0] if self.kind == "slow" else 0
            now = time.monotonic()
            if may_read and not link.take(now + delay):
                link.pass_on(now + 60)   # an end comes behind all else
                return self._end(pair)
            if not self._is_held(link):
                link.pass_on(time.monotonic())
        except OSError:
            self._end(pair)

    def run(self):
        while not self.is_over:
            ready = self.selector.select(TICK)
            with self.lock:
                for key, _ in ready:
                    if key.data is None:
                        self._accept()
                    elif key.data[0] in self.links:
                        self._move(*key.data, True)
                for pair in list(self.links):
                    for link in pair:
                        if pair in self.links and link.waiting:
                            self._move(pair, link, False)
                self._misbehave()
        for pair in list(self.links):
            self._end(pair)
        self.listener.close()
        self.selector.close()
        os.unlink(self.path)
