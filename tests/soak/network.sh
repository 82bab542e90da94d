#!/bin/bash
# SPDX-License-Identifier: MIT
# P2, P5: the network between writer and collector breaks at the 1st, 2nd ...
# nth frame of each direction until a run meets no break, in every way that
# tests/rig/breaks.py knows, plain and over TLS; and the power goes behind it.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/../rig/riglib.sh"
requires nbdkit

rig_network prompt --faults end,reset,half --count 600
rig_network hasty --faults deaf,stall,away,deaf-linger,stall-linger --hasty
rig_network slow --faults slow --sparse 2
# A writer that waits long enough to find out, and goes on.
rig_network patient --faults deaf,stall --sparse 3
rig_network power --power end,reset,half,away,deaf,stall
