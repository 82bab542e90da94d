#!/bin/bash
# SPDX-License-Identifier: MIT
# The whole conviction table through the real programs: every fault, every sync
# mode, queue depths 1 and 32, five seeds. Prints a line for each row.
. "${0%/*}/../e2e/lib.sh"

cuts=0
while read -r name _; do
	for sync in flush:1 flush:16 flush:5ms fua none; do
		for depth in 1 32; do
			for seed in 1 2 3 4 5; do
				convict "$name" $sync $depth $seed
				cuts=$((cuts + 1))
			done
			echo "table: $name $sync depth $depth:" \
				"$(broken_classes | sed 's/^$/kept/') x5"
		done
	done
done < <(faults)
echo "table: $cuts cuts, each verdict as faults.def demands"
