/* SPDX-License-Identifier: MIT */
/*
 * modbus_server - libmodbus' own server with 8 coils, for the tests:
 *
 *   modbus_server tcp              tells its port on stdout
 *   modbus_server rtu TTY UNIT
 *
 * Each request that changes a coil is told on stdout: "coil 3 on".
 */
#include <errno.h>
#include <modbus/modbus.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define COILS 8

static int fail(const char *what)
{
	(void)fprintf(stderr, "modbus_server: %s: %s\n", what,
		      modbus_strerror(errno));
	return 1;
}

/* True as long as the other side is there. */
static int serve_one(modbus_t *modbus, modbus_mapping_t *mapping)
{
	uint8_t request[MODBUS_TCP_MAX_ADU_LENGTH], before[COILS];
	int count = modbus_receive(modbus, request);

	if (count == -1)
		return errno != ECONNRESET && errno != EBADF && errno != EIO;
	if (count == 0)
		return 1; /* another unit's */
	memcpy(before, mapping->tab_bits, COILS);
	(void)modbus_reply(modbus, request, count, mapping);
	for (int i = 0; i < COILS; i++)
		if (before[i] != mapping->tab_bits[i])
			(void)printf("coil %d %s\n", i + 1,
				     mapping->tab_bits[i] ? "on" : "off");
	return fflush(stdout) == 0;
}

static int serve_tcp(modbus_t *modbus, modbus_mapping_t *mapping)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	int listener = modbus_tcp_pi_listen(modbus, 1);

	if (listener == -1 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) == -1)
		return fail("cannot listen");
	(void)printf("port %u\n", ntohs(address.sin_port));
	(void)fflush(stdout);
	while (modbus_tcp_pi_accept(modbus, &listener) != -1) {
		while (serve_one(modbus, mapping))
			continue;
		modbus_close(modbus);
	}
	return fail("cannot accept");
}

int main(int argc, char **argv)
{
	modbus_mapping_t *mapping = modbus_mapping_new(COILS, 0, 0, 0);
	modbus_t *modbus = NULL;

	if (argc == 2 && strcmp(argv[1], "tcp") == 0)
		modbus = modbus_new_tcp_pi("127.0.0.1", "0");
	else if (argc == 4 && strcmp(argv[1], "rtu") == 0)
		modbus = modbus_new_rtu(argv[2], 9600, 'N', 8, 1);
	if (mapping == NULL || modbus == NULL)
		return fail("cannot start");
	if (argc == 2)
		return serve_tcp(modbus, mapping);
	if (modbus_set_slave(modbus, atoi(argv[3])) == -1 ||
	    modbus_connect(modbus) == -1)
		return fail("cannot open the line");
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (serve_one(modbus, mapping))
		continue;
	return fail("the line is gone");
}
