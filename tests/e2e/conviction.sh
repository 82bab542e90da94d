#!/bin/bash
# SPDX-License-Identifier: MIT
# Every fault of the simulated drive earns its own verdict through the real
# programs, and the honest and the protected drive are acquitted. One line a
# fault here; tests/soak/conviction.sh has the whole table.
. "${0%/*}/lib.sh"

while read -r name _ flush fua _; do
	sync=flush:16
	[[ $flush == INTACT && $fua != INTACT ]] && sync=fua
	convict "$name" "$sync" 32 7
	echo "table: $name $sync depth 32: $(broken_classes | sed 's/^$/kept/')"
done < <(faults)
