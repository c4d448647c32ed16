#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perf churn run: the command takes our place with the preload library loaded, or is told why not. The
# library is a stand-in that says when it is loaded, and into which process.

. tests/lib.sh

cat >"$T/stand-in.c" <<'EOF'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void say(void)
{
	const char *path = getenv("SAY_TO");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;

	if (fd >= 0) {
		dprintf(fd, "%d\n", getpid());
		close(fd);
	}
}
EOF
cat >"$T/own-malloc.c" <<'EOF'
#include <stdlib.h>

void *malloc(size_t size)
{
	(void)size;
	return NULL;
}

int main(void)
{
	return 3;
}
EOF
LIB=$T/libperf-churn.so
gcc -shared -fPIC -o "$LIB" "$T/stand-in.c" || { fail "the stand-in is built"; finish; }
export PERF_CHURN_PRELOAD=$LIB SAY_TO=$T/said
unset LD_PRELOAD

# run ARGS - its stdout and stderr in $T/out and $T/err, who loaded the library in $T/said
run()
{
	rm -f "$T/said"
	timeout -k 5 "$LIMIT_S" perf-churn run "$@" >"$T/out" 2>"$T/err"
}

loaded()
{
	[ -s "$T/said" ]
}

# exits STATUS ARGS - run exits with it
exits()
{
	local want=$1 status=0

	shift
	run "$@" || status=$?
	is "run $*: status" "$want" $status
}

as_nobody()
{
	rm -f "$T/said"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@" >"$T/out" 2>"$T/err"
}

test_becomes_the_command()
{
	local status=0

	exits 7 -- sh -c 'exit 7'
	check "the library is loaded" loaded
	check "nothing is said" test ! -s "$T/err"
	exits 0 echo 'a  b' '' -n --
	is "arguments arrive as they are" 'a  b  -n --' "$(cat "$T/out")"
	echo in | run -- cat
	is "so does standard input" in "$(cat "$T/out")"

	rm -f "$T/said"
	spawn perf-churn run -- sleep 0
	reap "$spawned"
	is "it is the same process" "$spawned" "$(cat "$T/said")"

	run -- sh -c 'kill -TERM $$' || status=$?
	is "a signal ends it as it would without" 143 $status

	env | grep -v '^_=' | sort >"$T/env"
	run -- env
	grep -v '^_=' "$T/out" | sort >"$T/env2"
	is "the environment has nothing more than LD_PRELOAD" "> LD_PRELOAD=$LIB" \
		"$(diff "$T/env" "$T/env2" | grep '^[<>]')"
}

test_ld_preload()
{
	# ASan wants to come first in perf-churn itself.
	[ "${SAN:-0}" = 1 ] && return
	gcc -shared -fPIC -o "$T/other.so" -x c - <<<'int other;'
	LD_PRELOAD=$T/other.so run -- printenv LD_PRELOAD
	is "another library stays, behind ours" "$LIB:$T/other.so" "$(cat "$T/out")"
	run -- perf-churn run -- printenv LD_PRELOAD
	is "the library is named once" "$LIB" "$(cat "$T/out")"
}

# runs_without NAME REASON STATUS PROGRAM - a program that cannot take it runs all the same
runs_without()
{
	local status=0

	run -- "${@:4}" || status=$?
	is "$1: runs" "$3" $status
	check "$1: without the library" eval '! loaded'
	has "$1: says why" "^$4: .*$2.*It runs without\.$" "$T/err"
	check "$1: in one line" one_line "$T/err"
}

test_unfit()
{
	gcc -static -o "$T/static" -x c - <<<'int main(void) { return 5; }' &&
		runs_without "a static program" "statically linked" 5 "$T/static"
	gcc -fno-builtin -o "$T/own-malloc" "$T/own-malloc.c"
	runs_without "a program with its own malloc" "defines malloc itself" 3 "$T/own-malloc"
	printf '#!%s\n' "$T/static" >"$T/script"
	chmod +x "$T/script"
	runs_without "a script for a static program" "statically linked" 5 "$T/script"
	if gcc -fsanitize=address -o "$T/asan" -x c - <<<'int main(void) { return 4; }' 2>/dev/null; then
		runs_without "a program with ASan" "sanitizer" 4 "$T/asan"
	fi

	[ "$(id -u)" = 0 ] || return
	cp /bin/true "$T/setuid"
	chmod 4755 "$T/setuid"
	chmod 666 "$T/said" 2>/dev/null
	as_nobody perf-churn run "$T/setuid"
	is "a setuid program: runs" 0 $?
	has "a setuid program: says why" "setuid: set-user-ID.*It runs without" "$T/err"
	cp /bin/true "$T/unreadable"
	chmod 711 "$T/unreadable"
	chmod 777 "$T"
	check "a program that may not be read: runs" as_nobody perf-churn run "$T/unreadable"
	check "a program that may not be read: with the library" loaded
	chmod 755 "$T"
}

# fails NAME STATUS REGEX ARGS
fails()
{
	local status=0

	run "${@:4}" || status=$?
	is "$1: status" "$2" $status
	has "$1: says why" "$3" "$T/err"
	check "$1: in one line" one_line "$T/err"
}

test_bad_input()
{
	fails "no command" 129 '^Nothing to run: give a command$'
	fails "no command behind --" 129 '^Nothing to run: give a command$' --
	fails "a command that is not there" 127 '^no-such-command: command not found$' no-such-command
	touch "$T/plain"
	fails "a command that is no program" 126 'plain: Permission denied$' "$T/plain"
	printf '#!/no/such/interpreter\n' >"$T/no-interpreter"
	chmod +x "$T/no-interpreter"
	fails "a script without its interpreter" 127 'its interpreter /no/such/interpreter: not found$' "$T/no-interpreter"
	PERF_CHURN_PRELOAD=/no/such/library fails "no such library" 126 \
		'^/no/such/library: not found \(PERF_CHURN_PRELOAD\)$' true
	cp "$LIB" "$T/lib b.so"
	PERF_CHURN_PRELOAD="$T/lib b.so" fails "a library that cannot be named" 126 'blanks, colons' true
}

# Where it is found without being told.
test_places()
{
	local exe

	exe=$(command -v perf-churn)
	mkdir -p "$T/build" "$T/usr/bin" "$T/usr/lib/perf-churn" "$T/none"
	cp "$exe" "$LIB" "$T/build"
	cp "$exe" "$T/usr/bin"
	cp "$LIB" "$T/usr/lib/perf-churn"
	cp "$exe" "$T/none"
	unset PERF_CHURN_PRELOAD
	is "beside the program, as built" "$T/build/libperf-churn.so" \
		"$("$T/build/perf-churn" run -- printenv LD_PRELOAD)"
	is "in ../lib/perf-churn, as installed" "$T/usr/lib/perf-churn/libperf-churn.so" \
		"$("$T/usr/bin/perf-churn" run -- printenv LD_PRELOAD)"
	ln -s "$T/usr/bin/perf-churn" "$T/none/link"
	is "by a symbolic link" "$T/usr/lib/perf-churn/libperf-churn.so" \
		"$("$T/none/link" run -- printenv LD_PRELOAD)"
	"$T/none/perf-churn" run -- true 2>"$T/err"
	is "nowhere: status" 126 $?
	is "nowhere: says so" \
		"libperf-churn.so: not found, neither beside perf-churn nor in ../lib/perf-churn from there" \
		"$(cat "$T/err")"
	export PERF_CHURN_PRELOAD=$LIB
}

test_perf()
{
	need_tool "$PERF" "perf churn run" || return
	rm -f "$T/said"
	"$PERF" churn run -- sh -c 'exit 9' 2>"$T/err"
	is "perf churn run: the command's status" 9 $?
	check "perf churn run: with the library" loaded
}

test_becomes_the_command
test_ld_preload
test_unfit
test_bad_input
test_places
test_perf
finish
