#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An LCUS board with one relay behind a serial server, with bad manners.

board.py COMMAND MANNER start|off: "COMMAND off" and "COMMAND on" are what its
relay does. Its good manner is to switch and to answer FF with "CH1: ON" or
"CH1: OFF". From the start, or whenever it has been told to switch off and until
it is told to switch on, it is MANNER instead:

  good      nothing changes
  silent    takes everything, does nothing, answers nothing
  deaf      switches, and answers nothing
  half      switches, and answers with half a line
  garbage   switches, and answers with noise
  late      switches and answers a second late
  welded    says that it has switched, and has not

Prints its port first.
"""
import shlex
import socket
import subprocess
import sys
import time

LATE_S = 1.0


class Board:
    def __init__(self, command, manner, since):
        self.command, self.since = shlex.split(command), since
        self.bad_manner, self.is_on = manner, True
        self.manner = manner if since == "start" else "good"

    def switch(self, is_on):
        if self.since == "off":
            self.manner = "good" if is_on else self.bad_manner
        manner = self.manner
        if manner == "late":
            time.sleep(LATE_S)
        if manner != "silent":
            self.is_on = is_on
        if manner not in ("silent", "welded"):
            subprocess.run(self.command + ["on" if is_on else "off"],
                           check=True, stdout=subprocess.DEVNULL)

    def answer(self):
        line = b"CH1: ON\r\n" if self.is_on else b"CH1: OFF\r\n"
        if self.manner == "late":
            time.sleep(LATE_S)
        return {"silent": b"", "deaf": b"", "half": line[:6],
                "garbage": bytes(range(0x80, 0x90)) * 3}.get(self.manner, line)

    def serve(self, client):
        while byte := client.recv(1):
            if byte == b"\xff":
                client.sendall(self.answer())
            elif byte == b"\xa0":
                rest = client.recv(3, socket.MSG_WAITALL)
                self.switch(rest[1:2] == b"\x01")


def main():
    board = Board(sys.argv[1], *sys.argv[2:])
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            client, _ = server.accept()
            with client:
                try:
                    board.serve(client)
                except OSError:
                    pass                 # nobody waits for a late answer


main()
