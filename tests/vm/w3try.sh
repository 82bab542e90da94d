#!/bin/bash
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/guest.sh"
vm_needs
VM_BOOT_S=60
VM_APPEND="loglevel=7"
for p in $PAIRS; do vm_drive "${p%:*}" "${p#*:}"; done
vm_start
echo up
