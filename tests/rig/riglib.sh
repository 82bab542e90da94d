# SPDX-License-Identifier: MIT
# riglib - what the tests that break the rig share, sourced after
# ../e2e/lib.sh: small C helpers, compiled where they are needed.
# shellcheck shell=bash
export PYTHONDONTWRITEBYTECODE=1
RIG=$(cd "${BASH_SOURCE[0]%/*}" && pwd)

# rig_compile NAME [OPTIONS]: $TMP/NAME from tests/rig/NAME.c, with the
# sanitizers of the library that it links.
rig_compile() {
	local name=$1 symbols flags=(-std=c17 -D_GNU_SOURCE -O1 -g -pthread)
	shift

	symbols=$(nm "$BIN/libcommon.a" 2>/dev/null)
	[[ $symbols != *__asan_* ]] || flags+=(-fsanitize=address)
	[[ $symbols != *__ubsan_* ]] || flags+=(-fsanitize=undefined)
	"${CC:-cc}" "${flags[@]}" -Wall -Wextra -I"$RIG/../.." \
		"$RIG/$name.c" "$@" -o "$TMP/$name" >"$TMP/out" 2>&1 ||
		fail "cannot compile $name.c"
}

# rig_preload NAME: compiles $TMP/NAME, to be loaded in front of a program.
# A sanitizer's run-time wants to be first, and is not asked.
rig_preload() {
	"${CC:-cc}" -std=c17 -D_GNU_SOURCE -O1 -fPIC -shared -Wall -Wextra \
		"$RIG/$1.c" -o "$TMP/$1" >"$TMP/out" 2>&1 ||
		fail "cannot compile $1.c"
	export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
}

# rig_kills COUNT SEED TRANSPORT CLIENTS WRITERS: tests/rig/kills.py, and its
# summary as a line of the table.
rig_kills() {
	requires python3 nm
	[[ -x $TMP/ackstream ]] ||
		rig_compile ackstream "$BIN/libcommon.a" -lssl -lcrypto
	[[ -e $TMP/synced ]] || rig_preload synced
	timeout -k 20 3600 python3 "$RIG/kills.py" --bin "$BIN" --count "$1" \
		--seed "$2" --transport "$3" --clients "$4" --writers "$5" \
		--client "$TMP/ackstream" --preload "$TMP/synced" \
		--dir "$TMP/kills.$3.$2" >"$TMP/out" 2>"$TMP/err" ||
		fail "kills.py, seed $2"
	echo "table: $(cat "$TMP/out")"
}

# rig_network NAME OPTIONS...: tests/rig/network.py, its summary as lines of the
# table.
rig_network() {
	local name=$1
	shift

	requires python3
	mkdir "$TMP/$name"
	timeout -k 20 7200 python3 "$RIG/network.py" --bin "$BIN" \
		--dir "$TMP/$name" "$@" >"$TMP/out" 2>"$TMP/err" ||
		fail "network.py $*"
	sed 's/^/table: /' "$TMP/out"
}

# rig_gone OPTIONS...: tests/rig/gone.py, its summary as lines of the table.
rig_gone() {
	requires python3 nbdkit
	mkdir "$TMP/gone"
	timeout -k 20 7200 python3 "$RIG/gone.py" --bin "$BIN" \
		--dir "$TMP/gone" "$@" >"$TMP/out" 2>"$TMP/err" ||
		fail "gone.py $*"
	sed 's/^/table: /' "$TMP/out"
}
