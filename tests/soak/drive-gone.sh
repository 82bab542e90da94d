#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: the simulated drive is killed, loses its supervisor or its power at the
# 1st, 2nd ... nth request of the writer (connecting, claiming, filling,
# labelling, writing, flushing) and of the verifier (opening, scanning, reading
# again what was found), until a run ends before.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/../rig/riglib.sh"

rig_gone
