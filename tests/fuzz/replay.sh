#!/bin/bash
# SPDX-License-Identifier: MIT
# Every decoder reads its whole corpus again without a fault.
set -eu
bin=${BIN:-build}
for target in "$bin"/tests/fuzz/fuzz_*-replay; do
	name=${target##*/fuzz_}
	"$target" tests/fuzz/corpus/"${name%-replay}"
done
