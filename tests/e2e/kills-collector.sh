#!/bin/bash
# SPDX-License-Identifier: MIT
# P2: a sample of tests/soak/collector-kills.sh. The collector is killed with
# SIGKILL at random moments, and what was not synced is lost with its host;
# nothing that a client held as confirmed is missing, and each torn tail is cut
# off and said, to the byte.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"

rig_kills 8 "${SEED:-1}" unix 2 1
rig_kills 8 "${SEED:-2}" tls 2 1
