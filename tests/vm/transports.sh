#!/bin/bash
# SPDX-License-Identifier: MIT
# Whole-host cuts of an honest drive on every transport: a writer in the guest on
# each of six drives at once, acknowledgements over TLS to the host, the power of
# all cut through the relay; the guest boots, and verifies what it is sent of the
# log. All promises are kept, and what was not flushed is gone, with flushes, in
# the control arm and with FUA. Only QEMU's NVMe with FUA is convicted, and
# rightly: it says that it has FUA, and drops the bit.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
. "${0%/*}/matrix.sh"
vm_needs

matrix_start
for sync in flush:16 none flush:5ms flush:1; do
	matrix_kept "$sync" "${TRANSPORTS[@]}"
done
matrix_kept fua sata scsi virtio usb uas
matrix_lost fua nvme
echo "table: $MATRIX_CUTS cuts of the host's power"
exit 0
