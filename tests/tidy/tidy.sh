#!/bin/bash
# SPDX-License-Identifier: MIT
# tidy - the conventions that a machine can check. Prints one line per finding,
# as file:line: what, and fails if there is any.
set -u
cd "${0%/*}/../.." || exit 2
found=0
checks=0

say() {
	echo "$*"
	found=$((found + 1))
}

sources() {
	git ls-files --cached --others --exclude-standard -- "$@"
}

# The folders that FILE may include: the longest entry of layers that fits.
allowed_for() {
	awk -v file="$1" '!/^#/ && index(file, $1) == 1 && length($1) > best {
		best = length($1); $1 = ""; line = $0 } END { print line }' \
		tests/tidy/layers
}

check_includes() { # rule 9: directions
	local file=$1 line target folder ok
	while IFS=: read -r line target; do
		target=${target#*\"}
		ok=no
		for folder in $(allowed_for "$file"); do
			[[ $target == "$folder"/* ]] && ok=yes
		done
		[[ $ok == yes ]] || say "$file:$line: may not include $target"
	done < <(grep -no '^#include "[^"]*' "$file")
}

check_lengths() { # rule 3
	local line length total
	while read -r line length; do
		say "$1:$line: function of $length lines, at most 60"
	done < <(awk '/^{/ { start = NR } /^}/ && start {
		if (NR - start - 1 > 60) print start, NR - start - 1
		start = 0 }' "$1")
	total=$(wc -l <"$1")
	((total <= 500)) || say "$1: $total lines, at most 500"
}

check_head() { # rule 26, and one licence line
	[[ $(head -n 1 "$1") == "/* SPDX-License-Identifier: MIT */" ]] ||
		say "$1:1: no SPDX line"
	if [[ $1 == *.c && $1 != */main.c && $1 != tests/* &&
		$1 != plugpull.c && $1 != common/target/target_*.c ]]; then
		# A driver, an engine or a table explains itself on top.
		[[ -f ${1%.c}.h || $(sed -n 2p "$1") == "/*" ]] ||
			say "$1: neither a header of its own nor a head comment"
	fi
}

check_printing() { # rule 17
	case $1 in
	*main.c | *report.c | *summary.c | *progress.c | plugpull.c | tests/*) return ;;
	esac
	local line
	while IFS=: read -r line _; do
		say "$1:$line: prints; only main, report, summary and progress do"
	done < <(grep -nE '\b(v?printf|puts|putchar|perror)\(|fprintf\((stdout|stderr)' "$1")
}

check_words() { # rule 20, rule 27, loose ends
	local line
	while IFS=: read -r line _; do
		say "$1:$line: NDEBUG, TODO, FIXME, XXX or clang-format off"
	done < <(grep -nE 'NDEBUG|\b(TODO|FIXME|XXX)\b|clang-format (off|on)' "$1" |
		grep -v '#error')
}

# Rule 27: every promise has code that cites it and a test named after it.
check_promises() {
	local number
	for number in $(grep -oE '^## P[0-9]+' docs/PROMISES.md | tr -d '# '); do
		grep -rqE "\b$number\b" --include='*.[ch]' writer verifier common \
			collector campaign relay ||
			say "docs/PROMISES.md: no code cites $number"
		grep -rqiE "\b${number}_[a-z]" tests/unit ||
			say "docs/PROMISES.md: no unit test is named ${number,,}_..."
	done
	checks=$((checks + 1))
}

# Closed lists agree with their documents.
check_lists() {
	local word
	for word in $(sed -n 's/^FAULT([A-Z0-9_]*, *"\([^"]*\)".*/\1/p' \
		simdrive/faults.def); do
		grep -q -- "$word" docs/man/plugpull-simdrive.1 ||
			say "plugpull-simdrive.1: fault $word is not there"
		grep -q -- "$word" docs/TESTING.md ||
			say "docs/TESTING.md: fault $word is not in the table"
	done
	for word in $(sed -n 's/^RELAY_DRIVER(\([a-z0-9_]*\))/\1/p' \
		relay/drivers.def); do
		grep -q -- "${word//_/-}" docs/RELAYS.md ||
			say "docs/RELAYS.md: driver $word is not there"
	done
	for word in $(sed -n 's/^VERDICT([A-Z_]*, *"\([^"]*\)".*/\1/p' \
		verifier/verdicts.def); do
		grep -qE "^##+ .*$word" docs/VERDICTS.md ||
			say "docs/VERDICTS.md: no section for $word"
	done
	checks=$((checks + 1))
}

# Every option of a program is in its man page.
check_manuals() {
	local page name option
	for page in docs/man/*.1; do
		mandoc -Tlint -W warning "$page" >/dev/null ||
			say "$page: $(mandoc -Tlint -W warning "$page" | head -n 1)"
	done
	for name in writer collector verifier relay campaign simdrive agent; do
		[[ -f docs/man/plugpull-$name.1 ]] ||
			say "docs/man/plugpull-$name.1 is missing"
		for option in $(sed -n 's/^[[:space:]]*{"\([a-z][a-z-]*\)".*/\1/p
			s/^[[:space:]]*{\.name = "\([a-z-]*\)".*/\1/p
			s/^[[:space:]]*\.name = "\([a-z-]*\)",.*/\1/p' \
			"$name"/main.c "$name"/*options.c 2>/dev/null); do
			grep -qE "Fl -$option|--$option" \
				"docs/man/plugpull-$name.1" ||
				say "plugpull-$name.1: --$option is not there"
		done
	done
	checks=$((checks + 1))
}

check_format() {
	local file
	while read -r file; do
		say "$file: clang-format would change it"
	done < <(sources '*.c' '*.h' | while read -r file; do
		clang-format-14 "$file" | cmp -s - "$file" || echo "$file"
	done)
	checks=$((checks + 1))
}

check_mutants() { # they fit the tree
	local line
	while read -r line; do
		say "$line"
	done < <(tests/mutants/texts.py)
	checks=$((checks + 1))
}

for file in $(sources '*.c' '*.h'); do
	[[ -f $file ]] || continue
	case $file in tests/*) ;; *) check_includes "$file" ;; esac
	check_lengths "$file"
	check_head "$file"
	check_printing "$file"
	check_words "$file"
	checks=$((checks + 5))
done
check_promises
check_lists
check_manuals
check_format
check_mutants
((found == 0)) && echo "tidy: $checks passed, 0 failed" && exit 0
echo "tidy: $((checks - found)) passed, $found failed"
exit 1
