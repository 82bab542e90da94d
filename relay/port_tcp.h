/* SPDX-License-Identifier: MIT */
/*
 * port_tcp - ports over sockets: a board behind a serial server in raw mode
 * (ser2net, Moxa and their like), or a program behind a Unix socket.
 */
#ifndef RELAY_PORT_TCP_H
#define RELAY_PORT_TCP_H

struct err;
struct port;

/* HOST:PORT, [IPv6]:PORT; gives up after a few seconds. */
struct port *port_tcp_open(const char *address, struct err *err);

struct port *port_tcp_open_unix(const char *path, struct err *err);

#endif
