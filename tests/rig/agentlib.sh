# SPDX-License-Identifier: MIT
# agentlib - an agent whose writer and verifier are scripts of the test; behind
# tests/e2e/lib.sh. What a script is asked to do is its first argument.
# shellcheck shell=bash
PROGRAMS=$TMP/programs
PLACE=unix:$TMP/agent.sock
mkdir -p "$PROGRAMS"

cat >"$PROGRAMS/plugpull-writer" <<SCRIPT
#!/bin/bash
echo \$\$ >"$TMP/child.pid"
case \$1 in
status) exit "\$2" ;;
signal) kill -"\$2" \$\$ ;;
big) head -c "\$2" /dev/zero | tr '\\0' x ;;
echo) cat ;;
write) echo begun; exec dd if=/dev/zero of="\$2" count=1 status=none ;;
words) printf '%s\\n' "\$@"; echo to stderr >&2 ;;
wait) echo begun; trap 'echo ended; exit 5' TERM
	while :; do sleep 0.05; done ;;
stay) echo begun; trap '' TERM; while :; do sleep 0.05; done ;;
esac
SCRIPT
chmod +x "$PROGRAMS/plugpull-writer"
cp "$PROGRAMS/plugpull-writer" "$PROGRAMS/plugpull-verifier"

# start_agent OPTIONS...: $AGENT_PID; what it says is in $TMP/agent.err.
start_agent() {
	background "$BIN/plugpull-agent" serve --connect "$PLACE" \
		--programs "$PROGRAMS" "$@" 2>>"$TMP/agent.err" </dev/null
	AGENT_PID=$!
}

# call WORDS...: $status, $TMP/out and $TMP/err.
call() {
	run agent call --listen "$PLACE" "${CALL_OPTIONS[@]}" -- "$@"
}
CALL_OPTIONS=(--timeout 20s)

# start_call WORDS...: in the background, when the program has begun.
start_call() {
	rm -f "$TMP/call.out" "$TMP/child.pid"
	background "$BIN/plugpull-agent" call --listen "$PLACE" \
		"${CALL_OPTIONS[@]}" -- "$@" >"$TMP/call.out" \
		2>"$TMP/call.err" </dev/null
	CALL_PID=$!
	wait_until 20 grep -q begun "$TMP/call.out"
	CHILD_PID=$(<"$TMP/child.pid")
}

# end_of PID SECONDS: its exit status in $status.
end_of() {
	wait_until "$2" lib_has_ended "$1"
	status=0
	wait "$1" || status=$?
}

said() { # PATTERN: by the agent
	grep -Eq -- "$1" "$TMP/agent.err" || fail "$(<"$TMP/agent.err")"
}
