#!/bin/bash
# SPDX-License-Identifier: MIT
# deps - installs what is missing: tests/deps.sh build|check|root|tidy...
#
# As root, or through sudo where that asks nothing, with apt-get. Elsewhere it
# prints the one command to run and fails.
set -u
build="gcc libc6-dev pkg-config libaio-dev libssl-dev libserialport-dev
 libcmocka-dev libnbd-dev nbdkit nbdkit-plugin-dev libblkid-dev
 libjansson-dev libinih-dev libudev-dev libcurl4-openssl-dev libmodbus-dev
 libgpiod-dev libsnmp-dev"
check="python3 python3-cryptography jq libnbd-bin socat procps e2fsprogs fdisk"
root="python3 fuse3 e2fsprogs xfsprogs btrfs-progs mount util-linux kmod udev
 qemu-utils qemu-system-common eatmydata nbd-client dmsetup"
# qemu-system-x86 and what makes its guest; other packages for the guest are
# unpacked, not installed, see tests/vm/build.
vm="python3 qemu-system-x86 seabios busybox-static cpio kmod udev util-linux
 binutils apt dmsetup e2fsprogs fdisk"
tidy="clang-format-14 mandoc git python3"
oracle="python3 python3-cryptography"
clang="clang libclang-rt-14-dev"
bench="python3 fio valgrind gnuplot-nox nbdkit libnbd-bin fuse3 e2fsprogs
 mount util-linux"

# Real servers of other projects: some of these packages start a service that
# knows no password, so only CI has them installed.
servers="pdudaemon snmpd"

wanted=
for group; do
	case $group in
	build) wanted+=" $build" ;;
	check) wanted+=" $check" ;;
	root) wanted+=" $root" ;;
	vm) wanted+=" $vm" ;;
	tidy) wanted+=" $tidy" ;;
	clang) wanted+=" $clang" ;;
	oracle) wanted+=" $oracle" ;;
	bench) wanted+=" $bench" ;;
	servers) wanted+=" $servers" ;;
	*)
		echo "deps: no group named $group" >&2
		exit 2
		;;
	esac
done

missing=()
for package in $wanted; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
	[[ $state == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $EUID == 0 ]]; then
	as_root=()
elif sudo -n true 2>/dev/null; then
	as_root=(sudo -n)
else
	echo "deps: these packages are missing; install them with" >&2
	echo "  sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
	exit 1
fi
echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -y -qq --no-install-recommends "${missing[@]}")
"${as_root[@]}" "${install[@]}" >/dev/null 2>&1 && exit 0
# The lists may be missing or old: fetch them once and say what goes wrong now.
"${as_root[@]}" apt-get update -qq >/dev/null &&
	"${as_root[@]}" "${install[@]}" >/dev/null
