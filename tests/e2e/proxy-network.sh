#!/bin/bash
# SPDX-License-Identifier: MIT
# P2, P5: a sample of tests/soak/network.sh. The network between writer and
# collector breaks at a frame in either direction, in order, by a reset, in the
# middle of the frame, silently or for ever. Nothing confirmed is missing,
# nothing is told twice, the writer goes on or ends with a sentence, and behind
# a break the honest drive is acquitted and the liars are convicted.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"
requires nbdkit

rig_network prompt --faults end,reset,half --sparse 5
rig_network silent --faults away,stall --hasty --most 7 --sparse 5
rig_network power --power reset
