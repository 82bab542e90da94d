#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: a collector that is killed with SIGKILL COUNT times (1000) has kept
# everything that it confirmed, to clients that do nothing but acknowledge and
# to real writers, over unix sockets and over TLS on TCP; also where its host
# dies with it and what was not synced is lost, or half of it.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/../rig/riglib.sh"
count=${COUNT:-1000}
seed=${SEED:-1}

rig_kills $((count / 4)) "$seed" unix 2 1
rig_kills $((count / 4)) $((seed + 1)) tls 2 2
rig_kills $((count / 4)) $((seed + 2)) unix 4 3
rig_kills $((count - count / 4 * 3)) $((seed + 3)) tls 3 4
