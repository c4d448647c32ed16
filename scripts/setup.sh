#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# setup.sh [PACKAGE...] - install what the build and the tests need (and the
# packages named), and build the kernel's own libraries (libperf, libapi,
# libsubcmd, libbpf) into $DEPS.
#
# Idempotent; under a second when nothing is missing. Needs root or sudo only
# when a package is missing.
#
#   DEPS           where the libraries go (default: build/deps)
#   LINUX_SOURCE   kernel source tarball, 6.12 or newer, instead of the package's

set -eu
cd "$(dirname "$0")/.."

deps=${DEPS:-build/deps}
# Kernel source package, and the folder inside its tarball.
source_pkg=linux-source-6.12

build_pkgs=(
	asciidoctor binutils bpftool clang g++ gcc libc6-dev libdebuginfod-dev libdw-dev
	libelf-dev libiberty-dev libtraceevent-dev libzstd-dev libzydis-dev linux-libc-dev llvm make
	pkg-config python3 util-linux xz-utils zlib1g-dev "$source_pkg"
)
# Programs the tests record, and tools they check the results with.
test_pkgs=(
	jq libc6-dbg libclang-rt-dev libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 libxml2-utils
	linux-perf musl-tools nodejs procps redis-server redis-tools rustc sqlite3
)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# missing_pkgs PKG... - those of them that are not installed, one a line.
missing_pkgs() {
	local have
	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
		sed -n 's/^installed //p' | sort -u)
	comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$have")
}

# missing_tools - for systems without dpkg: look for the commands themselves.
missing_tools() {
	local tool
	for tool in asciidoctor bpftool clang flock g++ gcc llvm-strip make pkg-config python3 xz; do
		command -v "$tool" >/dev/null || echo "$tool"
	done
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@"
}

# split_available PKG... - set $gettable and $unknown.
split_available() {
	local pkg
	gettable=() unknown=()
	for pkg in "$@"; do
		if apt-cache show --no-all-versions "$pkg" >/dev/null 2>&1; then
			gettable+=("$pkg")
		else
			unknown+=("$pkg")
		fi
	done
}

install_packages() {
	local missing log gettable unknown

	if ! command -v dpkg-query >/dev/null; then
		mapfile -t missing < <(missing_tools)
		[ ${#missing[@]} -eq 0 ] || die "missing: ${missing[*]} (no apt-get here to install them with)"
		return
	fi
	mapfile -t missing < <(missing_pkgs "${build_pkgs[@]}" "${test_pkgs[@]}" "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null ||
		die "missing packages: ${missing[*]} (no apt-get here to install them with)"
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
		die "missing packages: ${missing[*]} (installing them needs root or sudo)"

	say "installing ${missing[*]}"
	log=$(mktemp)
	apt update >"$log" 2>&1 || say "apt-get update failed ($(tail -n 1 "$log")), going on without"
	split_available "${missing[@]}"
	if [ ${#gettable[@]} -gt 0 ]; then
		apt install -y --no-install-recommends "${gettable[@]}" >"$log" 2>&1 || {
			cat "$log" >&2
			die "cannot install ${gettable[*]} (apt-get failed, see above)"
		}
	fi
	rm -f "$log"
	[ ${#unknown[@]} -eq 0 ] || die "missing packages: ${unknown[*]} (not in this system's package sources)"
}

# kernel_tarball - path of the kernel source tarball.
kernel_tarball() {
	local path=${LINUX_SOURCE:-/usr/src/$source_pkg.tar.xz}

	[ -r "$path" ] || die "missing: $path (package $source_pkg, or set LINUX_SOURCE)"
	echo "$path"
}

# want_stamp - what $deps was, or would be, built from.
want_stamp() {
	sha256sum scripts/setup.sh
	uname -m
	if [ -n "${LINUX_SOURCE:-}" ]; then
		stat -c '%n %s %Y' "$LINUX_SOURCE"
	elif command -v dpkg-query >/dev/null; then
		dpkg-query -W -f '${Package} ${Version}\n' "$source_pkg"
	else
		stat -c '%n %s %Y' "/usr/src/$source_pkg.tar.xz"
	fi
}

unpack_source() {
	local tarball

	tarball=$(kernel_tarball)
	say "unpacking the tools of $tarball"
	tar xJf "$tarball" -C "$abs/src" --strip-components=1 --wildcards \
		'*/tools/lib/*' '*/tools/include/*' '*/tools/build/*' '*/tools/scripts/*' \
		'*/tools/arch/*' '*/tools/testing/selftests/kselftest*' '*/scripts/bpf_doc.py'
}

# build_lib NAME - tools/lib/NAME as a static library, with its public headers.
build_lib() {
	local out=$abs/obj/$1

	mkdir -p "$out"
	# The kernel's makefiles have their own ideas about our variables.
	env -u MAKEFLAGS -u MFLAGS -u MAKEOVERRIDES -u MAKELEVEL -u OUTPUT -u V -u CFLAGS -u LDFLAGS \
		make -s -j"$(nproc)" -C "$abs/src/tools/lib/$1" O="$out" DESTDIR="$abs" prefix= \
		WERROR=0 EXTRA_CFLAGS='-g -O2' install_headers "$out/lib$1.a" >"$abs/obj/$1.log" 2>&1 || {
		cat "$abs/obj/$1.log" >&2
		die "cannot build lib$1 from $source_pkg (see above)"
	}
	cp "$out/lib$1.a" "$abs/lib/"
}

# add_helpers - what libsubcmd and linux/rbtree.h users need and no library has.
add_helpers() {
	local tools=$abs/src/tools name

	mkdir -p "$abs/obj/helpers"
	for name in bitmap ctype find_bit hweight list_sort rbtree string zalloc; do
		gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -w "${tool_includes[@]}" \
			-c "$tools/lib/$name.c" -o "$abs/obj/helpers/$name.o"
		ar rcs "$abs/lib/libapi.a" "$abs/obj/helpers/$name.o"
	done
}

# put_header FROM TO - copy unless an earlier, preferred header has that name.
put_header() {
	[ ! -e "$2" ] || return 0
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2"
}

# A program that includes all that we export; what it needs is what we copy.
all_headers() {
	local name

	(cd "$abs/include" && find perf internal api subcmd bpf -name '*.h' | sort |
		grep -Ev '/(bpf_helper|bpf_tracing|bpf_core_read|usdt|bpf_endian|skel_int)' |
		sed 's/.*/#include <&>/')
	for name in types list rbtree rbtree_augmented hashtable jhash list_sort zalloc err refcount \
		bitmap perf_event bpf btf; do
		echo "#include <linux/$name.h>"
	done
}

# export_headers - the tools/include headers behind the exported ones, found by
# the compiler itself. Copied into one folder in perf's own search order.
export_headers() {
	local tools=$abs/src/tools file list

	cp "$tools/lib/bpf/hashmap.h" "$abs/include/bpf/"
	for file in "$tools"/lib/perf/include/internal/*.h; do
		put_header "$file" "$abs/include/internal/${file##*/}"
	done
	cp "$tools"/testing/selftests/kselftest{,_harness}.h "$abs/include/"
	all_headers >"$abs/obj/headers.c"
	list=$(gcc -std=gnu11 -D_GNU_SOURCE -M -I"$abs/include" "${tool_includes[@]}" \
		"$abs/obj/headers.c" | tr ' \\' '\n\n' | grep "^$tools/" | sort -u)
	for file in $list; do
		case ${file#"$tools"/} in
		include/asm/../../arch/*)
			put_header "$file" "$abs/arch/${file#*/asm/../../arch/}" ;;
		include/*)
			put_header "$file" "$abs/${file#"$tools"/}" ;;
		esac
	done
	for file in $list; do
		case ${file#"$tools"/} in
		include/asm/../../*) ;;
		include/uapi/*)
			put_header "$file" "$abs/include/${file#"$tools"/include/uapi/}" ;;
		arch/*/include/uapi/*)
			put_header "$file" "$abs/include/${file#*/include/uapi/}" ;;
		arch/*/include/*)
			put_header "$file" "$abs/include/${file#*/include/}" ;;
		esac
	done
	gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -isystem "$abs/include" "$abs/obj/headers.c" ||
		die "the exported kernel headers do not compile (see above)"
}

build_deps() {
	local abs tool_includes arch name

	rm -rf "$deps.new"
	mkdir -p "$deps.new"/{src,obj,lib,include}
	abs=$(cd "$deps.new" && pwd)
	unpack_source
	case $(uname -m) in
	x86_64 | i?86) arch=x86 ;;
	aarch64) arch=arm64 ;;
	*) arch=$(uname -m) ;;
	esac
	tool_includes=(-I"$abs/src/tools/include" -I"$abs/src/tools/arch/$arch/include"
		-I"$abs/src/tools/arch/$arch/include/uapi" -I"$abs/src/tools/include/uapi")
	say "building libapi, libsubcmd, libperf and libbpf in $deps"
	for name in api subcmd perf bpf; do
		build_lib "$name"
	done
	add_helpers
	export_headers
	rm -rf "$abs/obj"
	want_stamp >"$abs/stamp"
	rm -rf "$deps"
	mv "$deps.new" "$deps"
}

install_packages "$@"
mkdir -p "$(dirname "$deps")"
# One at a time: another make may be setting up the same folder.
exec 9>"$(dirname "$deps")/.setup.lock"
flock 9
if ! want_stamp | cmp -s - "$deps/stamp"; then
	build_deps 9>&-
	say "ready"
fi
