# SPDX-License-Identifier: MIT
"""A network that fails at a frame of one's choice.

It stands between plugpull-writer and plugpull-collector, counts the frames of
each direction over all connections (those of the ack protocol, or TLS records
around them), and at the nth of one direction does what its fault says:

  end     both ends are closed in order
  reset   both ends are reset (RST over TCP)
  half    half of the frame goes through, then both ends are closed
  deaf    that direction is swallowed from here on, the other one works
  stall   nothing goes through any more, both ends stay open
  slow    64 bytes a second, both ways, for two seconds
  away    as reset, and from now on nobody is there

The next connection is a good one, but for "away". Once the writer has closed
a connection that is deaf or stalled, the collector's end is reset, as its
kernel would find out; with "linger" in the fault's name it never learns of it.
"""
import asyncio
import os
import socket
import struct
import threading

SLOW_STEP_S, SLOW_STEP_BYTES, SLOW_S = 0.25, 16, 2
TO_COLLECTOR, TO_WRITER = "collector", "writer"


class Connection:
    def __init__(self, proxy, ends):
        self.proxy, self.ends = proxy, ends      # name -> (reader, writer)
        self.is_deaf = {TO_COLLECTOR: False, TO_WRITER: False}
        self.slow_until = 0

    def close(self, is_reset=False):
        for _, writer in self.ends.values():
            if is_reset:
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
                writer.transport.abort()
            else:
                writer.close()

    async def pump(self, way):
        """Frames that go to the collector, or to the writer."""
        come_from = TO_WRITER if way == TO_COLLECTOR else TO_COLLECTOR
        reader, to = self.ends[come_from][0], self.ends[way][1]
        try:
            while True:
                frame = await self.proxy.read_frame(reader, way)
                if self.proxy.counts(way):
                    self.fail(way, frame)
                if not self.is_deaf[way]:
                    await self.send(to, frame)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        self.over(way)

    def over(self, way):
        """The end that feeds this direction is gone."""
        if any(self.is_deaf.values()) and way == TO_WRITER:
            return                       # nobody can tell the writer
        if not (any(self.is_deaf.values()) and self.proxy.lingers):
            self.close(any(self.is_deaf.values()))

    async def send(self, to, frame):
        step = len(frame)
        while frame:
            now = asyncio.get_running_loop().time()
            if now < self.slow_until:
                step = SLOW_STEP_BYTES
                await asyncio.sleep(SLOW_STEP_S)
            to.write(frame[:step])
            await to.drain()
            frame = frame[step:]

    def fail(self, way, frame):
        fault = self.proxy.fault
        if fault in ("reset", "away", "end"):
            self.close(fault != "end")
            raise ConnectionResetError
        if fault == "half":
            self.ends[way][1].write(frame[:len(frame) // 2])
            self.close()
            raise ConnectionResetError
        if fault == "slow":
            loop = asyncio.get_running_loop()
            self.slow_until = loop.time() + SLOW_S
        else:
            self.is_deaf[way] = True
            if fault == "stall":
                self.is_deaf = {TO_COLLECTOR: True, TO_WRITER: True}


class Proxy:
    """Runs in a thread of its own, until stop()."""

    def __init__(self, listen, upstream, fault="none", way=TO_COLLECTOR,
                 nth=0):
        self.lingers = fault.endswith("-linger")
        self.listen, self.upstream = listen, upstream
        self.fault, self.way, self.left = fault.split("-")[0], way, nth
        self.failed, self.connections = threading.Event(), 0
        self.open = []                   # the collector's ends
        self.frames = {TO_COLLECTOR: 0, TO_WRITER: 0}
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.ready.wait(10)

    async def read_frame(self, reader, _):
        """One whole frame, whatever speaks here."""
        head = await reader.readexactly(5)
        if head[:4] == b"PPA1":
            head += await reader.readexactly(19)
            length = struct.unpack_from("<I", head, 8)[0]
        else:
            length = int.from_bytes(head[3:], "big")
        return head + await reader.readexactly(length)

    def counts(self, way):
        self.frames[way] += 1
        if way != self.way or self.left == 0:
            return False
        self.left -= 1
        if self.left == 0:
            self.failed.set()
        return self.left == 0

    async def _serve(self, reader, writer):
        if self.fault == "away" and self.failed.is_set():
            writer.transport.abort()
            return
        try:
            if self.upstream.startswith("unix:"):
                ends = await asyncio.open_unix_connection(self.upstream[5:])
            else:
                host, port = self.upstream.rsplit(":", 1)
                ends = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.transport.abort()
            return
        self.connections += 1
        self.open.append(ends[1])
        connection = Connection(self, {TO_COLLECTOR: ends,
                                       TO_WRITER: (reader, writer)})
        try:
            await asyncio.gather(connection.pump(TO_COLLECTOR),
                                 connection.pump(TO_WRITER))
        except asyncio.CancelledError:
            pass                         # stop()

    async def _listen(self):
        if self.listen.startswith("unix:"):
            server = await asyncio.start_unix_server(self._serve,
                                                     self.listen[5:])
        else:
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            self.listen = f"127.0.0.1:{port}"
        self.ready.set()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.create_task(self._listen())
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))

    def drop(self):
        """The collector learns at last that nobody is there."""
        for end in self.open:
            self.loop.call_soon_threadsafe(end.transport.abort)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        if self.listen.startswith("unix:"):
            os.unlink(self.listen[5:])
