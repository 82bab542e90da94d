# SPDX-License-Identifier: MIT
# guest - a whole machine under test, sourced after ../e2e/lib.sh: QEMU with the
# distribution's kernel, drives that are simulated drives, and a power supply
# that is switched through plugpull-relay. All of it ends with the test.
#
#	. "${0%/*}/../e2e/lib.sh"
#	. "${0%/*}/guest.sh"
#	vm_needs                         # builds the guest where that is missing
#	vm_drive a nvme                  # any number of drives: NAME TRANSPORT
#	vm_drive b sata --size 16m --fault ignores-flush   # and what simdrive takes
#	vm_start                         # power on; here it is ready
#	vm_run "plugpull-writer --probe --target $(vm_target a)"
#	expect_status 0                  # $TMP/out, $TMP/err as after "run"
#	vm_spawn w "plugpull-writer --target $(vm_target a) ..."   # in background
#	vm_cut                           # the power of everything, at once
#	vm_boot                          # and back; here it is ready again
#	vm_drive_cut b; vm_drive_restore b      # that drive alone
#	vm_qmp device_del '{"id":"x"}'        # the machine's own monitor
#	vm_stop                          # at its end a test need not say this
#
# Transports: nvme, sata (AHCI), scsi (virtio-scsi with DPO and FUA), virtio
# (virtio-blk), usb (usb-storage), uas. A drive has 12 MiB and logical blocks of
# 512 bytes unless the options say otherwise; its serial number is vm-NAME, what
# simdrive's control socket is called $(vm_control NAME).
#
# In the guest: busybox, udev with /dev/disk/by-id, /dev/drive/NAME for each of
# our drives (never a partition), blkid, sfdisk, mke2fs, mdadm, lvm, dmsetup,
# nbd-client, smartctl, nvme, jq, strace; modprobe of raid1, dm-mod, nbd, loop, ext4,
# vfat, scsi_debug, null_blk, brd, ftdi_sio and what they need. Our
# own programs are in the PATH. The test's $TMP is /host, written through: a log
# or key there is on the host, and outlives the power. The host's 127.0.0.1 is
# 10.0.2.2. The guest forgets everything else at a cut; $TMP/boot.sh, where there
# is one, is run in it at each boot.
#
# Settings before vm_start: VM_SMP (1), VM_MEMORY (768 MiB), VM_APPEND (kernel
# command line), VM_EXTRA (array of QEMU options), VM_PULL=1 (before vm_drive:
# the drive is pulled out as well by vm_drive_cut; scsi, usb, uas). VM_ACCEL (tcg).
# shellcheck shell=bash
VM_HERE=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
VM_DIR=$TMP/vm
VM_NAMES=()
VM_DRIVES=()
VM_EXTRA=()
VM_BUSES=()
VM_BOOT_S=120
VM_CPU=qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+aes,+rdrand
VM_PSU_PID=
mkdir "$VM_DIR"

# A failed test shows what the guest said last.
eval "vm_lib_$(declare -f fail)"
fail() {
	if [[ -s $VM_DIR/console ]]; then
		echo "--- console" >&2
		tail -n 15 "$VM_DIR/console" | tr -d '\r' >&2
	fi
	for vm_file in "$VM_DIR"/*.err; do
		[[ ! -s $vm_file ]] || { echo "--- ${vm_file##*/}"; tail "$vm_file"; } >&2
	done
	vm_lib_fail "$@"
}

# vm_needs COMMAND...: beside what every guest needs.
vm_needs() {
	requires qemu-system-x86_64 setpriv socat jq nbdkit cpio busybox depmod "$@"
	[[ $(uname -m) == x86_64 ]] || skip "needs a machine of the guest's kind"
	"$VM_HERE/build" "$BIN" 2>"$TMP/err" || fail "cannot build the guest"
}

# A port of the host's 127.0.0.1 that nobody has at the moment.
vm_free_port() {
	"$PYTHON" -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}

vm_control() { # NAME
	echo "$TMP/$1.control"
}

vm_target() { # NAME: its path in the guest
	echo "/dev/drive/$1"
}

# vm_bus QEMU-DRIVER ID: a controller that several drives share.
vm_bus() {
	[[ " ${VM_BUSES[*]} " == *"id=$2 "* ]] || VM_BUSES+=(-device "$1,id=$2")
}

# vm_device NAME TRANSPORT: the device for QEMU, as JSON.
vm_device() {
	local common="\"id\":\"$1\",\"drive\":\"$1\",\"serial\":\"vm-$1\""
	local number=${#VM_NAMES[@]} driver bus more=
	case $2 in
	nvme) driver=nvme bus=pcie.0 ;;
	sata) driver=ide-hd bus=ide.$number ;;
	scsi) driver=scsi-hd bus=hba.0 more=",\"scsi-id\":$number,\"dpofua\":true" ;;
	virtio) driver=virtio-blk-pci bus=pcie.0 ;;
	usb) driver=usb-storage bus=xhci.0 ;;
	uas) driver=scsi-hd bus=uas$number.0 ;;
	*) fail "no transport $2" ;;
	esac
	echo "{\"driver\":\"$driver\",\"bus\":\"$bus\",$common$more}"
}

# vm_drive NAME TRANSPORT [SIMDRIVE OPTIONS]
vm_drive() {
	local name=$1 transport=$2 options=(--logical-block 512) block
	shift 2
	[[ " $* " == *" --size "* ]] || options+=(--size 12m)
	start_simdrive "$name" "${options[@]}" "$@"
	case $transport in
	scsi) vm_bus virtio-scsi-pci hba ;;
	usb) vm_bus qemu-xhci xhci ;;
	uas)
		vm_bus qemu-xhci xhci
		vm_bus "usb-uas,bus=xhci.0,serial=vm-$name" \
			"uas${#VM_NAMES[@]}"
		;;
	esac
	block="{\"driver\":\"nbd\",\"node-name\":\"$name\",\"server\":{\"type\":"
	block+="\"unix\",\"path\":\"$SIM_SOCKET\"},\"cache\":{\"direct\":true}}"
	VM_DRIVES+=(--drive "{\"control\":\"$SIM_CONTROL\",\"blockdev\":$block,$(
		)\"device\":$(vm_device "$name" "$transport")$(
		[[ -z ${VM_PULL-} ]] || echo ',"pull":true')}")
	VM_NAMES+=("$name")
}

# vm_start: the power supply, and then the machine.
vm_start() {
	local append="console=ttyS0 quiet panic=-1 nokaslr mitigations=off"
	append+=" tsc=reliable no_timer_check usb-storage.delay_use=0"
	append+=" cryptomgr.notests 8250.nr_uarts=1 lpj=2000000"
	local names="${VM_NAMES[*]}"
	local machine=(qemu-system-x86_64 -machine q35 -cpu "$VM_CPU" -nodefaults
		-accel "${VM_ACCEL:-tcg}" -smp "${VM_SMP:-1}"
		-m "${VM_MEMORY:-768}" -display none -no-reboot
		-kernel "$BIN/vm/kernel" -initrd "$BIN/vm/initrd"
		-append "$append ${VM_APPEND-} vm_drives=${names// /,}"
		-device "virtio-net-pci,netdev=net,romfile="
		-virtfs "local,path=$TMP,mount_tag=host,security_model=none"
		"${VM_BUSES[@]}" "${VM_EXTRA[@]}")

	background "$PYTHON" "$VM_HERE/psu.py" --dir "$VM_DIR" \
		"${VM_DRIVES[@]}" -- "${machine[@]}" \
		>"$VM_DIR/psu.out" 2>"$VM_DIR/psu.err" </dev/null
	VM_PSU_PID=$!
	wait_until 20 grep -q '^port ' "$VM_DIR/psu.out"
	VM_OUTLET=lcus:tcp://127.0.0.1:$(sed -n 's/^port //p' "$VM_DIR/psu.out")
	vm_boot
}

vm_relay() { # CHANNEL on|off
	timeout 60 "$BIN/plugpull-relay" --outlet "$VM_OUTLET:$1" "$2" \
		>"$VM_DIR/relay.out" 2>&1 ||
		fail "cannot switch $2: $(cat "$VM_DIR/relay.out")"
}

vm_boot() {
	local boots=0
	[[ ! -e $VM_DIR/console ]] ||
		boots=$(grep -ac '^vm: ready' "$VM_DIR/console")
	vm_relay 1 on
	wait_until "$VM_BOOT_S" vm_is_up $((boots + 1))
	[[ $(grep -ac '^vm: ready' "$VM_DIR/console") -gt $boots ]] ||
		fail "the guest has ended instead of getting up"
}

vm_is_up() { # READY-LINES
	! kill -0 "$VM_PSU_PID" ||
		[[ $(grep -ac '^vm: ready' "$VM_DIR/console") -ge $1 ]]
}

vm_cut() {
	vm_relay 1 off
}

vm_number() { # NAME: its relay
	local i
	for i in "${!VM_NAMES[@]}"; do
		[[ ${VM_NAMES[i]} != "$1" ]] || echo $((i + 2))
	done
}

vm_drive_cut() { # NAME
	vm_relay "$(vm_number "$1")" off
}

vm_drive_restore() { # NAME
	vm_relay "$(vm_number "$1")" on
}

# vm_qmp COMMAND [JSON OF ITS ARGUMENTS]: told to the machine's monitor; what it
# answers in $TMP/qmp.
vm_qmp() {
	printf '{"execute":"%s"}\n' qmp_capabilities \
		"$1\",\"arguments\":${2-{\}},\"id\":\"asked" |
		timeout 20 socat -t 1 - "UNIX-CONNECT:$VM_DIR/qmp" >"$TMP/qmp"
	grep '"id": "asked"' "$TMP/qmp" | grep -q '"return"' ||
		fail "the machine refuses $1: $(cat "$TMP/qmp")"
}

vm_stop() {
	kill "$VM_PSU_PID"
	wait_until 20 lib_has_ended "$VM_PSU_PID"
}

# vm_ask SCRIPT [SECONDS]: vm_run without a word on failure: 255 where the guest
# has not answered.
vm_ask() {
	local port out_bytes=0 err_bytes=0 limit=${2:-${VM_TIMEOUT:-60}}
	local LC_ALL=C

	status=255
	: >"$TMP/out"
	: >"$TMP/err"
	port=$(cat "$VM_DIR/port") || return 0
	{ exec 8<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return 0
	printf '%s\n%s' "${#1}" "$1" >&8
	if read -r -t "$limit" status out_bytes err_bytes <&8 2>/dev/null; then
		timeout 60 head -c "$out_bytes" <&8 >"$TMP/out"
		timeout 60 head -c "$err_bytes" <&8 >"$TMP/err"
	fi
	status=${status:-255}
	exec 8>&-
}

# vm_run SCRIPT [SECONDS]: in the guest's shell, within that time.
vm_run() {
	vm_ask "$@"
	[[ $status != 255 ]] || fail "the guest does not answer: $1"
}

# vm_expect SCRIPT [SECONDS]: and it must succeed.
vm_expect() {
	vm_run "$@"
	[[ $status == 0 ]] || fail "exit status $status in the guest: $1"
}

# vm_spawn NAME SCRIPT: goes on in the guest; /tmp/NAME.out and .err there, and
# NAME.status when it has ended.
vm_spawn() {
	vm_expect "rm -f /tmp/$1.status
		cat >/tmp/$1.script <<'VM_SCRIPT_END'
$2
VM_SCRIPT_END
		(setsid sh /tmp/$1.script >/tmp/$1.out 2>/tmp/$1.err </dev/null
		echo \$? >/tmp/$1.status.new
		mv /tmp/$1.status.new /tmp/$1.status) >/dev/null 2>&1 &"
}

# vm_wait SECONDS SCRIPT: until it succeeds in the guest.
vm_wait() {
	local deadline=$((SECONDS + $1))
	until vm_run "$2"; [[ $status == 0 ]]; do
		((SECONDS < deadline)) || fail "still not true in the guest: $2"
		sleep 0.2
	done
}
