#!/bin/bash
# SPDX-License-Identifier: MIT
# The relay switches boxes over HTTP and KSHELL. Whatever a box does wrong ends in
# a sentence within its time, and never in a state that the box has not told; no
# command goes to another server, and no password into a request line or a
# message.
. "${0%/*}/lib.sh"
requires python3
"$PYTHON" -c 'import cryptography' 2>/dev/null || skip "needs python3-cryptography"
run relay --outlet shelly1:http://127.0.0.1:1 status
expect_status 2
grep -q 'built without libcurl' "$TMP/err" && skip "built without libcurl"
export PLUGPULL_STATE=$TMP/state
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy no_proxy

background "$PYTHON" "${0%/*}/../fake/http_box.py" "$TMP" >"$TMP/ports"
wait_until 20 grep -q kshell "$TMP/ports"
read -r _ OTHER _ BOX _ TLS _ KSHELL <"$TMP/ports"
(umask 077 && echo sesame >"$TMP/right" && echo mustard >"$TMP/wrong" &&
	echo "X-Token: sesame" >"$TMP/token")

KINDS="shelly1 shelly2 tasmota netio any"
BAD="error html half short closed garbage huge headers redirect"
LATE="slow stall" # and "hang", which says nothing at all

# section NAME KIND MANNER [KEY = VALUE]...: one more outlet of outlets.ini.
section() {
	local name=$1 kind=$2 manner=$3 line at=http://127.0.0.1:$BOX
	shift 3
	[[ $manner == tls-* ]] && at=https://127.0.0.1:$TLS
	echo "[outlet $name]"
	echo "driver = ${kind/any/http}"
	echo "address = $at/$kind/${manner#tls-}"
	[[ $kind == any ]] && cat <<-INI
		channel = 3
		on = PUT /set/{channel} {"go": "on", "n": {channel}}
		off = POST /set/{channel} {"go": "off"}
		expect = 204
		status = GET /{channel}
		reply_on = "power": "yes"
		reply_off = "power": "no"
	INI
	echo "drain_time = 0ms"
	for line; do echo "$line"; done
}
{
	for kind in $KINDS; do
		for manner in good late drop timed welded lazy; do
			section "$kind-$manner" "$kind" "$manner"
		done
		for manner in $BAD; do
			section "$kind-$manner" "$kind" "$manner"
		done
		for manner in $LATE hang; do
			section "$kind-$manner" "$kind" "$manner" \
				"timeout = 300ms"
		done
	done
	for kind in shelly1 netio tasmota; do
		section "$kind-in" $kind basic "password = $TMP/right"
		section "$kind-out" $kind basic "password = $TMP/wrong"
	done
	section shelly2-in shelly2 digest "password = $TMP/right"
	section shelly2-out shelly2 digest "password = $TMP/wrong"
	# Timed, on a connection of its own, and after a 401.
	section shelly2-lock shelly2 digest "password = $TMP/right" "channel = 1"
	section any-in any digest "auth = any" "user = admin" \
		"password = $TMP/right"
	section token any good "header = $TMP/token"
	section tls shelly1 tls-good "ca = $TMP/ca.pem"
	section tls-unknown shelly1 tls-good
	section proxy-env shelly1 good "proxy = environment"
	section proxy shelly1 good "proxy = http://127.0.0.1:$OTHER"
		for channel in 1 2 3 4 5; do
		printf '%s\n' "[outlet kshell-$channel]" \
			"driver = netio-kshell" \
			"address = tcp://127.0.0.1:$KSHELL" \
			"channel = $channel" "password = $TMP/right"
	done
	printf '%s\n' "[outlet kshell-out]" "driver = netio-kshell" \
		"address = tcp://127.0.0.1:$KSHELL" "password = $TMP/wrong"
} >"$TMP/outlets.ini"

relay() { # OUTLET ARGS...
	local outlet=$1
	shift
	run relay --outlets "$TMP/outlets.ini" --outlet "$outlet" "$@"
}

# apart OUTLET COMMAND [OPTIONS]: in the background; its end in
# OUTLET.COMMAND.*.
apart() {
	local outlet=$1 command=$2
	shift 2
	(
		rc=0
		timeout 60 "$BIN/plugpull-relay" --outlets "$TMP/outlets.ini" \
			--outlet "$outlet" "$@" "$command" \
			>"$TMP/$outlet.$command.out" \
			2>"$TMP/$outlet.$command.err" </dev/null || rc=$?
		echo $rc >"$TMP/$outlet.$command.rc"
	) &
	pids+=($!)
}

# ended OUTLET COMMAND STATUS: what was started apart.
ended() {
	cp "$TMP/$1.$2.out" "$TMP/out"
	cp "$TMP/$1.$2.err" "$TMP/err"
	[[ $(<"$TMP/$1.$2.rc") == "$3" ]] ||
		fail "$2 of $1 ends with $(<"$TMP/$1.$2.rc"), expected $3"
}

switched() { # KIND MANNER: what it was told, in one line
	sed -n "s/^$1 $2 [0-9]* //p" "$TMP/switched" | tr '\n' ' '
}

# Takes its time, and is looked at further down.
pids=()
for kind in shelly1 shelly2; do
	apart $kind-timed cycle --off-time 1s
	apart $kind-lazy cycle --off-time 1s
done
apart shelly2-lock cycle --off-time 1s
apart kshell-2 status

# ---- as it should be
for kind in $KINDS; do
	for manner in good drop $([[ $kind != netio ]] || echo late); do
		relay "$kind-$manner" off
		expect_status 0
		[[ ! -s $TMP/err ]] || fail "$kind-$manner has something to say"
		relay "$kind-$manner" status
		expect_out '^off$'
		relay "$kind-$manner" on
		expect_status 0
		relay "$kind-$manner" status
		expect_out '^on$'
		expect_equal "$kind-$manner" "$(switched "$kind" "$manner")" "off on "
	done
done

# ---- as it should not be, all at a time
for channel in 3 4 5; do
	apart "kshell-$channel" off
done
for command in status off; do
	for kind in $KINDS; do
		for manner in $BAD $LATE hang; do
			apart "$kind-$manner" $command
		done
		[[ $command == status ]] || apart "$kind-welded" off
	done
	wait "${pids[@]}"
	pids=()
done
for kind in $KINDS; do
	for manner in $BAD $LATE; do
		ended "$kind-$manner" status 2
		expect_err "^plugpull-relay: $kind-$manner: (GET|POST) /"
		[[ ! -s $TMP/out ]] || fail "$kind-$manner is $(<"$TMP/out")"
		ended "$kind-$manner" off 2
		expect_err 'cannot switch off, tried 3 times'
	done
	ended "$kind-hang" status 0
	expect_out '^unknown$'
	ended "$kind-hang" off 2
	expect_err 'does not answer in time'
	ended "$kind-welded" off 2
	expect_err 'still on'
done
for channel in 3 4 5; do
	ended kshell-$channel off 2
done
ended kshell-2 status 0
expect_out '^unknown$'
ended kshell-4 off 2
expect_err '505 FORBIDDEN'
ended netio-redirect off 2
expect_err 'sends us elsewhere \(HTTP status 302\)'
[[ ! -e $TMP/other ]] || fail "the other server got: $(<"$TMP/other")"

# ---- on its own clock: one request, and it comes back without us
for kind in shelly1 shelly2; do
	ended $kind-timed cycle 0
	expect_equal "$kind, timed" "$(switched $kind timed)" \
		"off for 1 on by itself "
	# A timer that does not run is found out, and power comes back at once.
	ended $kind-lazy cycle 2
	expect_err 'does not say that its timer runs'
	expect_equal "$kind, lazy" "$(switched $kind lazy)" "off for 1 on "
done
ended shelly2-lock cycle 0
expect_equal "a timer behind a password" "$(switched shelly2 digest)" \
	"off for 1 on by itself "
# 200 ms is none of its times: then it is we who count.
: >"$TMP/switched"
relay shelly2-good --off-time 200ms cycle
expect_status 0
expect_equal "cycle by us" "$(switched shelly2 good)" "off on "

# ---- who is let in
for outlet in shelly1 netio tasmota shelly2 any; do
	relay $outlet-in off
	expect_status 0
	relay $outlet-in status
	expect_out '^off$'
	[[ $outlet == any ]] && continue
	relay $outlet-out status
	expect_status 2
	expect_err 'lets us not in \(HTTP status 401\)'
	expect_err 'hint: see the keys user and password'
	! grep -E 'mustard|sesame|bXVzd' "$TMP/err" || fail "told a secret"
done
! grep -E 'sesame|mustard' <(grep -v ' any/good/\| /any/good/' "$TMP/requests") ||
	fail "a secret is in a request line"
relay token off
expect_status 0
grep -q '/any/good/set/3 sesame$' "$TMP/requests" || fail "the token is not sent"
relay kshell-1 off
expect_status 0
relay kshell-1 status
expect_out '^off$'
relay kshell-1 on
expect_status 0
expect_equal "kshell" "$(grep '^kshell good 1' "$TMP/switched" | cut -d' ' -f4 |
	tr '\n' ' ')" "off on "
relay kshell-out status
expect_status 2
expect_err 'does not take user and password'
! grep -E 'mustard' "$TMP/err" || fail "told a secret"

# ---- certificates, and proxies
relay tls off
expect_status 0
relay tls status
expect_out '^off$'
relay tls on
expect_status 0
relay tls-unknown status
expect_status 2
expect_err 'certificate'
expect_err 'hint: the key ca names the CA of the box'
http_proxy=http://127.0.0.1:1 relay shelly1-good status
expect_out '^on$'
http_proxy=http://127.0.0.1:1 relay proxy-env status
expect_status 2
relay proxy status
expect_out '^on$'
grep -qx "GET http://127.0.0.1:$BOX/shelly1/good/relay/0" "$TMP/other" ||
	fail "the proxy was not used"

# ---- a session keeps its connection
: >"$TMP/requests"
printf '%s\n' off status on status end |
	"$BIN/plugpull-relay" --outlets "$TMP/outlets.ini" \
		--outlet tasmota-good session >"$TMP/out" 2>"$TMP/err" ||
	fail "the session fails"
[[ $(wc -l <"$TMP/requests") -ge 4 ]] || fail "too few requests"
expect_equal "connections" "$(cut -d' ' -f1 "$TMP/requests" | sort -u | wc -l)" 1
exit 0
