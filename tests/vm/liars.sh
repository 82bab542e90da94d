#!/bin/bash
# SPDX-License-Identifier: MIT
# Whole-host cuts of drives that lie, on every transport: a FLUSH that is ignored
# is a conviction behind each of them. A drive that ignores FUA alone is acquitted
# wherever a FLUSH is sent in FUA's place, which is what the kernel or QEMU does
# on all of these but NVMe, where nothing is sent at all.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
. "${0%/*}/matrix.sh"
vm_needs

matrix_start --fault ignores-flush
for sync in flush:16 flush:5ms flush:1; do
	matrix_lost "$sync" "${TRANSPORTS[@]}"
done
matrix_lost fua "${TRANSPORTS[@]}"
echo "table: $MATRIX_CUTS cuts of the host's power"
exit 0
