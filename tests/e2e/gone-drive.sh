#!/bin/bash
# SPDX-License-Identifier: MIT
# P9: a sample of tests/soak/drive-gone.sh. The simulated drive is killed, loses
# its supervisor or its power at a request of the writer or of the verifier,
# from the greeting to the last one. Both end soon and say why, nobody is
# accused, and all goes on when the drive is back.
. "${0%/*}/lib.sh"
. "${0%/*}/../rig/riglib.sh"

rig_gone --by-turns --sparse 3
