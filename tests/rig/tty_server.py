#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A serial server with a line of its own: tty_server.py LINK makes a pseudo
terminal that LINK leads to, and serves its other side over TCP, one connection
at a time. The port is told on stdout."""

import os
import pty
import select
import socket
import sys
import tty


def bridge(connection, line):
    while True:
        ready, _, _ = select.select([connection, line], [], [])
        if connection in ready:
            data = connection.recv(4096)
            if not data:
                return
            os.write(line, data)
        if line in ready:
            connection.sendall(os.read(line, 4096))


def main():
    line, other = pty.openpty()
    tty.setraw(line)
    os.symlink(os.ttyname(other), sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                bridge(connection, line)
            except ConnectionError:
                pass


if __name__ == "__main__":
    main()
